package blas

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/simd"
	"github.com/psbench/psbench/plugins/models/blas/native"
)

// BenchmarkGemm runs the products of a linear layer of 1024 x 1024 for one batch. The engines take turns, so that
// other load on the machine affects all equally. For each engine, it reports GFLOP/s of the fastest and of the
// median repetition. An iteration is one round of all engines: run it with -benchtime 5x.
func BenchmarkGemm(b *testing.B) {
	for _, batch := range []int{10, 128, 1024} {
		for _, shape := range []shape{
			{"output", false, true, batch, 1024, 1024},
			{"input", false, false, batch, 1024, 1024},
			{"weight", true, false, 1024, 1024, batch},
		} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("batch=%d/%s/threads=%d", batch, shape.name, threads),
					func(b *testing.B) { benchGemm(b, shape, threads) })
			}
		}
	}
}

func benchGemm(b *testing.B, s shape, threads int) {
	engines := map[string]BLAS{}
	for _, name := range []string{OpenBLAS, Gonum} {
		if engine, err := Open(name, threads); err == nil {
			engines[name] = engine
		}
	}
	for _, level := range simd.Available() {
		engines[level.String()] = nativeBLAS{native.New(level, threads)}
	}
	m := newOperands(s)
	times := map[string][]time.Duration{}
	for name, engine := range engines {
		m.multiply(engine)
		if err := m.check(); err != nil {
			b.Fatalf("%s: %v", name, err)
		}
	}
	for b.Loop() {
		for name, engine := range engines {
			// A library's threads may spin for a while after a product.
			time.Sleep(time.Duration(threads-1) * 50 * time.Millisecond)
			for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
				start := time.Now()
				m.multiply(engine)
				times[name] = append(times[name], time.Since(start))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for name, t := range times {
		slices.Sort(t)
		flops := float64(2 * s.m * s.n * s.k)
		b.ReportMetric(flops/float64(t[0]), name+"-GFLOP/s")
		b.ReportMetric(flops/float64(t[len(t)/2]), name+"-median")
	}
}

// shape is one matrix product of a layer.
type shape struct {
	name           string
	transA, transB bool
	m, n, k        int
}

// operands are the matrices of one product.
type operands struct {
	shape
	x, y, c  []float32
	lda, ldb int
}

func newOperands(s shape) *operands {
	o := &operands{shape: s, x: values(1, s.m*s.k), y: values(2, s.k*s.n), c: make([]float32, s.m*s.n), lda: s.k,
		ldb: s.n}
	if s.transA {
		o.lda = s.m
	}
	if s.transB {
		o.ldb = s.k
	}
	return o
}

func (o *operands) multiply(engine BLAS) {
	engine.Gemm(o.transA, o.transB, o.m, o.n, o.k, 1, o.x, o.lda, o.y, o.ldb, 0, o.c, o.n)
}

// check compares some elements of the product with sums computed directly.
func (o *operands) check() error {
	for i := 0; i < o.m; i += max(1, o.m/8) {
		for j := 0; j < o.n; j += 7 {
			var want float64
			for l := range o.k {
				want += float64(o.x[at(o.transA, i, l, o.lda)]) * float64(o.y[at(o.transB, l, j, o.ldb)])
			}
			if got := o.c[i*o.n+j]; !(math.Abs(float64(got)-want) <= 1e-5*float64(o.k)) {
				return fmt.Errorf("c[%d,%d] is %g, want %g", i, j, got, want)
			}
		}
	}
	return nil
}

// at returns the index of element (row, column).
func at(transposed bool, row, column, stride int) int {
	if transposed {
		return column*stride + row
	}
	return row*stride + column
}
