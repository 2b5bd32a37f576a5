package data

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// clicks returns samples with 13 numbers each and one index into each of 26 tables.
func clicks(n int) (*sdk.Samples, sdk.InputSpec) {
	in := sdk.InputSpec{Features: 13, Classes: 2}
	for range 26 {
		in.Tables = append(in.Tables, 1000)
	}
	s := &sdk.Samples{}
	bag := make([]int64, 26)
	for i := range n {
		for k := range bag {
			bag[k] = int64(i*k) % 1000
		}
		s.Append(bag, int64(i%2))
	}
	s.Features = make([]float32, 13*n)
	return s, in
}

// BenchmarkStreamedBatch measures the cost of a batch if nothing is computed between two batches.
// BenchmarkStreamedBatch also measures how long a trainer waits for a batch that was read ahead.
func BenchmarkStreamedBatch(b *testing.B) {
	s, in := clicks(64 * 128)
	r, takers := dataOf(b, hosttest.NewTape(s), "shm", hosttest.Patience, 1)
	partition, err := r.Partition(request(in, 128, 1))
	hosttest.Must(b, err)
	fetch(b, r, takers, in, partition)
	stream := takers[0].Batches
	first, err := stream.Next()
	hosttest.Must(b, err)
	if d := cmp.Diff(batches.CutEvery(&s.Batch, 128)[0], *first, cmpopts.EquateEmpty()); d != "" {
		b.Fatal(d)
	}
	n := batches.LengthsOf(first)
	b.Run("back to back", func(b *testing.B) {
		b.SetBytes(n.Bytes())
		b.ReportAllocs()
		for b.Loop() {
			_, err := stream.Next()
			hosttest.Must(b, err)
		}
	})
	b.Run("read ahead", func(b *testing.B) {
		var waitsNS []int64
		for b.Loop() {
			for start := comm.Now(); comm.Now()-start < int64(time.Millisecond); { // stands for a short training step
			}
			start := comm.Now()
			_, err := stream.Next()
			hosttest.Must(b, err)
			waitsNS = append(waitsNS, comm.Now()-start)
		}
		slices.Sort(waitsNS)
		b.ReportMetric(float64(waitsNS[len(waitsNS)/2]), "p50-ns")
		b.ReportMetric(float64(waitsNS[len(waitsNS)*95/100]), "p95-ns")
	})
}

// BenchmarkCheck measures the cost of checking a batch's samples. Every reading of a batch checks
// its samples.
func BenchmarkCheck(b *testing.B) {
	s, in := clicks(128)
	c := batches.Checker{In: in}
	for b.Loop() {
		hosttest.Must(b, c.Check(&s.Batch))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(128*b.N), "ns/sample")
}
