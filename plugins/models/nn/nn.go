// Package nn provides the layers of the built-in models on top of a BLAS engine. A layer holds parameters and
// settings, but never activations: the model owns the activations and passes them in. Matrices are row-major with
// one row per sample. The length of a slice determines its number of rows.
package nn

import (
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/plugins/models/blas"
)

// Linear is y = x Wᵀ + b.
type Linear struct {
	BLAS    blas.BLAS
	In, Out int
	Weight  []float32 // [Out, In]
	Bias    []float32 // [Out]
}

// Forward writes y [rows, Out] from x [rows, In].
func (l *Linear) Forward(y, x []float32) {
	rows := len(x) / l.In
	for i := range rows {
		copy(y[i*l.Out:], l.Bias)
	}
	l.BLAS.Gemm(false, true, rows, l.Out, l.In, 1, x, l.In, l.Weight, l.In, 1, y, l.Out)
}

// BiasGradient overwrites gradient [Out] with the sum of the rows of dy
// [rows, Out].
func (l *Linear) BiasGradient(gradient, dy []float32) {
	clear(gradient)
	for len(dy) > 0 {
		vec.Add(gradient, dy[:l.Out])
		dy = dy[l.Out:]
	}
}

// WeightGradient overwrites gradient [Out, In] with dyᵀ x, for dy [rows, Out] and the input x [rows, In] of
// Forward.
func (l *Linear) WeightGradient(gradient, dy, x []float32) {
	rows := len(x) / l.In
	l.BLAS.Gemm(true, false, l.Out, l.In, rows, 1, dy, l.Out, x, l.In, 0, gradient, l.In)
}

// InputGradient writes dx [rows, In] = dy W, for dy [rows, Out].
func (l *Linear) InputGradient(dx, dy []float32) {
	rows := len(dy) / l.Out
	l.BLAS.Gemm(false, false, rows, l.In, l.Out, 1, dy, l.Out, l.Weight, l.In, 0, dx, l.In)
}

// Softmax replaces every row of x [rows, classes] with its softmax.
func Softmax(x []float32, classes int) {
	for ; len(x) > 0; x = x[classes:] {
		vec.Softmax(x[:classes])
	}
}

// SoftmaxGradient writes dx = y (dy - Σ y dy), row by row, where y is the result of Softmax. All three are [rows,
// classes].
func SoftmaxGradient(dx, dy, y []float32, classes int) {
	for ; len(y) > 0; dx, dy, y = dx[classes:], dy[classes:], y[classes:] {
		vec.SoftmaxGradient(dx[:classes], dy[:classes], y[:classes])
	}
}
