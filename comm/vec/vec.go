// Package vec holds the kernels of models, optimizers, servers and the data
// plane. They use the vector instructions that internal/simd chose, and allocate
// nothing.
//
// The slices of one call must have equal length, unless the kernel says otherwise, and
// must not overlap; the kernels do not promise what happens otherwise, except that
// they stay inside their slices.
//
// Except in SumSquares, Softmax and SoftmaxGradient, what is written to an element
// depends on that element's inputs alone, never on its position, so that cutting a
// slice into pieces gives the same bits. Add, AddBoth, Scale, ReLU, ReLUGradient, GatherSum,
// GatherRows and the kernels of other types than float32 give the same bits at every level. The others
// fuse multiplication and addition, or sum in as many lanes as the level has, so levels differ in the last bits.
package vec

import (
	"math"

	"github.com/psbench/psbench/internal/simd"
)

//go:generate go run -C asm . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg vec

// level is what the kernels use. Tests go through all that the machine has.
var level = chosen()

// chosen leaves it to the core to report a level that cannot be.
func chosen() simd.Level {
	l, err := simd.Chosen()
	if err != nil {
		return simd.Portable
	}
	return l
}

// Add does dst[i] += src[i].
func Add(dst, src []float32) { add(dst, src[:len(dst)]) }

// AddBoth does x[i] = y[i] = (x[i]+y[i])*a, with the bits of Add, Scale and a copy.
func AddBoth(a float32, x, y []float32) { addBoth(a, x, y[:len(x)]) }

// Scale does x[i] *= a.
func Scale(a float32, x []float32) { scale(a, x) }

// Axpy does y[i] += a*x[i]. An a of 0 leaves y as it is, even where x is not
// finite.
func Axpy(a float32, x, y []float32) {
	if a != 0 {
		axpy(a, x[:len(y)], y)
	}
}

// SumSquares is Σ x[i]², summed in several lanes. Lanes and so the rounding depend on the
// level and the length.
func SumSquares(x []float32) float32 { return dot(x, x) }

// Copy does dst[i] = src[i]. Where src lies beyond the second-level cache it takes about 4/5 of the
// time of the built-in copy on a Xeon; on an EPYC, and in the caches, it takes as long.
func Copy(dst, src []float32) {
	src = src[:len(dst)]
	whole := len(dst) &^ (sideElements - 1)
	copyPages(dst[:whole], src[:whole])
	copy(dst[whole:], src[whole:])
}

// sideElements is what copyPages takes side by side, four pages of 4 KiB.
const sideElements = 4 << 10

// finiteBlock is how many values AllFinite looks at before it may stop.
const finiteBlock = 4096

// AllFinite says whether x has no NaN and no infinite value.
func AllFinite(x []float32) bool {
	const exponent, one = 0x7f800000, 1 << 23
	for len(x) > 0 {
		block := x[:min(len(x), finiteBlock)]
		x = x[len(block):]
		// One added to an exponent of all ones, which no finite value has, carries into the
		// sign.
		carried := uint32(0)
		for _, v := range block {
			carried |= math.Float32bits(v)&exponent + one
		}
		if carried>>31 != 0 {
			return false
		}
	}
	return true
}
