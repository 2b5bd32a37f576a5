//go:build nvidia

package kernels

import (
	"math"

	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/cuda/driver"
)

// SGD computes w -= lr (g + weightDecay w), like vec.SGD. SGD moves 12 bytes per parameter.
func (q *Queue) SGD(w, g []float32, lr, weightDecay float32) {
	if !q.equal("SGD", "g", len(g), len(w)) || lr == 0 && weightDecay == 0 {
		return
	}
	blocks := q.sweep(len(w), pointer(w), pointer(g))
	q.args.F32(lr)
	q.args.F32(weightDecay)
	q.launch(sgd, blocks, threads)
}

// Momentum computes vec.Momentum: d = g + weightDecay w, v = mu v + d, w -= lr v, or lr (d + mu v) with nesterov.
// Momentum moves 20 bytes per parameter.
func (q *Queue) Momentum(w, g, v []float32, lr, mu, weightDecay float32, nesterov bool) {
	if !q.equal("Momentum", "g", len(g), len(w)) || !q.equal("Momentum", "v", len(v), len(w)) {
		return
	}
	blocks := q.sweep(len(w), pointer(w), pointer(g), pointer(v))
	q.args.F32(lr)
	q.args.F32(mu)
	q.args.F32(weightDecay)
	q.flag(nesterov)
	q.launch(momentum, blocks, threads)
}

// Adam computes vec.Adam. Adam moves 28 bytes per parameter.
func (q *Queue) Adam(w, g, m, v []float32, c vec.AdamStep) {
	if !q.equal("Adam", "g", len(g), len(w)) || !q.equal("Adam", "m", len(m), len(w)) ||
		!q.equal("Adam", "v", len(v), len(w)) {
		return
	}
	blocks := q.sweep(len(w), pointer(w), pointer(g), pointer(m), pointer(v))
	q.adamFactors(c)
	q.launch(adam, blocks, threads)
}

func (q *Queue) adamFactors(c vec.AdamStep) {
	for _, factor := range [...]float64{
		c.WeightDecay, c.Beta1, 1 - c.Beta1, c.Beta2, 1 - c.Beta2, 1 / math.Sqrt(c.Correction2), c.Epsilon,
		c.LR / c.Correction1,
	} {
		q.args.F32(float32(factor))
	}
}

// Adagrad computes d = g + weightDecay w, s += d², w -= lr d / (√s + epsilon). Adagrad equals sdk/optimizer's use
// of vec.Axpy and vec.Adagrad but does not change g. Adagrad moves 20 bytes per parameter.
func (q *Queue) Adagrad(w, g, s []float32, lr, epsilon, weightDecay float32) {
	if !q.equal("Adagrad", "g", len(g), len(w)) || !q.equal("Adagrad", "s", len(s), len(w)) {
		return
	}
	blocks := q.sweep(len(w), pointer(w), pointer(g), pointer(s))
	q.args.F32(lr)
	q.args.F32(epsilon)
	q.args.F32(weightDecay)
	q.launch(adagrad, blocks, threads)
}

// AdamRows computes vec.Adam for the rows of w, m and v [any, width] that have a gradient. Row i of g [len(rows),
// width] is the gradient of row rows[i]. rows must be distinct. AdamRows moves 28 bytes per element of g.
func (q *Queue) AdamRows(w, g, m, v []float32, width int, rows []int32, c vec.AdamStep) {
	blocks, block, ok := q.byRows("AdamRows", w, g, width, rows, pointer(m), pointer(v))
	if !ok || !q.equal("AdamRows", "m", len(m), len(w)) || !q.equal("AdamRows", "v", len(v), len(w)) {
		return
	}
	q.adamFactors(c)
	q.launch(adamRows, blocks, block)
}

// AdagradRows computes vec.Adagrad for the rows of w and s [any, width] that have a gradient, with the arguments of
// AdamRows. AdagradRows moves 20 bytes per element of g.
func (q *Queue) AdagradRows(w, g, s []float32, width int, rows []int32, lr, epsilon float32) {
	blocks, block, ok := q.byRows("AdagradRows", w, g, width, rows, pointer(s))
	if !ok || !q.equal("AdagradRows", "s", len(s), len(w)) {
		return
	}
	q.args.F32(lr)
	q.args.F32(epsilon)
	q.launch(adagradRows, blocks, block)
}

// RowwiseAdagrad computes sums[row] += mean(g²), w -= lr g / (√sums[row] + epsilon). RowwiseAdagrad does so for the
// rows of w [rows of sums, width] that have a gradient, with the arguments of AdamRows. RowwiseAdagrad adds the
// squares in float64, in a fixed order. RowwiseAdagrad moves 16 bytes per element of g.
func (q *Queue) RowwiseAdagrad(w, g, sums []float32, width int, rows []int32, lr, epsilon float32) {
	_, _, ok := q.byRows("RowwiseAdagrad", w, g, width, rows)
	if !ok || !q.equal("RowwiseAdagrad", "w", len(w), len(sums)*width) {
		return
	}
	// The kernel never reads the row sums in fours. The array of row sums takes the place of the other steps' state.
	q.args.Reset()
	q.args.Pointer(pointer(w))
	q.args.Pointer(pointer(g))
	q.args.Pointer(pointer(sums))
	q.args.Pointer(pointer(rows))
	q.u32(len(rows))
	q.u32(width)
	q.flag(inFours(width, pointer(w), pointer(g)))
	q.args.F32(lr)
	q.args.F32(epsilon)
	q.launch(rowwiseAdagrad, line(blocksFor(len(rows), 1)), rowThreads(width))
}

// byRows begins the arguments of a step by rows: w, g, the state, the rows and their number, the width, and whether
// rows are processed in fours.
func (q *Queue) byRows(call string, w, g []float32, width int, rows []int32,
	state ...driver.Pointer) (blocks, block [3]uint32, ok bool) {
	if q.rows(call, "w", len(w), width) == 0 || !q.equal(call, "g", len(g), len(rows)*width) {
		return blocks, block, false
	}
	q.args.Reset()
	q.args.Pointer(pointer(w))
	q.args.Pointer(pointer(g))
	quads := inFours(width, pointer(w), pointer(g))
	for _, s := range state {
		q.args.Pointer(s)
		quads = quads && inFours(width, s)
	}
	q.args.Pointer(pointer(rows))
	q.u32(len(rows))
	q.u32(width)
	q.flag(quads)
	blocks, block = tableGrid(len(rows), width, quads)
	return blocks, block, true
}

// inFours reports whether every row of so many float32 begins 16-byte aligned in each of the arrays.
func inFours(width int, arrays ...driver.Pointer) bool {
	for _, a := range arrays {
		if a%16 != 0 {
			return false
		}
	}
	return width%4 == 0
}

// tableGrid gives each row of a table as many threads as it has elements or fours, up to a block of 256.
func tableGrid(rows, width int, fours bool) (blocks, block [3]uint32) {
	if fours {
		width /= 4
	}
	x := min(width, blockThreads)
	y := blockThreads / x
	return line(blocksFor(rows, y)), [3]uint32{uint32(x), uint32(y), 1} // #nosec G115 -- at most 256
}

// rowThreads returns the threads of a block that adds up a row of this width: whole warps, up to 8.
func rowThreads(width int) [3]uint32 {
	return [3]uint32{uint32(min(max(1, (width+31)/32), 8) * 32), 1, 1} // #nosec G115 -- at most 256
}
