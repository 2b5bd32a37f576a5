//go:build nvidia

package kernels

import (
	"fmt"
	"unsafe"

	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/cuda/driver"
)

// Parameter is a parameter of an optimizer: its values, its dense gradient and its state, all of the same length. S
// is the velocity, Adagrad's sums or Adam's first moment. T is Adam's second moment. Fields that the optimizer does
// not use are nil.
type Parameter struct {
	W, G, S, T []float32
}

// Group is several parameters that a queue steps in one launch. Only the queue that made the group may step it,
// because that queue's stream copies the group's table to the device.
type Group struct {
	context *driver.Context
	table   driver.Pointer // table of slots on the device
	slots   []slot         // source of the copy to table; must not change
	grid    [3]uint32
}

// slot is a parameter in the form that the kernels read.
type slot struct {
	w, g, s, t     driver.Pointer
	n, head, quads uint64
}

const mostParameters = 1<<16 - 1 // limit of a grid's second dimension

// NewGroup makes a group of parameters and copies their addresses and sizes to the device. The parameters must not
// move. The group is nil if the queue has an error.
func (q *Queue) NewGroup(parameters []Parameter) *Group {
	g := &Group{context: q.kernels.context}
	if !q.atLeast("NewGroup", "parameters", len(parameters), 1) ||
		!q.atMost("NewGroup", "parameters", len(parameters), mostParameters) {
		return nil
	}
	blocks := uint32(1)
	for _, p := range parameters {
		arrays := []driver.Pointer{pointer(p.W), pointer(p.G)}
		for _, state := range [][]float32{p.S, p.T} {
			if state != nil {
				arrays = append(arrays, pointer(state))
			}
			if state != nil && !q.equal("NewGroup", "state", len(state), len(p.W)) {
				return nil
			}
		}
		if !q.equal("NewGroup", "a gradient", len(p.G), len(p.W)) {
			return nil
		}
		head, quads := fours(len(p.W), 4, arrays...)
		g.slots = append(g.slots, slot{
			pointer(p.W), pointer(p.G), pointer(p.S), pointer(p.T),
			uint64(len(p.W)), uint64(head), uint64(quads), // #nosec G115 -- not negative
		})
		blocks = max(blocks, blocksFor(max(quads, len(p.W)-4*quads), blockThreads))
	}
	g.grid = [3]uint32{blocks, uint32(len(parameters)), 1} // #nosec G115 -- checked
	bytes := len(g.slots) * int(unsafe.Sizeof(slot{}))
	if g.table, q.err = g.context.Alloc(bytes); q.err != nil {
		return nil
	}
	if q.done(q.stream.CopyIn(g.table, unsafe.Pointer(unsafe.SliceData(g.slots)), bytes)); q.err != nil { // #nosec G103 -- the driver takes addresses
		q.err = fmt.Errorf("a group of %d parameters: %w", len(parameters), q.err)
		_ = g.Close() // the first error is the useful one
		return nil
	}
	return g
}

// Close frees the group's memory on the device. No queue may have pending steps of the group.
func (g *Group) Close() error { return g.context.Free(g.table) }

// group begins the arguments of a step of a group.
func (q *Queue) group(g *Group) bool {
	q.args.Reset()
	if q.err == nil {
		q.args.Pointer(g.table)
	}
	return q.err == nil
}

// SGDGroup does SGD for each parameter.
func (q *Queue) SGDGroup(g *Group, lr, weightDecay float32) {
	if !q.group(g) || lr == 0 && weightDecay == 0 {
		return
	}
	q.args.F32(lr)
	q.args.F32(weightDecay)
	q.launch(sgdGroup, g.grid, threads)
}

// MomentumGroup does Momentum for each parameter.
func (q *Queue) MomentumGroup(g *Group, lr, mu, weightDecay float32, nesterov bool) {
	if !q.group(g) {
		return
	}
	q.args.F32(lr)
	q.args.F32(mu)
	q.args.F32(weightDecay)
	q.flag(nesterov)
	q.launch(momentumGroup, g.grid, threads)
}

// AdamGroup does Adam for each parameter.
func (q *Queue) AdamGroup(g *Group, c vec.AdamStep) {
	if !q.group(g) {
		return
	}
	q.adamFactors(c)
	q.launch(adamGroup, g.grid, threads)
}

// AdagradGroup does Adagrad for each parameter.
func (q *Queue) AdagradGroup(g *Group, lr, epsilon, weightDecay float32) {
	if !q.group(g) {
		return
	}
	q.args.F32(lr)
	q.args.F32(epsilon)
	q.args.F32(weightDecay)
	q.launch(adagradGroup, g.grid, threads)
}
