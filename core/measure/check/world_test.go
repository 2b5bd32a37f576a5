package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/checked"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// member is one rank's end of every link. The test computes the results of operations itself, from the values of all
// ranks.
type member struct {
	size    int
	promise *comm.Promise
}

func (m *member) begin() *comm.Future { m.promise.Begin(); return m.promise.Future() }

func (m *member) PushPull(int64, *tensor.Bucket) *comm.Future       { return m.begin() }
func (m *member) AllReduce(int64, *tensor.Bucket) *comm.Future      { return m.begin() }
func (m *member) Average(int64, *tensor.Bucket) *comm.Future        { return m.begin() }
func (m *member) Broadcast(int64, *tensor.Bucket, int) *comm.Future { return m.begin() }
func (m *member) ReduceScatter(int64, *tensor.Bucket) *comm.Future  { return m.begin() }
func (m *member) AllGather(int64, *tensor.Bucket) *comm.Future      { return m.begin() }
func (m *member) AllToAll(int64, *tensor.Bucket) *comm.Future       { return m.begin() }
func (m *member) Barrier() error                                    { return nil }
func (m *member) Size() int                                         { return m.size }
func (m *member) Position() int                                     { return 0 }

// start begins an operation on a rank's links.
func start(l sdk.Links, o record.Operation, batch int64, b *tensor.Bucket, root int) *comm.Future {
	switch o {
	case record.PushPull:
		return l.Server.PushPull(batch, b)
	case record.AllReduce:
		return l.Group.AllReduce(batch, b)
	case record.Average:
		return l.Group.Average(batch, b)
	case record.Broadcast:
		return l.Group.Broadcast(batch, b, root)
	case record.ReduceScatter:
		return l.Group.ReduceScatter(batch, b)
	case record.AllGather:
		return l.Group.AllGather(batch, b)
	default:
		return l.Group.AllToAll(batch, b)
	}
}

// world simulates ranks. Plain loops carry out their operations.
type world struct {
	t       interface{ Fatal(args ...any) }
	seed    uint64
	specs   []tensor.BucketSpec
	keepers []*checked.Keeper
	members []*member
	links   []sdk.Links
	buckets [][]*tensor.Bucket // by rank
	average bool               // the server declares the mean, so nobody needs to ask it
}

func newWorld(t interface{ Fatal(args ...any) }, keepers []*checked.Keeper, seed uint64,
	specs []tensor.BucketSpec) *world {
	w := &world{t: t, seed: seed, specs: specs, keepers: keepers}
	for _, k := range keepers {
		k.Reset()
		m := &member{len(keepers), comm.NewPromise(nil)}
		w.members = append(w.members, m)
		w.links = append(w.links, k.Links(sdk.Links{Server: m, Group: m}, specs))
		var buckets []*tensor.Bucket
		for _, spec := range specs {
			buckets = append(buckets, tensor.NewBucket(spec))
		}
		w.buckets = append(w.buckets, buckets)
	}
	return w
}

// round makes all ranks carry out an operation on random values. spoil may change the result of a rank.
func (w *world) round(random *rand.Rand, o record.Operation, batch int64, bucket, root int, spoil func(rank int,
	g *tensor.Gradient)) {
	n := len(w.members)
	spec := &w.specs[bucket]
	var before []tensor.Gradient
	for rank := range n {
		g := &w.buckets[rank][bucket].Gradient
		if spec.Sparse {
			var rows []int32
			for row := range spec.TableRows {
				if random.IntN(3) == 0 && len(rows) < spec.Capacity/n {
					rows = append(rows, int32(row))
				}
			}
			if err := g.SetRows(len(rows)); err != nil {
				w.t.Fatal(err)
			}
			copy(g.Rows, rows)
		}
		for i := range g.Values {
			g.Values[i] = float32(random.NormFloat64() * math.Exp(4*random.NormFloat64()))
		}
		before = append(before,
			tensor.Gradient{Values: slices.Clone(g.Values), Rows: slices.Clone(g.Rows), Width: g.Width})
		start(w.links[rank], o, batch, w.buckets[rank][bucket], root)
	}
	for rank, m := range w.members {
		g := &w.buckets[rank][bucket].Gradient
		carryOut(g, spec, o, before, rank, root)
		if spoil != nil {
			spoil(rank, g)
		}
		m.promise.Complete(nil)
	}
}

