package server

import (
	"slices"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
)

// A trainer that has its answer computes and pushes at once, while other trainers still wait for
// their answers. The race detector watches the gradients.
func TestTrainersRunAhead(t *testing.T) {
	const trainers = 4
	specs := []tensor.BucketSpec{denseOf(64),
		{Index: 1, Elements: 4, Sparse: true, TableRows: 2, Width: 2, Capacity: 2}}
	for _, transport := range hosttest.Transports {
		batches := 50
		if transport == "shm" { // all trainers and the server share this memory
			batches = 200
		}
		for _, timing := range timings {
			_, links, stores := openServer(t, transport, elementwise(timing, mean(trainers)), specs, trainers,
				hosttest.Patience)
			var group sync.WaitGroup
			for trainer := range trainers {
				for _, b := range stores[trainer].Buckets {
					group.Go(func() { runAhead(t, links[trainer], b, trainer, trainers, batches) })
				}
			}
			group.Wait()
		}
	}
}

// runAhead trains with one bucket. In each batch, the trainer pushes batch*trainers + trainer in
// every element and must get the mean over all trainers.
func runAhead(t *testing.T, link comm.ServerLink, b *tensor.Bucket, trainer, trainers, batches int) {
	for batch := range batches {
		if b.Sparse {
			if err := b.Gradient.SetRows(1); err != nil {
				t.Error(err)
			}
			b.Gradient.Rows[0] = 1
		}
		for i := range b.Gradient.Values {
			b.Gradient.Values[i] = float32(batch*trainers + trainer)
		}
		if err := link.PushPull(int64(batch), b).Wait(); err != nil {
			t.Errorf("trainer %d, batch %d, bucket %d: %v", trainer, batch, b.Index, err)
			return
		}
		want := float32(batch*trainers) + float32(trainers-1)/2
		if i := slices.IndexFunc(b.Gradient.Values, func(v float32) bool { return v != want }); i >= 0 {
			t.Errorf("trainer %d, batch %d, bucket %d, element %d: %v instead of %v", trainer, batch, b.Index, i,
				b.Gradient.Values[i], want)
			return
		}
	}
}
