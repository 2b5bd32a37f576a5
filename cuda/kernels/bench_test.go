//go:build nvidia

package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
)

// timed runs a call b.N times and reports the stream's rate, in bytes or operations per second.
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

// spread returns the median and the 10th and 90th percentiles.
func spread(all []float64) (median, low, high float64) {
	slices.Sort(all)
	at := func(percent int) float64 { return all[percent*(len(all)-1)/100] }
	return at(50), at(10), at(90)
}

// benchmarked returns the number of elements of a benchmark's array: 256 MiB, several times a card's cache. In
// short mode it returns few, enough to show that the benchmark works.
func benchmarked() int {
	if testing.Short() {
		return 1 << 16
	}
	return 64 << 20
}

// random returns arrays of n random elements from 0 to below 1, because a card is faster with zeros.
func random(q *bench, arrays, n int) (placed [][]float32) {
	host, r := make([]float32, n), rand.New(rand.NewPCG(3, 0))
	for range arrays {
		for i := range host {
			host[i] = r.Float32()
		}
		placed = append(placed, place(q, host, 0))
	}
	return placed
}

func BenchmarkBandwidth(b *testing.B) {
	n := benchmarked()
	q := begin(b)
	defer q.end()
	x := random(q, 4, n)
	bytes := func(each int) float64 { return float64(each * n) }
	b.Run("copy", func(b *testing.B) { timed(b, q, "GB/s", bytes(8), func() { q.Copy(x[0], x[1]) }) })
	b.Run("mean of 4", func(b *testing.B) { timed(b, q, "GB/s", bytes(20), func() { q.Mean(x[0], x) }) })
	b.Run("axpy", func(b *testing.B) { timed(b, q, "GB/s", bytes(12), func() { q.Axpy(1, x[0], x[1]) }) })
	b.Run("sgd", func(b *testing.B) { timed(b, q, "GB/s", bytes(12), func() { q.SGD(x[0], x[1], 0.1, 0) }) })
	b.Run("adam",
		func(b *testing.B) { timed(b, q, "GB/s", bytes(28), func() { q.Adam(x[0], x[1], x[2], x[3], step) }) })
	b.Run("column sum",
		func(b *testing.B) { timed(b, q, "GB/s", bytes(4), func() { q.ColumnSum(x[0][:n/128], x[1]) }) })
	b.Run("softmax", func(b *testing.B) { timed(b, q, "GB/s", bytes(8), func() { q.Softmax(x[0], 1024) }) })
}

// The layers of the default model, 1024 by 1024, at two batch sizes, and a large square. Each run uses other
// matrices, so that no cache holds them.
func BenchmarkProducts(b *testing.B) {
	n, layer := benchmarked(), 1024
	if testing.Short() {
		layer = 64
	}
	square := 4 * layer
	q := begin(b)
	defer q.end()
	x := random(q, 3, n)
	products := func(b *testing.B, m, n, k int, transA, transB bool) {
		most := max(m*n, n*k, m*k)
		at := 0
		timed(b, q, "GFLOP/s", 2*float64(m*n*k), func() {
			q.Gemm(x[0][at:at+m*n], x[1][at:at+m*k], x[2][at:at+n*k], m, n, k, transA, transB)
			if at += most; at+most > len(x[0]) {
				at = 0
			}
		})
	}
	for _, c := range []struct {
		what           string
		m, n, k        int
		transA, transB bool
	}{
		{"forward, batch 10", 10, layer, layer, false, true},
		{"weight gradient, batch 10", layer, layer, 10, true, false},
		{"input gradient, batch 10", 10, layer, layer, false, false},
		{"forward, batch 128", 128, layer, layer, false, true},
		{"weight gradient, batch 128", layer, layer, 128, true, false},
		{"input gradient, batch 128", 128, layer, layer, false, false},
		{"square", square, square, square, false, false},
	} {
		b.Run(c.what, func(b *testing.B) { products(b, c.m, c.n, c.k, c.transA, c.transB) })
	}
	if cublas, err := library.OpenCuBLAS(context); err != nil {
		b.Log(err)
	} else {
		defer func() { q.must(cublas.Close()) }()
		q.UseBLAS(cublas)
		for _, rows := range []int{10, 128, square} {
			b.Run(fmt.Sprintf("cuBLAS, forward, batch %d", rows),
				func(b *testing.B) { products(b, rows, layer, layer, false, true) })
		}
	}
}
