//go:build nvidia

package kernels

import (
	"github.com/psbench/psbench/cuda/driver"
)

// Scale computes x = a x. Scale moves 8 bytes per element.
func (q *Queue) Scale(a float32, x []float32) {
	if q.err != nil || len(x) == 0 {
		return
	}
	blocks := q.sweep(len(x), pointer(x))
	q.args.F32(a)
	q.launch(scale, blocks, threads)
}

// Fill computes x = a. Fill moves 4 bytes per element.
func (q *Queue) Fill(x []float32, a float32) {
	if q.err != nil || len(x) == 0 {
		return
	}
	blocks := q.sweep(len(x), pointer(x))
	q.args.F32(a)
	q.launch(fill, blocks, threads)
}

// Add computes dst += src. Add moves 12 bytes per element.
func (q *Queue) Add(dst, src []float32) {
	if q.equal("Add", "src", len(src), len(dst)) {
		q.axpy(1, src, dst)
	}
}

// Axpy computes y = a x + y. If a is 0, y stays unchanged. Axpy moves 12 bytes per element.
func (q *Queue) Axpy(a float32, x, y []float32) {
	if q.equal("Axpy", "x", len(x), len(y)) && a != 0 {
		q.axpy(a, x, y)
	}
}

func (q *Queue) axpy(a float32, x, y []float32) {
	blocks := q.sweep(len(y), pointer(y), pointer(x))
	q.args.F32(a)
	q.launch(axpy, blocks, threads)
}

const partsPerLaunch = 16 // most parts per launch of Sum and Mean

// Sum computes dst = parts[0] + parts[1] + ..., added in that order. dst may be any of the first 16 parts. Sum
// moves 4 bytes per element for each part and for dst. Beyond 16 parts, each 15 further parts take one more launch
// and 8 more bytes.
func (q *Queue) Sum(dst []float32, parts [][]float32) { q.sum("Sum", dst, parts, 1) }

// Mean computes Sum and multiplies by the reciprocal of the number of parts.
func (q *Queue) Mean(dst []float32, parts [][]float32) {
	q.sum("Mean", dst, parts, 1/float32(len(parts)))
}

func (q *Queue) sum(call string, dst []float32, parts [][]float32, a float32) {
	if !q.atLeast(call, "parts", len(parts), 1) {
		return
	}
	for _, p := range parts {
		if !q.equal(call, "a part", len(p), len(dst)) {
			return
		}
	}
	for from := 0; q.err == nil && from < len(parts); {
		var arrays [1 + partsPerLaunch]driver.Pointer
		arrays[0] = pointer(dst)
		n := 0
		if from > 0 { // the sum of the earlier launches
			arrays[1], n = pointer(dst), 1
		}
		for ; n < partsPerLaunch && from < len(parts); n, from = n+1, from+1 {
			arrays[1+n] = pointer(parts[from])
		}
		for i := n; i < partsPerLaunch; i++ { // not read
			arrays[1+i] = arrays[1]
		}
		blocks := q.sweep(len(dst), arrays[:]...)
		q.u32(n)
		if from == len(parts) {
			q.args.F32(a)
		} else {
			q.args.F32(1)
		}
		q.launch(sum, blocks, threads)
	}
}

// ReLU replaces every negative element of x by 0, also -0, and keeps NaN. ReLU moves 8 bytes per element.
func (q *Queue) ReLU(x []float32) {
	if q.err != nil || len(x) == 0 {
		return
	}
	q.launch(relu, q.sweep(len(x), pointer(x)), threads)
}

// ReLUGradient sets the elements of gradient to 0 where y, the result of ReLU, is 0. ReLUGradient moves 12 bytes
// per element.
func (q *Queue) ReLUGradient(gradient, y []float32) {
	if q.equal("ReLUGradient", "y", len(y), len(gradient)) {
		q.launch(reluGradient, q.sweep(len(gradient), pointer(gradient), pointer(y)), threads)
	}
}
