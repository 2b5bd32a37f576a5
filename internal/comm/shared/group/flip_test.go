package group

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
)

// One member changes its rows all the time. Every member gets an error or a sum
// of valid rows; afterwards no member's rows change.
func TestSharedGroupSurvivesFlippingRows(t *testing.T) {
	spec := commtest.SparseSpec(0, 10, 2, 10)
	for round := range 20 {
		groups := newGroups(t, 2, linktest.Patience, linktest.Same(spec))
		liar := sharedtest.Foreign(t, groups[0].own.stores[layout.InStore]).Shown
		stop, flipping := make(chan struct{}), sync.WaitGroup{}
		flipping.Go(func() {
			for n := int32(0); ; n++ {
				select {
				case <-stop:
					return
				default:
					atomic.StoreInt32(&liar[0], []int32{0, math.MaxInt32}[n%2])
				}
			}
		})
		for batch := range int64(100) {
			futures := []*comm.Future{}
			for i, g := range groups {
				b := sharedtest.RowsOf(g.bucket(0, false), 0, int32(3+i), 8) // #nosec G115 -- 0 or 1
				switch round % 2 {
				case 0:
					futures = append(futures, g.AllReduce(batch, b))
				default:
					futures = append(futures, g.Broadcast(batch, b, 0))
				}
			}
			failed := false
			for i, f := range futures {
				if f.Wait() != nil {
					failed = true
				} else if err := spec.Check(&groups[i].bucket(0, false).Gradient); err != nil {
					t.Errorf("member %d ended with %v", i, err)
				}
			}
			if failed {
				break
			}
		}
		close(stop)
		flipping.Wait()
	}
}
