//go:build nvidia

package kernels

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
)

// productCase is a range of product shapes and the kernels that they use.
type productCase struct {
	name    string
	m, n, k [2]int // from, to
	kernels []kernel
}

var productCases = []productCase{
	{"few rows", [2]int{1, fewRows}, [2]int{1, 40}, [2]int{1, 300}, []kernel{gemmFewN, gemmFewT}},
	{"few columns", [2]int{fewRows + 1, 70}, [2]int{1, fewColumns}, [2]int{1, 200}, []kernel{gemmFewN, gemmFewT}},
	{"tiles", [2]int{fewRows + 1, 140}, [2]int{fewColumns + 1, 140}, [2]int{1, 40},
		[]kernel{gemmNN, gemmNT, gemmTN, gemmTT}},
	{"parts", [2]int{fewRows + 1, 70}, [2]int{fewColumns + 1, 70}, [2]int{2 * leastDepth, 2*leastDepth + 90},
		[]kernel{gemmParts}},
}

// at returns element (i, j) of op(x).
func at(x Matrix, transposed bool, i, j int) float64 {
	if transposed {
		i, j = j, i
	}
	return float64(x.Data[i*x.Stride+j])
}

// checkProduct compares with float64 sums. Each of k float32 roundings errs by at most half a unit of the sum so
// far, and a few further roundings follow.
func checkProduct(t tester, c Matrix, a, b Matrix, m, n, k int, transA, transB bool, finish func(v float64,
	j int) float64) {
	t.Helper()
	for i := range m {
		for j := range n {
			var want, size float64
			for p := range k {
				v := at(a, transA, i, p) * at(b, transB, p, j)
				want, size = want+v, size+math.Abs(v)
			}
			want = finish(want, j)
			bound := float64(k+3) * 0x1p-24 * (size + math.Abs(want))
			if got := float64(c.Data[i*c.Stride+j]); !(math.Abs(got-want) <= bound) && !(got != got && want != want) {
				t.Fatalf("element (%d, %d) of [%d, %d], k %d, is %.9g, want %.9g", i, j, m, n, k, got, want)
			}
		}
	}
}

// matrix draws a matrix with gaps between its rows.
func (r numbers) matrix(t *rapid.T, rows, columns int) Matrix {
	stride := columns + rapid.SampledFrom([]int{0, 0, 1, (4 - columns%4) % 4, 5}).Draw(t, "room")
	return Matrix{r.floats(max(1, rows*stride)), stride}
}

func draw(t *rapid.T, what string, of [2]int) int {
	v := rapid.IntRange(of[0], of[1]).Draw(t, what)
	if rapid.Bool().Draw(t, "whole") {
		v = min((v+15)&^15, of[1])
	}
	return v
}

func TestProducts(t *testing.T) {
	for _, c := range productCases {
		var taken [kernelCount]int64
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			b := begin(t)
			defer b.end()
			r := drawNumbers(t)
			r.special = false
			m, n, k := draw(t, "m", c.m), draw(t, "n", c.n), draw(t, "k", c.k)
			transA, transB := rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB")
			x, y := r.matrix(t, width(m, k, transA), width(k, m, transA)), r.matrix(t, width(k, n, transB),
				width(n, k, transB))
			z := r.matrix(t, m, n)
			before := append([]float32(nil), z.Data...)
			offset := offsets(t, 3)
			put := func(x Matrix, i int) Matrix { return Matrix{place(b, x.Data, offset[i]), x.Stride} }
			device := put(z, 0)
			b.GemmStrided(device, put(x, 1), put(y, 2), m, n, k, transA, transB)
			z.Data = fetched(b, device.Data)
			for kernel, n := range b.of {
				taken[kernel] += n
			}
			checkProduct(t, z, x, y, m, n, k, transA, transB, func(v float64, _ int) float64 { return v })
			for i, v := range z.Data {
				if i%z.Stride >= n && v != before[i] {
					t.Fatalf("element %d, which is beyond the %d columns, was written", i, n)
				}
			}
		}))
		for _, k := range c.kernels {
			if taken[k] == 0 {
				t.Errorf("%s never took kernel %s", c.name, names[k])
			}
		}
	}
}

// multiplier is a BLAS that uses the kernels.
type multiplier struct {
	*Queue
	calls int
}

func (m *multiplier) Sgemm(s *driver.Stream, transA, transB bool, rows, n, k int, alpha float32, a driver.Pointer,
	lda int, b driver.Pointer, ldb int,
	beta float32, c driver.Pointer, ldc int,
) error {
	if s != m.stream || alpha != 1 || beta != 0 {
		return fmt.Errorf("unexpected arguments")
	}
	m.calls++
	m.tiled(product{c: c, a: a, b: b, ldc: ldc, lda: lda, ldb: ldb, m: rows, n: n, k: k, transA: transA,
		transB: transB})
	return m.Err()
}

// Release implements BLAS.
func (m *multiplier) Release(*driver.Stream) error { return nil }

func TestLinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r := drawNumbers(t)
		r.special = false
		c := rapid.SampledFrom(productCases).Draw(t, "case")
		rows, out, in := draw(t, "rows", c.m), draw(t, "out", c.n), draw(t, "in", c.k)
		relu := rapid.Bool().Draw(t, "relu")
		x, w, bias := r.floats(rows*in), r.floats(out*in), r.floats(out)
		y := place(b, make([]float32, rows*out), 1)
		blas := &multiplier{Queue: loaded.On(b.stream)}
		defer func() { b.must(blas.Close()) }()
		if rapid.Bool().Draw(t, "by a BLAS") {
			b.UseBLAS(blas)
		}
		b.Linear(y, place(b, x, 0), place(b, w, 0), place(b, bias, 1), rows, in, out, relu)
		if got := fetched(b, y); b.blas == nil || blas.calls == 1 {
			checkProduct(t, Matrix{got, out}, Matrix{x, in}, Matrix{w, in}, rows, out, in, false, true,
				func(v float64, j int) float64 {
					if v += float64(bias[j]); relu {
						v = max(v, 0)
					}
					return v
				})
		} else {
			t.Fatal("the BLAS was not asked")
		}
	})
}

// The test runs cuBLAS, if it is installed, on all kinds of products.
func TestCuBLAS(t *testing.T) {
	cublas, err := library.OpenCuBLAS(context)
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := cublas.Close(); err != nil {
			t.Error(err)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		b.UseBLAS(cublas)
		r := drawNumbers(t)
		r.special = false
		c := rapid.SampledFrom(productCases).Draw(t, "case")
		m, n, k := draw(t, "m", c.m), draw(t, "n", c.n), draw(t, "k", c.k)
		transA, transB := rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB")
		x, y := r.matrix(t, width(m, k, transA), width(k, m, transA)), r.matrix(t, width(k, n, transB),
			width(n, k, transB))
		z := place(b, make([]float32, m*n), 0)
		b.GemmStrided(Matrix{z, n}, Matrix{place(b, x.Data, 0), x.Stride}, Matrix{place(b, y.Data, 0), y.Stride}, m, n,
			k, transA, transB)
		checkProduct(t, Matrix{fetched(b, z), n}, x, y, m, n, k, transA, transB,
			func(v float64, _ int) float64 { return v })
	})
}

func TestWhatMultipliesIsChosen(t *testing.T) {
	there := &library.CuBLAS{}
	for _, c := range []struct {
		chosen     string
		there      bool
		found      *library.CuBLAS
		why, wrong string
	}{
		{chosen: "", there: true, found: there},
		{chosen: "", why: "no cuBLAS: it is too new"},
		{chosen: CuBLAS, there: true, found: there},
		{chosen: CuBLAS, wrong: "PSBENCH_CUDA_GEMM is cublas but there is no cuBLAS: it is too new"},
		{chosen: Own, there: true, why: "PSBENCH_CUDA_GEMM is kernels"},
		{chosen: "mkl", there: true, wrong: `PSBENCH_CUDA_GEMM is "mkl" but must be cublas, kernels or unset`},
	} {
		found, why, err := openBLAS(c.chosen, func() (*library.CuBLAS, error) {
			if c.there {
				return there, nil
			}
			return nil, errors.New("no cuBLAS: it is too new")
		})
		if wrong := err != nil; found != c.found || why != c.why || wrong != (c.wrong != "") ||
			wrong && err.Error() != c.wrong {
			t.Errorf("%q, where cuBLAS is there: %v, gives %v, %q, %v", c.chosen, c.there, found, why, err)
		}
	}
	t.Setenv(Variable, "mkl")
	if _, err := Load(context); err == nil ||
		err.Error() != `PSBENCH_CUDA_GEMM is "mkl" but must be cublas, kernels or unset` {
		t.Errorf("kernels load with %v", err)
	}
}

// A product with an inner dimension of 0 is 0. A product without rows writes nothing.
func TestProductsOfNothing(t *testing.T) {
	b := begin(t)
	defer b.end()
	for _, n := range [][2]int{{3, 5}, {40, 5}, {40, 40}} {
		c := place(b, make([]float32, n[0]*n[1]), 0)
		b.Fill(c, 7)
		b.Gemm(c, nil, nil, n[0], n[1], 0, false, true)
		same(t, "c", fetched(b, c), make([]float32, len(c)))
	}
	before := b.Launches()
	b.Gemm(nil, nil, nil, 0, 5, 3, false, false)
	if b.must(b.Err()); b.Launches() != before {
		t.Error("a product of no rows was launched")
	}
}

// A value that is not finite affects only its row and its column.
func TestProductsOfNaN(t *testing.T) {
	for _, s := range [][3]int{{5, 20, 30}, {40, 10, 30}, {40, 40, 30}, {40, 40, 300}} {
		b := begin(t)
		m, n, k := s[0], s[1], s[2]
		x, y := make([]float32, m*k), make([]float32, k*n)
		fillWith(x, 1)
		fillWith(y, 1)
		x[3*k+7], y[5*n+2] = float32(math.NaN()), float32(math.Inf(1))
		c := place(b, make([]float32, m*n), 0)
		b.Gemm(c, place(b, x, 0), place(b, y, 0), m, n, k, false, false)
		want := make([]float32, m*n)
		fillWith(want, float32(k))
		for i := range m {
			want[i*n+2] = float32(math.Inf(1))
		}
		fillWith(want[3*n:4*n], float32(math.NaN()))
		same(t, "c", fetched(b, c), want)
		b.end()
	}
}
