package native

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/simd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engines returns engines for every level of this machine, with several numbers of threads. All threads get work
// even for small products.
func engines() []*Engine {
	var out []*Engine
	for _, level := range simd.Available() {
		for _, threads := range []int{1, 2, 5} {
			e := New(level, threads)
			e.share = 1
			out = append(out, e)
		}
	}
	return out
}

func TestGemm(t *testing.T) {
	engines := engines()
	size := rapid.OneOf(rapid.IntRange(1, 9), rapid.IntRange(10, 140))
	rapid.Check(t, func(t *rapid.T) {
		check(t, engines, draw(t, size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k")))
	})
}

// The products are large enough to be cut into blocks of each kind.
func TestGemmBlocks(t *testing.T) {
	engines := engines()
	for i, sizes := range [][3]int{
		{blockRows + 5, 35, 5},
		{70, blockColumns + 3, 11},
		{77, 5, 2*blockDepth + 9},
		{9, 35, 3*inPlaceDepth + 5},
		{7, 6, dotDepth + 13},
		{1, 1, dotDepth + 1},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			for transposes := range 4 {
				check(t, engines, operands{
					transA: transposes&1 != 0, transB: transposes&2 != 0,
					m: sizes[0], n: sizes[1], k: sizes[2], padA: 1, padC: 2, alpha: 2, beta: float32(transposes) - 1,
				})
			}
		})
	}
}

// FuzzGemm tests arbitrary shapes, strides and factors. Factors are multiples of one half, so that the result is
// exact.
func FuzzGemm(f *testing.F) {
	f.Add(uint8(10), uint8(33), uint8(17), uint8(0), uint8(2), int8(2), int8(0))
	f.Add(uint8(1), uint8(1), uint8(1), uint8(3), uint8(0), int8(-3), int8(1))
	f.Add(uint8(130), uint8(97), uint8(65), uint8(1), uint8(1), int8(0), int8(127))
	engines := engines()
	f.Fuzz(func(t *testing.T, m, n, k, transposes, pad uint8, alpha, beta int8) {
		check(t, engines, operands{
			transA: transposes&1 != 0, transB: transposes&2 != 0,
			m: max(1, int(m)), n: max(1, int(n)), k: max(1, int(k)),
			padA: int(pad & 3), padB: int(pad >> 2 & 3), padC: int(pad >> 4 & 3), shift: int(pad >> 6),
			alpha: float32(alpha) / 2, beta: float32(beta) / 2,
		})
	})
}

// operands describe a product. The pads are gaps between the rows of a matrix; shift is the offset of each matrix
// in its memory.
type operands struct {
	transA, transB          bool
	m, n, k                 int
	padA, padB, padC, shift int
	alpha, beta             float32
}

func draw(t *rapid.T, m, n, k int) operands {
	factor := rapid.SampledFrom([]float32{0, 1, -0.5, 2})
	pad := rapid.IntRange(0, 3)
	return operands{
		transA: rapid.Bool().Draw(t, "transA"), transB: rapid.Bool().Draw(t, "transB"),
		m: m, n: n, k: k,
		padA: pad.Draw(t, "padA"), padB: pad.Draw(t, "padB"), padC: pad.Draw(t, "padC"), shift: pad.Draw(t, "shift"),
		alpha: factor.Draw(t, "alpha"), beta: factor.Draw(t, "beta"),
	}
}

// matrix is rows of numbers in memory full of NaN, so that reading outside the rows spoils the result. The numbers
// are small integers, so sums of products are exact in any order.
type matrix struct {
	memory        []float32
	rows, columns int
	ld, shift     int
}

func newMatrix(seed uint32, rows, columns, pad, shift int) matrix {
	x := matrix{make([]float32, shift+rows*(columns+pad)+16), rows, columns, columns + pad, shift}
	for i := range x.memory {
		x.memory[i] = float32(math.NaN())
	}
	for i := range rows {
		for j := range columns {
			seed = seed*1664525 + 1013904223
			x.elements()[i*x.ld+j] = float32(seed>>24%9) - 4
		}
	}
	return x
}

func transposable(seed uint32, trans bool, rows, columns, pad, shift int) matrix {
	if trans {
		rows, columns = columns, rows
	}
	return newMatrix(seed, rows, columns, pad, shift)
}

func (x matrix) elements() []float32 { return x.memory[x.shift:] }

func (x matrix) at(trans bool, i, j int) float64 {
	if trans {
		i, j = j, i
	}
	return float64(x.elements()[i*x.ld+j])
}

// check compares each engine's product with the result of three plain loops.
func check(t rapid.TB, engines []*Engine, o operands) {
	t.Helper()
	a := transposable(1, o.transA, o.m, o.k, o.padA, o.shift)
	b := transposable(2, o.transB, o.k, o.n, o.padB, o.shift)
	c := newMatrix(3, o.m, o.n, o.padC, o.shift)
	if o.beta == 0 {
		for i := range c.memory {
			c.memory[i] = float32(math.NaN())
		}
	}
	want := slices.Clone(c.memory)
	for i := range o.m {
		for j := range o.n {
			var sum float64
			for l := range o.k {
				sum += a.at(o.transA, i, l) * b.at(o.transB, l, j)
			}
			sum *= float64(o.alpha)
			if o.beta != 0 {
				sum += float64(o.beta) * c.at(false, i, j)
			}
			want[c.shift+i*c.ld+j] = float32(sum)
		}
	}
	for _, e := range engines {
		got := slices.Clone(c.memory)
		e.Gemm(o.transA, o.transB, o.m, o.n, o.k, o.alpha, a.elements(), a.ld, b.elements(), b.ld, o.beta,
			got[c.shift:], c.ld)
		for i, x := range got {
			if x != want[i] && !(math.IsNaN(float64(x)) && math.IsNaN(float64(want[i]))) {
				t.Fatalf("%s with %d threads, %+v: c[%d,%d] is %g, want %g", e.Level(), e.Threads(), o,
					(i-c.shift)/c.ld, (i-c.shift)%c.ld, x, want[i])
			}
		}
	}
}

func TestGemmAllocatesNothing(t *testing.T) {
	for _, e := range engines() {
		const n = 75
		x, c := newMatrix(1, n, n, 0, 0).elements(), make([]float32, n*n)
		for _, m := range []int{10, n} {
			for _, transB := range []bool{false, true} {
				allocs := testing.AllocsPerRun(20, func() {
					e.Gemm(false, transB, m, n, n, 1, x, n, x, n, 0, c, n)
				})
				if allocs > 0 {
					t.Errorf(
						"%s with %d threads: a product of %d rows, b transposed %t, makes %g allocations, want none",
						e.Level(), e.Threads(), m, transB, allocs)
				}
			}
		}
	}
}

// The rectangles of the grid cover c exactly once, and their number does not exceed the reported count.
func TestGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n := rapid.IntRange(1, 3000).Draw(t, "m"), rapid.IntRange(1, 3000).Draw(t, "n")
		workers, columns := rapid.IntRange(1, 100).Draw(t, "workers"), rapid.SampledFrom([]int{4, 16, 32}).Draw(t,
			"columns")
		g := gridOf(m, n, workers, columns)
		if g.height*g.down < m || g.height*(g.down-1) >= m || g.width*g.across < n || g.width*(g.across-1) >= n {
			t.Fatalf("%+v does not cover %d x %d elements without empty rectangles", g, m, n)
		}
		if g.across > 1 && g.width%columns != 0 {
			t.Fatalf("%+v cuts vectors of %d", g, columns)
		}
	})
}
