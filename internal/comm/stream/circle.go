package stream

import (
	"sync"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// circle carries operations round a ring, one at a time. A ring's own goroutine
// starts the operations; for a Relay, the host's group starts them.
type circle struct {
	self           string
	timeout        time.Duration
	position, size int
	next, prev     *wire.Conn
	// members lists the group positions that each member of the circle
	// represents. That is only the member itself, except in a Relay. total is
	// the number of positions.
	members [][]int
	total   int

	outbox chan ringFrame // queue of the sender; has room for all frames of a task
	unsent sync.WaitGroup // frames in the outbox, or being sent
	broken error          // error of a frame from the outbox; only the sender touches it while unsent is not 0
	handed bool           // at least one frame of this task went to the outbox
	failed error          // error of sending a frame of this task

	block  []float32         // received values in a step of reduce-scatter
	rooms  [2][]float32      // buffers for all-to-all; allocated at the first one
	parts  []tensor.Gradient // sparse gradients of all members
	merger *tensor.RowMerger
}

// task is an operation in progress.
type task struct {
	op       *op.Reduction
	kind     wire.Op // operation of its first frame
	root     int
	gradient *tensor.Gradient // nil for a barrier
	cut      cut              // for a dense operation that runs as a lap
	stage    op.Stage
	begun    bool // its first frames were posted
}

// alone is the stage of a member that represents only itself.
type alone struct{ *tensor.Gradient }

func (alone) Prepare(op.Span)        {}
func (alone) Finish(op.Span)         {}
func (a alone) Values(int) []float32 { return a.Gradient.Values }

// init joins members that represent only themselves.
func (r *circle) init(members wire.Links, position int) {
	size := len(members.Conns)
	*r = circle{
		self: members.Self, timeout: members.Timeout, position: position, size: size, total: size,
		next: members.Conns[(position+1)%size], prev: members.Conns[(position+size-1)%size],
		merger: tensor.NewRowMerger(size), parts: make([]tensor.Gradient, size),
	}
	for i := range size {
		r.members = append(r.members, []int{i})
	}
}

// reserve allocates memory for the largest dense and sparse buckets, with these
// cuts.
func (r *circle) reserve(specs []tensor.BucketSpec, cuts ...[]*cut) {
	var block, rows, values int
	frames := r.size // for a sparse all-reduce
	for i := range specs {
		elements := specs[i].Words()
		if specs[i].Sparse {
			elements = specs[i].Capacity * specs[i].Width
			rows, values = max(rows, specs[i].Capacity), max(values, elements)
		}
		frames = max(frames, 1+blocks(elements)) // for a broadcast
		for _, by := range r.members {           // for one step of an all-to-all
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
	r.outbox = make(chan ringFrame, frames)
	r.block = tensor.NewGradient(tensor.BucketSpec{Elements: block}).Values // aligned for elements of any type
	for i := range r.parts {
		r.parts[i] = tensor.Gradient{Rows: make([]int32, 0, rows), Values: make([]float32, 0, values)}
	}
}

func (r *circle) hangUp() {
	_ = r.next.Close()
	_ = r.prev.Close()
}

// begin sets the task's deadlines. If the task is a lap, it also posts the
// frames that a member sends before it receives anything. No other task may be
// in progress.
func (r *circle) begin(t *task) {
	// These calls fail only on a closed connection, and then the steps fail
	// too.
	_ = r.next.SetWriteDeadline(t.op.Deadline)
	_ = r.prev.SetReadDeadline(t.op.Deadline)
	if l, ok := r.lapOf(t); ok {
		r.beginLap(t, l)
	}
	t.begun = true
}

// perform runs one task to its end.
func (r *circle) perform(t *task) error {
	if !t.begun {
		r.begin(t)
	}
	var err error
	if l, ok := r.lapOf(t); ok {
		err = r.runLap(t, l)
	} else {
		err = r.runOther(t)
	}
	if err = r.outcome(t.op, err); err == nil && t.kind == wire.OpScatter && t.op.Spec.Sparse {
		err = r.mergeParts(t)
	}
	return err
}

// runOther runs a task that is not a lap.
func (r *circle) runOther(t *task) error {
	switch t.kind {
	case wire.OpBarrier:
		return r.barrier(t.op)
	case wire.OpBroadcast:
		return r.broadcast(t)
	case wire.OpAllToAll:
		return r.allToAll(t)
	default:
		return r.gatherRows(t)
	}
}
