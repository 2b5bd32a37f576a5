// Package vec holds the float32 kernels of the data plane. They use SIMD where
// the processor has it and allocate nothing.
//
// The slices of one call must have equal length and must not overlap; the
// kernels do not promise what happens otherwise.
package vec

import (
	"github.com/viterin/vek/vek32"
	"gonum.org/v1/gonum/blas/gonum"
)

// Add does dst[i] += src[i].
func Add(dst, src []float32) { vek32.Add_Inplace(dst, src) }

// Scale does x[i] *= a.
func Scale(a float32, x []float32) { vek32.MulNumber_Inplace(x, a) }

// Axpy does y[i] += a*x[i]. An a of 0 leaves y as it is, even where x is not
// finite.
func Axpy(a float32, x, y []float32) {
	gonum.Implementation{}.Saxpy(len(y), a, x, 1, y, 1)
}
