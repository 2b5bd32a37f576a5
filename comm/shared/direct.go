package shared

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
)

// directElements is how much of all members' gradients together one round of copies takes:
// 256 KiB, so that it stays in the second-level cache, and few calls are needed.
const directElements = 64 << 10

// direct is what a member needs to sum gradients that lie in ordinary memory.
type direct struct {
	elements int         // of a chunk
	fetched  [][]float32 // a chunk of each member's gradient, by position
	chunk    [][]float32 // where the chunk in work is: mapped or fetched
}

// sumDirect is sumSlices where gradients lie in ordinary memory of their processes, and the
// kernel copies from there and back. Each member sums its T-th of every bucket in chunks: it
// fetches the others', adds in the order of positions while they are in the cache, and
// writes the sum to all. So nothing is copied into shared memory and back, which would
// read 2*S and write 2*S bytes more for each member; it reads S and writes S bytes as in
// place, and (T-1)/T*S of either are the kernel's copies. Members whose gradients are in
// their stores take part in it as they are.
//
// The kernel's single copy is what MPI implementations do ("CMA" in Open MPI's vader and in
// MPICH's ch4:shm); they copy whole messages of a ring, T-1 of S/T bytes in each half.
func (g *group) sumDirect(s *step) error {
	d := g.directs()
	from, to := g.slice(s.op.Spec.Elements)
	for ; from < to; from += d.elements {
		if err := g.sumChunk(s, d, from, min(from+d.elements, to)); err != nil {
			return err
		}
	}
	return g.endTogether(s)
}

// directs makes room for a chunk of each other member at the first use.
func (g *group) directs() *direct {
	if g.direct != nil {
		return g.direct
	}
	size := len(g.members)
	d := &direct{
		elements: layout.RoundUp(directElements/size, comm.BlockElements),
		fetched:  make([][]float32, size), chunk: make([][]float32, size),
	}
	for i, m := range g.members {
		if m != g.own {
			d.fetched[i] = make([]float32, d.elements)
		}
	}
	g.direct = d
	return d
}

// sumChunk sums elements from to to of all members' gradients and gives them the sum.
func (g *group) sumChunk(s *step, d *direct, from, to int) error {
	for i, m := range g.members {
		switch {
		case m.place != layout.InProcess:
			d.chunk[i] = s.values(m)[from:to]
		case m == g.own:
			d.chunk[i] = s.op.Gradient.Values[from:to]
		default:
			d.chunk[i] = d.fetched[i][:to-from]
			if err := m.process.Read(tensor.Float32Bytes(d.chunk[i]), m.address+uint64(4*from)); err != nil { // #nosec G115 -- an index
				return g.outOfReach(s, m, "read", err)
			}
		}
	}
	sum := d.chunk[0]
	for at := 0; at < len(sum); at += comm.BlockElements {
		end := min(at+comm.BlockElements, len(sum))
		for _, other := range d.chunk[1:] {
			vec.Add(sum[at:end], other[at:end])
		}
		s.finish(sum[at:end])
		for i, m := range g.members[1:] {
			if m == g.own || m.place != layout.InProcess {
				copy(d.chunk[i+1][at:end], sum[at:end])
			}
		}
	}
	for _, m := range g.members {
		if m == g.own || m.place != layout.InProcess {
			continue
		}
		if g.Ended() { // the memory may be that of another process soon
			return g.Closed()
		}
		if err := m.process.Write(m.address+uint64(4*from), tensor.Float32Bytes(sum)); err != nil { // #nosec G115 -- an index
			return g.outOfReach(s, m, "written", err)
		}
	}
	return nil
}

// outOfReach is the error of a copy: the member has ended, or lied about its address.
func (g *group) outOfReach(s *step, m *member, what string, err error) error {
	if g.Ended() {
		return g.Closed()
	}
	return &comm.PeerError{Waiter: g.Self, Peer: m.name, What: s.describe(), Err: fmt.Errorf("its gradient cannot be %s: %w", what, err)}
}

// sumsInProcess says that s can be carried out with gradients in their processes: it is a
// dense sum.
func (g *group) sumsInProcess(s *step) bool {
	return !s.op.Spec.Sparse && (s.kind == stepAllReduce || s.kind == stepAverage)
}

// staysInProcess says that s finds this member's gradient in the process: either nobody else
// touches it, or all others can.
func (g *group) staysInProcess(s *step) bool {
	return g.sumsInProcess(s) && (isEager(&s.op.Spec) || g.reachedByAll())
}

// reachedByAll says whether all other members reach this process's memory.
func (g *group) reachedByAll() bool {
	for i, m := range g.members {
		if m != g.own && !g.probe.reachedBy(i) {
			return false
		}
	}
	return true
}
