package servers

import (
	"slices"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// A trainer that has its answer computes and pushes at once, while the others
// still get theirs. The race detector watches the gradients.
func TestTrainersRunAhead(t *testing.T) {
	const trainers, batches, elements = 4, 200, 64
	for key := range makers {
		t.Run(key, func(t *testing.T) {
			server, err := makers[key](noSettings{}, sdk.ServerEnv{
				Trainers: trainers, Buckets: []tensor.BucketSpec{dense(0, elements)}, Recorder: &sdk.Recorder{},
			})
			if err != nil {
				t.Fatal(err)
			}
			var gate sync.Mutex
			waiting := map[int64][]*sdk.Push{}
			arrive := func(p *sdk.Push) error {
				if server.Wake() == sdk.EachArrival {
					return server.Receive([]*sdk.Push{p})
				}
				gate.Lock()
				all := append(waiting[p.Batch], p)
				waiting[p.Batch] = all
				gate.Unlock()
				if len(all) < trainers {
					return nil
				}
				slices.SortFunc(all, func(a, b *sdk.Push) int { return a.Trainer - b.Trainer })
				return server.Receive(all)
			}
			var group sync.WaitGroup
			for trainer := range trainers {
				group.Go(func() { runAhead(t, trainer, trainers, batches, elements, arrive) })
			}
			group.Wait()
		})
	}
}

// runAhead is one trainer: it pushes batch*trainers + trainer in every element
// and must get the mean of that over the trainers.
func runAhead(t *testing.T, trainer, trainers, batches, elements int, arrive func(*sdk.Push) error) {
	pushed, pulled := tensor.NewGradient(dense(0, elements)), make([]float32, elements)
	answered := make(chan struct{}, 1)
	for batch := range batches {
		for i := range pushed.Values {
			pushed.Values[i] = float32(batch*trainers + trainer)
		}
		err := arrive(sdk.NewPush(int64(batch), 0, trainer, &pushed, func(g *tensor.Gradient) error {
			copy(pulled, g.Values)
			answered <- struct{}{}
			return nil
		}))
		if err != nil {
			t.Error(err)
			return
		}
		<-answered
		want := float32(batch*trainers) + float32(trainers-1)/2
		if i := slices.IndexFunc(pulled, func(v float32) bool { return v != want }); i >= 0 && !t.Failed() {
			t.Errorf("trainer %d, batch %d, element %d: %v instead of %v", trainer, batch, i, pulled[i], want)
		}
	}
}
