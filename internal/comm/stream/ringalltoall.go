package stream

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// allToAll runs an all-to-all. Member p first sends its blocks for all other
// members, ordered so that the blocks for the next member come first. In each
// step it takes the blocks for itself, which arrive first, and sends the rest
// on in the next step. After step s member p has the blocks of member p-s-1.
func (r *circle) allToAll(t *task) error {
	p, size, n := r.position, r.size, len(t.gradient.Values)/r.total
	rooms := [2][]float32{r.transit(0, n), r.transit(1, n)}
	sends := rooms[0][:0]
	for k := 1; k < size; k++ {
		for _, i := range r.members[p] {
			for _, j := range r.members[(p+k)%size] {
				sends = append(sends, r.exchanged(t, i, j)...)
			}
		}
	}
	for step := range size - 1 {
		origin := (p - step - 1 + size) % size
		arrives := rooms[(step+1)%2][:r.underway(origin, step)*n]
		if err := r.sendReceive(t.op, step, sends, arrives); err != nil {
			return err
		}
		// The next step receives into the buffer that this step sends from.
		if r.drain(); r.failed != nil {
			return nil // outcome returns the error
		}
		sends = arrives
		for _, i := range r.members[origin] {
			for _, j := range r.members[p] {
				sends = sends[copy(r.exchanged(t, j, i), sends):]
			}
		}
	}
	return nil
}

// exchanged is the block that member i exchanges with member j. The circle
// member of this process represents member i.
func (r *circle) exchanged(t *task, i, j int) []float32 {
	values := t.stage.Values(i)
	from, to := tensor.Block(len(values), r.total, j)
	return values[from:to]
}

// underway is the number of blocks from circle member origin that are in
// transit in a step.
func (r *circle) underway(origin, step int) (blocks int) {
	for k := step + 1; k < r.size; k++ {
		blocks += len(r.members[origin]) * len(r.members[(origin+k)%r.size])
	}
	return blocks
}

// sendReceive sends to the next member and fills arrives from the previous
// member at the same time.
func (r *circle) sendReceive(op *op.Reduction, step int, sends, arrives []float32) error {
	frame := frameOf(wire.Header{Op: wire.OpAllToAll, Arg: int64(step)}, op)
	for k := range blocks(len(sends)) {
		frame.Arg2 = int64(k)
		r.post(frame, nil, blockOf(sends, k))
	}
	for k := range blocks(len(arrives)) {
		frame.Arg2 = int64(k)
		h, err := r.expect(op, frame)
		if err != nil {
			return err
		}
		if err := r.readValues(op, &h, blockOf(arrives, k)); err != nil {
			return err
		}
	}
	return nil
}

// transit returns buffer i, with room for all blocks of n elements that can be
// in transit from any origin.
func (r *circle) transit(i, n int) []float32 {
	most := 0
	for origin := range r.members {
		most = max(most, r.underway(origin, 0)*n)
	}
	if len(r.rooms[i]) < most {
		r.rooms[i] = make([]float32, most)
	}
	return r.rooms[i][:most]
}