// carryOut sets g to the result on one rank. It sums in float32, in an order that differs from the core's.
func carryOut(g *tensor.Gradient, spec *tensor.BucketSpec, o record.Operation, before []tensor.Gradient,
	rank, root int) {
	n := len(before)
	if spec.Sparse && o != record.Broadcast {
		m := tensor.NewRowMerger(n)
		for i := range before {
			m.Add(&before[n-1-i])
		}
		if err := m.Sum(g); err != nil {
			panic(err)
		}
		if o != record.AllReduce {
			for i := range g.Values {
				g.Values[i] *= 1 / float32(n)
			}
		}
		return
	}
	if o == record.Broadcast {
		if err := g.CopyFrom(&before[root]); err != nil {
			panic(err)
		}
		return
	}
	for i := range g.Values {
		sum := float32(0)
		for r := n - 1; r >= 0; r-- {
			sum += before[r].Values[i]
		}
		from, to := tensor.Shard(spec.Elements, n, rank)
		switch o {
		case record.AllReduce:
			g.Values[i] = sum
		case record.PushPull, record.Average:
			g.Values[i] = sum / float32(n)
		case record.ReduceScatter:
			if g.Values[i] = -1; i >= from && i < to {
				g.Values[i] = sum
			}
		case record.AllGather:
			for owner := range n {
				if from, to := tensor.Shard(spec.Elements, n, owner); i >= from && i < to {
					g.Values[i] = before[owner].Values[i]
				}
			}
		case record.AllToAll:
			if size := spec.Elements / n; i < n*size {
				g.Values[i] = before[i/size].Values[rank*size+i%size]
			}
		}
	}
}

// check recomputes all operations of the world.
func (w *world) check() *Outcome {
	run := &Run{Seed: w.seed, Buckets: w.specs, Servers: map[int][]int{9: nil}, Combine: mean(len(w.members))}
	if w.average {
		run.Answers = sdk.AnswersMean
	}
	for rank, k := range w.keepers {
		run.Names = append(run.Names, fmt.Sprintf("trainer%d", rank))
		run.Servers[9] = append(run.Servers[9], rank)
		var kept []*record.Exchange
		err := k.Collect(func(p record.Piece) error {
			if x, ok := p.(*record.Exchange); ok {
				kept = append(kept, x)
			}
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		run.Kept = append(run.Kept, kept)
	}
	out, err := run.Do()
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// mean is the Combine function of a server that answers with the mean over this many trainers.
func mean(trainers int) func(int, [][][]float32) ([][]float32, error) {
	return func(_ int, pushed [][][]float32) (answers [][]float32, err error) {
		for _, gradients := range pushed {
			sum := slices.Clone(gradients[0])
			for _, g := range gradients[1:] {
				for i, v := range g {
					sum[i] += v
				}
			}
			for i := range sum {
				sum[i] *= 1 / float32(trainers)
			}
			answers = append(answers, sum)
		}
		return answers, nil
	}
}

var operations = []record.Operation{
	record.PushPull, record.AllReduce, record.Average, record.Broadcast, record.ReduceScatter, record.AllGather,
	record.AllToAll,
}

func drawSpec(t *rapid.T) tensor.BucketSpec {
	if !rapid.Bool().Draw(t, "sparse") {
		return tensor.BucketSpec{Elements: rapid.IntRange(1, 3000).Draw(t, "elements")}
	}
	rows, width := rapid.IntRange(1, 300).Draw(t, "rows"), rapid.SampledFrom([]int{1, 3, 16, 1023, 1200}).Draw(t,
		"width")
	return tensor.BucketSpec{Sparse: true, Elements: rows * width, TableRows: rows, Width: width, Capacity: rows}
}

func newKeepers(n int, seed uint64) (keepers []*checked.Keeper) {
	for range n {
		keepers = append(keepers, checked.NewKeeper(seed))
	}
	return keepers
}
