package stream

import (
	"time"

	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
)

// circle is what operations of a ring go round in, whoever starts them: a ring's own goroutine, or
// the group of a host that a Relay joins to others. One operation runs at a time.
type circle struct {
	self           string
	timeout        time.Duration
	position, size int
	next, prev     *wire.Conn
	// members are the positions of those that each member of the circle stands for, total is how
	// many there are: itself alone, unless the circle is that of a Relay.
	members [][]int
	total   int

	outbox chan ringFrame // to the sender; has room for every frame of a task
	handed bool           // a frame of this task went to the outbox
	failed error          // of a frame of this task that did not
	sent   chan error     // from the sender, one per task; capacity 1

	block  []float32         // what a step of reduce-scatter receives
	rooms  [2][]float32      // of an all-to-all; made for the first one
	parts  []tensor.Gradient // the sparse gradient of every member
	merger *tensor.RowMerger
}

// task is an operation on its way.
type task struct {
	op       *op.Reduction
	kind     wire.Op // of its first frame
	root     int
	gradient *tensor.Gradient // nil of a barrier
	cut      cut              // of a dense one that goes round in laps
	stage    op.Stage
}

// alone is the stage of a member that stands for itself.
type alone struct{ *tensor.Gradient }

func (alone) Prepare(op.Span)        {}
func (alone) Finish(op.Span)         {}
func (a alone) Values(int) []float32 { return a.Gradient.Values }

// init makes it one of these members, each of which stands for itself.
func (r *circle) init(members wire.Links, position int) {
	size := len(members.Conns)
	*r = circle{
		self: members.Self, timeout: members.Timeout, position: position, size: size, total: size,
		next: members.Conns[(position+1)%size], prev: members.Conns[(position+size-1)%size],
		sent: make(chan error, 1), merger: tensor.NewRowMerger(size), parts: make([]tensor.Gradient, size),
	}
	for i := range size {
		r.members = append(r.members, []int{i})
	}
}

// reserve allocates what the largest buckets of either form need, which are cut so.
func (r *circle) reserve(specs []tensor.BucketSpec, cuts ...[]*cut) {
	var block, rows, values int
	frames := r.size // of a sparse all-reduce
	for i := range specs {
		elements := specs[i].Elements
		if specs[i].Sparse {
			elements = specs[i].Capacity * specs[i].Width
			rows, values = max(rows, specs[i].Capacity), max(values, elements)
		}
		frames = max(frames, 1+blocks(elements)) // of a broadcast
		for _, by := range r.members {           // what one sends at a time in an all-to-all
			frames = max(frames, blocks(len(by)*(r.total-len(by))*(elements/r.total)))
		}
	}
	for _, all := range cuts {
		for _, c := range all {
			if c != nil {
				block, frames = max(block, c.longest()), max(frames, 2*r.size*c.most())
			}
		}
	}
	r.outbox = make(chan ringFrame, frames+1)
	r.block = make([]float32, block)
	for i := range r.parts {
		r.parts[i] = tensor.Gradient{Rows: make([]int32, 0, rows), Values: make([]float32, 0, values)}
	}
}

func (r *circle) hangUp() {
	_ = r.next.Close()
	_ = r.prev.Close()
}

// perform runs one operation.
func (r *circle) perform(t *task) error {
	// They fail only on a closed connection, and then the steps fail too.
	_ = r.next.SetWriteDeadline(t.op.Deadline)
	_ = r.prev.SetReadDeadline(t.op.Deadline)
	var err error
	switch {
	case t.kind == wire.OpBarrier:
		err = r.barrier(t.op)
	case t.kind == wire.OpBroadcast:
		err = r.broadcast(t)
	case t.kind == wire.OpReduceScatter:
		err = r.runLap(t, r.reduceScatterLap())
	case t.kind == wire.OpAllGather:
		err = r.runLap(t, r.allGatherLap())
	case t.kind == wire.OpAllToAll:
		err = r.allToAll(t)
	case t.op.Spec.Sparse:
		err = r.gatherRows(t)
	default:
		err = r.runLap(t, r.allReduceLap())
	}
	if err = r.outcome(t.op, err); err == nil && t.kind == wire.OpScatter && t.op.Spec.Sparse {
		err = r.mergeParts(t)
	}
	return err
}
