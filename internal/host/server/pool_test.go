package server

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/sdk"
)

// counting is a job that counts how often each share is processed.
type counting []atomic.Int32

func (c counting) elements() int { return len(c) * shareElements }
func (c counting) run(w *worker, from, to int) {
	for share := from / shareElements; share*shareElements < to; share++ {
		c[share].Add(1)
	}
	w.meter.exactNS++
}

// Every share is processed exactly once. A helper that is late for one job does not disturb the
// next.
func TestPoolDoesEachBlockOnce(t *testing.T) {
	p := newReduction(t, sdk.OnArrival, mean(1), 1).pool
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			own := &worker{}
			for i := range 2000 {
				j := make(counting, 1+i%40)
				spent := p.run(j, own)
				for b := range j {
					if n := j[b].Load(); n != 1 {
						t.Errorf("share %d of %d was done %d times", b, len(j), n)
					}
				}
				if spent < 1 || spent > int64(len(j)) {
					t.Errorf("%d blocks took %d", len(j), spent)
				}
			}
		})
	}
	callers.Wait()
}
