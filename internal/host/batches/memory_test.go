package batches

import (
	"testing"

	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// linkPair returns both ends of a call link between a trainer and another process.
func linkPair(t testing.TB) (trainer, companion *call.Link) {
	a, b := hosttest.Pair(t)
	return &call.Link{Conn: a}, &call.Link{Conn: b}
}

// Batches of any size arrive unchanged, each in the memory of the previous batch.
func TestBatchMemoryGrows(t *testing.T) {
	trainer, data := linkPair(t)
	var m Memory
	for _, samples := range []int{1, 700, 3, 0, 5000, 2} {
		b := hosttest.Bags(samples).Batch
		sent := make(chan error, 1)
		go func() { sent <- Send(data, OpBatch, &b) }()
		var h wire.Header
		hosttest.Must(t, call.Expect(trainer, &h, OpBatch))
		hosttest.Must(t, m.Read(trainer, &h))
		hosttest.Must(t, <-sent)
		if m.Size() != samples ||
			samples > 0 &&
				(m.Targets[samples-1] != b.Targets[samples-1] ||
					m.Indices[len(m.Indices)-1] != b.Indices[len(b.Indices)-1]) {
			t.Errorf("a batch of %d came as one of %d", samples, m.Size())
		}
	}
	hosttest.Must(t, m.Close())
	hosttest.Must(t, m.Close())
}

// The frames are sent beforehand, so that the test counts only the trainer's allocations.
func TestTakingStreamedBatchesAllocatesNothing(t *testing.T) {
	trainer, data := hosttest.Pair(t)
	stream := newStream(trainer, 1, hosttest.Patience, func(batches []sdk.Batch) ([]sdk.Batch, error) {
		return batches, nil
	})
	done, served := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		stream.serve(done)
	}()
	b, link := hosttest.Bags(4).Batch, &call.Link{Conn: data}
	next := func() {
		got, err := stream.Next()
		hosttest.Must(t, err)
		if got.Size() != 4 {
			t.Fatalf("a batch of 4 came as one of %d", got.Size())
		}
	}
	for range 2 * (aheadBatches + usedBatches) {
		hosttest.Must(t, Send(link, OpBatch, &b))
		next()
	}
	// AllocsPerRun rounds the average down, and the stream has already read some batches ahead. Each
	// run therefore takes several batches, so that one allocation per batch cannot hide.
	const runs, each = 20, 5
	for range (runs + 1) * each {
		hosttest.Must(t, Send(link, OpBatch, &b))
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
	hosttest.Must(t, data.Close())
	<-served
	hosttest.Must(t, stream.Close())
}
