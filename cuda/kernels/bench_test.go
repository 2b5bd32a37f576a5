//go:build nvidia

package kernels

import (
	"fmt"
	"slices"
	"testing"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
)

// timed runs a call b.N times and reports what the stream took, in bytes or operations per second.
func timed(b *testing.B, q *bench, unit string, per float64, call func()) {
	b.Helper()
	from, err := context.NewEvent(driver.EventOptions{Timing: true})
	q.must(err)
	to, err := context.NewEvent(driver.EventOptions{Timing: true})
	q.must(err)
	call()
	q.must(from.Record(q.stream))
	for b.Loop() {
		call()
	}
	q.must(to.Record(q.stream))
	q.must(to.Synchronize())
	q.must(q.Err())
	ms, err := driver.ElapsedMS(from, to)
	q.must(err)
	b.ReportMetric(per*float64(b.N)/float64(ms)*1e3/1e9, unit)
	q.must(from.Destroy())
	q.must(to.Destroy())
}

// spread is the median, and what a tenth of all are below and above.
func spread(all []float64) (median, low, high float64) {
	slices.Sort(all)
	at := func(percent int) float64 { return all[percent*(len(all)-1)/100] }
	return at(50), at(10), at(90)
}

func BenchmarkBandwidth(b *testing.B) {
	const n = 16 << 20 // 64 MiB
	q := begin(b)
	defer q.end()
	var x [4][]float32
	for i := range x {
		x[i] = place(q, make([]float32, n), 0)
	}
	b.Run("copy", func(b *testing.B) { timed(b, q, "GB/s", 8*n, func() { q.Copy(x[0], x[1]) }) })
	b.Run("mean of 4", func(b *testing.B) { timed(b, q, "GB/s", 20*n, func() { q.Mean(x[0], x[:]) }) })
	b.Run("axpy", func(b *testing.B) { timed(b, q, "GB/s", 12*n, func() { q.Axpy(1, x[0], x[1]) }) })
	b.Run("sgd", func(b *testing.B) { timed(b, q, "GB/s", 12*n, func() { q.SGD(x[0], x[1], 0.1, 0) }) })
	b.Run("adam", func(b *testing.B) { timed(b, q, "GB/s", 28*n, func() { q.Adam(x[0], x[1], x[2], x[3], step) }) })
	b.Run("column sum", func(b *testing.B) { timed(b, q, "GB/s", 4*n, func() { q.ColumnSum(x[0][:n/128], x[1]) }) })
	b.Run("softmax", func(b *testing.B) { timed(b, q, "GB/s", 8*n, func() { q.Softmax(x[0], 1024) }) })
}

// The layers of the default model, 1024 by 1024, at two sizes of a batch; and a large square.
func BenchmarkProducts(b *testing.B) {
	q := begin(b)
	defer q.end()
	const n = 4096
	x, y, z := place(q, make([]float32, n*n), 0), place(q, make([]float32, n*n), 0), place(q, make([]float32, n*n), 0)
	for _, c := range []struct {
		what           string
		m, n, k        int
		transA, transB bool
	}{
		{"forward, batch 10", 10, 1024, 1024, false, true},
		{"weight gradient, batch 10", 1024, 1024, 10, true, false},
		{"input gradient, batch 10", 10, 1024, 1024, false, false},
		{"forward, batch 128", 128, 1024, 1024, false, true},
		{"weight gradient, batch 128", 1024, 1024, 128, true, false},
		{"input gradient, batch 128", 128, 1024, 1024, false, false},
		{"square", n, n, n, false, false},
	} {
		b.Run(c.what, func(b *testing.B) {
			timed(b, q, "GFLOP/s", 2*float64(c.m*c.n*c.k), func() { q.Gemm(z, x, y, c.m, c.n, c.k, c.transA, c.transB) })
		})
	}
	if cublas, err := library.OpenCuBLAS(context); err != nil {
		b.Log(err)
	} else {
		defer func() { q.must(cublas.Close()) }()
		q.UseBLAS(cublas)
		for _, rows := range []int{10, 128, n} {
			b.Run(fmt.Sprintf("cuBLAS, forward, batch %d", rows), func(b *testing.B) {
				timed(b, q, "GFLOP/s", 2*float64(rows)*1024*1024, func() { q.Gemm(z, x, y, rows, 1024, 1024, false, true) })
			})
		}
	}
}
