//go:build nvidia

package kernels

import (
	"testing"

	"github.com/psbench/psbench/cuda/driver"
)

// BenchmarkMean makes the device answer four trainers that share buckets of 256 MiB, like the server average.
// BenchmarkMean works in pieces of 4 MiB: each is averaged in place and copied to the three other trainers. In
// turn, the benchmark copies as much memory on the device. Both count bytes read and bytes written. The times come
// from events.
func BenchmarkMean(b *testing.B) {
	const trainers = 4
	n := benchmarked()
	piece := min(1<<20, n/2)
	q := begin(b)
	defer q.end()
	pushes := random(q, trainers, n)
	var due float32 // the mean that every push must end with
	for _, p := range pushes {
		due += fetched(q, p[n-1:])[0]
	}
	due *= 1. / trainers
	from, err := context.NewEvent(driver.EventOptions{Timing: true})
	q.must(err)
	to, err := context.NewEvent(driver.EventOptions{Timing: true})
	q.must(err)
	rate := func(bytes float64, work func()) float64 {
		q.must(from.Record(q.stream))
		work()
		q.must(to.Record(q.stream))
		q.must(to.Synchronize())
		q.must(q.Err())
		ms, err := driver.ElapsedMS(from, to)
		q.must(err)
		return bytes / float64(ms) * 1e3 / 1e9
	}
	answer := func() {
		parts := make([][]float32, trainers)
		for at := 0; at < n; at += piece {
			for i, p := range pushes {
				parts[i] = p[at : at+piece]
			}
			q.Mean(parts[0], parts)
			for _, other := range parts[1:] {
				q.Copy(other, parts[0])
			}
		}
	}
	answer()
	for i, p := range pushes {
		if got := fetched(q, p[n-1:])[0]; got != due {
			b.Fatalf("trainer %d is answered %v where the mean %v is due", i, got, due)
		}
	}
	meanBytes, copyBytes := float64(4*n*(trainers+1+2*(trainers-1))), float64(4*n*2)
	var means, copies []float64
	for b.Loop() {
		means = append(means, rate(meanBytes, answer))
		copies = append(copies, rate(copyBytes, func() { q.Copy(pushes[0], pushes[1]) }))
	}
	median, low, high := spread(means)
	medianCopy, lowCopy, highCopy := spread(copies)
	b.ReportMetric(0, "ns/op") // would count both kinds together
	b.ReportMetric(median, "GB/s")
	b.ReportMetric(medianCopy, "copy-GB/s")
	b.ReportMetric(100*median/medianCopy, "%-of-copy")
	b.Logf(
		"medians of %d, with the 10th and the 90th in 100: means %.4g (%.4g..%.4g) GB/s, copies %.4g (%.4g..%.4g) GB/s",
		len(means), median, low, high, medianCopy, lowCopy, highCopy)
	q.must(from.Destroy())
	q.must(to.Destroy())
}
