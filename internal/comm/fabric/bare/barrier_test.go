package bare

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// No member leaves a barrier before every member has reached it, whichever
// member is late.
func TestBarrierWaitsForAll(t *testing.T) {
	for size := 1; size <= 4; size++ {
		groups := make([]*group, size)
		for i := range groups {
			groups[i] = &group{position: i, size: size}
		}
		for i, g := range groups {
			if size == 1 {
				break
			}
			var far net.Conn
			g.next, far = connected(t)
			groups[(i+1)%size].prev = far
			g.out = newSender(g.next, 2)
		}
		var reached atomic.Int64
		var all sync.WaitGroup
		for i, g := range groups {
			all.Go(func() {
				for round := range 50 {
					if round%size == i {
						time.Sleep(time.Millisecond)
					}
					reached.Add(1)
					if err := g.Barrier(); err != nil {
						t.Error(err)
						return
					}
					if n := reached.Load(); n < int64((round+1)*size) {
						t.Errorf("of %d, member %d left barrier %d when there had been %d", size, i, round, n)
						return
					}
				}
			})
		}
		all.Wait()
		for _, g := range groups {
			_ = g.Close()
		}
	}
}
