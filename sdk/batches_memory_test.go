package sdk

import (
	"testing"

	"github.com/psbench/psbench/comm"
)

// linkPair is a call link between a trainer and another process.
func linkPair(t testing.TB) (trainer, companion *callLink) {
	a, b := pair(t)
	return &callLink{Conn: a}, &callLink{Conn: b}
}

// Batches of any sizes come as they are, each in the place of the one before.
func TestBatchMemoryGrows(t *testing.T) {
	trainer, data := linkPair(t)
	var m batchMemory
	for _, samples := range []int{1, 700, 3, 0, 5000, 2} {
		b := bags(samples).Batch
		sent := make(chan error, 1)
		go func() { sent <- sendBatch(data, opBatch, &b) }()
		var h comm.Header
		must(t, expect(trainer, &h, opBatch))
		must(t, m.read(trainer, &h))
		must(t, <-sent)
		if m.Size() != samples || samples > 0 && (m.Targets[samples-1] != b.Targets[samples-1] || m.Indices[len(m.Indices)-1] != b.Indices[len(b.Indices)-1]) {
			t.Errorf("a batch of %d came as one of %d", samples, m.Size())
		}
	}
	must(t, m.Close())
	must(t, m.Close())
}

// The frames are sent before, so that only what the trainer does is counted.
func TestTakingStreamedBatchesAllocatesNothing(t *testing.T) {
	trainer, data := pair(t)
	stream := newBatchStream(trainer, 1, patience, func(batches []Batch) ([]Batch, error) { return batches, nil })
	done, served := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		stream.serve(done)
	}()
	b, link := bags(4).Batch, &callLink{Conn: data}
	next := func() {
		got, err := stream.Next()
		must(t, err)
		if got.Size() != 4 {
			t.Fatalf("a batch of 4 came as one of %d", got.Size())
		}
	}
	for range 2 * (aheadBatches + usedBatches) {
		must(t, sendBatch(link, opBatch, &b))
		next()
	}
	// The average is rounded down, and some batches were read ahead before: a run takes
	// several, so that one allocation for each cannot hide.
	const runs, each = 20, 5
	for range (runs + 1) * each {
		must(t, sendBatch(link, opBatch, &b))
	}
	n := testing.AllocsPerRun(runs, func() {
		for range each {
			next()
		}
	})
	if n != 0 {
		t.Errorf("%d batches take %v allocations", each, n)
	}
	close(done)
	must(t, data.Close())
	<-served
	must(t, stream.Close())
}
