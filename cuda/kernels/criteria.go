//go:build nvidia

package kernels

// The criteria compute the values of plugins/criteria. output and gradient are [rows, columns], with a target for
// each row; targets must be in range. losses [rows] or gradient may be nil and are then not written. Losses are
// computed in float64 and rounded once. Each criterion is one launch and moves 4 bytes per element of output, and 4
// of gradient.

// CrossEntropy computes the criterion cel. The losses are log Σ exp(output) - output[target]; the gradient is
// (softmax(output) - one-hot(target)) / rows. CrossEntropy reads output three times, from the caches after the
// first time.
func (q *Queue) CrossEntropy(losses, gradient, output []float32, targets []int64, classes int) {
	q.criterion("CrossEntropy", crossEntropy, losses, gradient, output, targets, classes, 1/float32(len(targets)))
}

// NLL computes the criterion nll of log-probabilities. The losses are -output[target]; the gradient is
// -one-hot(target) / rows.
func (q *Queue) NLL(losses, gradient, output []float32, targets []int64, classes int) {
	q.criterion("NLL", nll, losses, gradient, output, targets, classes, -1/float32(len(targets)))
}

// MSE computes the criterion mse. The losses are the sums over a row of (output - target)², which the criterion
// divides by the number of elements. The gradient is 2 (output - target) / elements.
func (q *Queue) MSE(losses, gradient, output []float32, targets []int64, columns int) {
	q.criterion("MSE", mse, losses, gradient, output, targets, columns, 2/float32(len(output)))
}

// L1 computes the criterion l1. The losses are the sums over a row of |output - target|, which the criterion
// divides by the number of elements. The gradient is sign(output - target) / elements.
func (q *Queue) L1(losses, gradient, output []float32, targets []int64, columns int) {
	q.criterion("L1", l1, losses, gradient, output, targets, columns, 1/float32(len(output)))
}

// BCE computes the criterion bce. output [rows] are logits x, and targets are 0 or 1. The losses are max(x, 0) - x
// target + log(1 + exp(-|x|)); the gradient is (sigmoid(x) - target) / rows.
func (q *Queue) BCE(losses, gradient, output []float32, targets []int64) {
	q.criterion("BCE", bce, losses, gradient, output, targets, 1, 0)
}

// CrossEntropyFloats computes CrossEntropy for targets [rows, classes] that are probabilities. The losses are Σ
// target (log Σ exp(output) - output); the gradient is (Σ target softmax(output) - target) / rows.
func (q *Queue) CrossEntropyFloats(losses, gradient, output, targets []float32, classes int) {
	launchCriterion(q, "CrossEntropyFloats", crossEntropyFloats, losses, gradient, output, targets, classes, classes,
		float32(classes)/float32(len(targets)))
}

// MSEFloats computes MSE for targets [rows, columns].
func (q *Queue) MSEFloats(losses, gradient, output, targets []float32, columns int) {
	launchCriterion(q, "MSEFloats", mseFloats, losses, gradient, output, targets, columns, columns,
		2/float32(len(output)))
}

// L1Floats computes L1 for targets [rows, columns].
func (q *Queue) L1Floats(losses, gradient, output, targets []float32, columns int) {
	launchCriterion(q, "L1Floats", l1Floats, losses, gradient, output, targets, columns, columns,
		1/float32(len(output)))
}

// BCEFloats computes BCE for targets from 0 to 1. Output, targets and losses have one value for each element. The
// mean is over all elements.
func (q *Queue) BCEFloats(losses, gradient, output, targets []float32) {
	launchCriterion(q, "BCEFloats", bceFloats, losses, gradient, output, targets, 1, 1, 0)
}

// criterion launches a kernel with classes as targets.
func (q *Queue) criterion(call string, k kernel, losses, gradient, output []float32, targets []int64, columns int,
	factor float32) {
	launchCriterion(q, call, k, losses, gradient, output, targets, 1, columns, factor)
}

// launchCriterion launches a kernel with these arguments: losses, gradient, output, targets, rows, columns and a
// factor. Each row has the given number of targets.
func launchCriterion[T element](q *Queue, call string, k kernel, losses, gradient, output []float32, targets []T,
	each, columns int, factor float32) {
	rows := q.rows(call, "output", len(output), columns)
	if rows == 0 || !q.equal(call, "targets", len(targets), rows*each) ||
		losses != nil && !q.equal(call, "losses", len(losses), rows) ||
		gradient != nil && !q.equal(call, "gradient", len(gradient), len(output)) {
		return
	}
	q.args.Reset()
	q.args.Pointer(pointer(losses))
	q.args.Pointer(pointer(gradient))
	q.args.Pointer(pointer(output))
	q.args.Pointer(pointer(targets))
	q.u32(rows)
	q.u32(columns)
	q.args.F32(factor)
	if k == bce || k == bceFloats {
		q.launch(k, line(blocksFor(rows, blockThreads)), threads)
		return
	}
	blocks, block := rowGrid(rows, columns)
	q.launch(k, blocks, block)
}

// Total computes dst[0] = a Σ x, for a batch's losses. One block adds in float64 and in a fixed order. Total moves
// 4 bytes per element.
func (q *Queue) Total(dst []float32, a float32, x []float32) {
	if !q.equal("Total", "dst", len(dst), 1) {
		return
	}
	q.args.Reset()
	q.args.Pointer(pointer(dst))
	q.args.Pointer(pointer(x))
	q.args.U64(uint64(len(x)))
	q.args.F32(a)
	q.launch(total, line(1), threads)
}
