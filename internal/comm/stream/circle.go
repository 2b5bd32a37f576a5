package stream

import (
	"sync"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// circle carries operations round a ring. The starter is the ring's own goroutine, or the group of a
// host that a Relay joins to others. One operation runs at a time.
type circle struct {
	self           string
	timeout        time.Duration
	position, size int
	next, prev     *wire.Conn
	// members are the positions that each member of the circle stands for: itself alone, unless
	// the circle is a Relay's. total is their number.
	members [][]int
	total   int

	outbox chan ringFrame // to the sender; has room for every frame of a task
	unsent sync.WaitGroup // frames in the outbox, or being sent
	broken error          // of a frame from the outbox; the sender's while there are some
	handed bool           // a frame of this task went to the outbox
	failed error          // of a frame of this task

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
	begun    bool // its first frames are posted
}

// alone is the stage of a member that stands for itself.
type alone struct{ *tensor.Gradient }

func (alone) Prepare(op.Span)        {}
func (alone) Finish(op.Span)         {}
func (a alone) Values(int) []float32 { return a.Gradient.Values }

// init joins members that stand for themselves.
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

// reserve allocates what the largest buckets of either form need, which are cut so.
func (r *circle) reserve(specs []tensor.BucketSpec, cuts ...[]*cut) {
	var block, rows, values int
	frames := r.size // of a sparse all-reduce
	for i := range specs {
		elements := specs[i].Words()
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
	r.outbox = make(chan ringFrame, frames)
	r.block = make([]float32, block)
	for i := range r.parts {
		r.parts[i] = tensor.Gradient{Rows: make([]int32, 0, rows), Values: make([]float32, 0, values)}
	}
}

func (r *circle) hangUp() {
	_ = r.next.Close()
	_ = r.prev.Close()
}

// begin posts what a member sends before it has received anything, where that is its shard of a lap.
// No other task is under way.
func (r *circle) begin(t *task) {
	// They fail only on a closed connection, and then the steps fail too.
	_ = r.next.SetWriteDeadline(t.op.Deadline)
	_ = r.prev.SetReadDeadline(t.op.Deadline)
	if l, ok := r.lapOf(t); ok {
		r.beginLap(t, l)
	}
	t.begun = true
}

// perform runs one operation.
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

// runOther runs what is no lap.
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
