package bare

import (
	"sync"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
)

// When a sum is done, the caller may change the values, even values that the
// next member has not received yet.
func TestRingHasSentWhatItGivesBack(t *testing.T) {
	const members, rounds, elements = 3, 30, 5*ringElements + 7
	ring := make([]*group, members)
	for i := range ring {
		ring[i] = &group{position: i, size: members, arrived: make([]float32, ringElements)}
	}
	for i, g := range ring {
		after := ring[(i+1)%members]
		g.next, after.prev = connected(t)
		g.out = newSender(g.next, 4096)
	}
	var reducing sync.WaitGroup
	for i, g := range ring {
		reducing.Go(func() {
			b := tensor.NewBucket(tensor.BucketSpec{Elements: elements})
			for round := range rounds {
				for k := range b.Gradient.Values {
					b.Gradient.Values[k] = float32(round + i)
				}
				if err := g.AllReduce(0, b).Wait(); err != nil {
					t.Error(err)
					return
				}
				for k, sum := range b.Gradient.Values {
					if want := float32(members*round + 0 + 1 + 2); sum != want {
						t.Errorf("member %d, round %d: element %d is %v, want %v", i, round, k, sum, want)
						return
					}
				}
			}
		})
	}
	reducing.Wait()
	for _, g := range ring {
		_ = g.next.Close()
		g.out.close()
	}
}
