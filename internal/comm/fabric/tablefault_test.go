package fabric

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
)

// stalled is a library whose servers take lookups or updates but do not answer
// them before the test ends.
func stalled(t *testing.T, tr *Fabric, trainers int, update bool,
	timeout time.Duration) (l *linktest.Library, arrived chan int, release func()) {
	released := make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	arrived = make(chan int, 10)
	l = linktest.NewLibrary(t, tr, byTurns(tr), trainers, linktest.FaultSpec, timeout,
		func(s int) func(*comm.TableCall) error {
			return func(call *comm.TableCall) error {
				if call.Update == update {
					arrived <- s
					<-released
				}
				return nil
			}
		})
	t.Cleanup(release) // runs before the library's own clean-up
	return l, arrived, release
}

func TestTableCallsEndInTime(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		l, _, _ := stalled(t, tr, 1, false, 200*time.Millisecond)
		err := l.Links[0][1].Lookup(3).Wait()
		var wait *comm.WaitError
		if !errors.As(err, &wait) ||
			err.Error() != "trainer0 waited 0.2 s for the answer to the lookup of batch 3 from server10" {
			t.Errorf("a server that does not answer gave %v", err)
		}
		if again := l.Links[0][1].Lookup(4).Wait(); !errors.Is(again, err) {
			t.Errorf("a later lookup gave %v", again)
		}
		l, _, _ = stalled(t, tr, 1, true, 200*time.Millisecond)
		commtest.Must(t, l.Links[0][0].Lookup(3).Wait())
		if err := l.Links[0][0].Update(3).Wait(); err == nil ||
			err.Error() != "trainer0 waited 0.2 s for the answer to the update of batch 3 from server9" {
			t.Errorf("a server that does not answer an update gave %v", err)
		}
	})
}

// A trainer may pause between calls for any time.
func TestTableLinksMayPause(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		l := linktest.NewLibrary(t, tr, byTurns(tr), 1, linktest.FaultSpec, 200*time.Millisecond, linktest.NoCall)
		commtest.Must(t, l.Lookup(0, 0))
		time.Sleep(300 * time.Millisecond)
		commtest.Must(t, l.Update(0, 0))
		time.Sleep(300 * time.Millisecond)
		commtest.Must(t, l.Lookup(0, 1))
		l.Leave(t)
	})
}

func TestTableDeathOfThePeer(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		for _, update := range []bool{false, true} {
			what, call := "the answer to the lookup of batch 0", (*linktest.Library).Lookup
			if update {
				what, call = "the answer to the update of batch 0", (*linktest.Library).Update
			}
			l, arrived, _ := stalled(t, tr, 2, update, linktest.Patience)
			if update {
				commtest.Must(t, l.Lookup(0, 0))
			}
			ended := make(chan error, 1)
			go func() { ended <- call(l, 0, 0) }()
			<-arrived
			start := time.Now()
			for _, c := range l.Far[0] { // as the kernel does when a server's process dies
				_ = c.Close()
			}
			var peer *comm.PeerError
			if err := <-ended; !errors.As(err, &peer) || peer.Peer != "server9" || peer.What != what {
				t.Errorf("a server that died gave %v", err)
			}
			if took := time.Since(start); took > linktest.Patience/4 {
				t.Errorf("that took %v", took)
			}
		}
		l := linktest.NewLibrary(t, tr, byTurns(tr), 2, linktest.FaultSpec, linktest.Patience, linktest.NoCall)
		_ = l.Near[1][0].Close() // trainer1 dies without an orderly end
		var peer *comm.PeerError
		if err := <-l.Served[0]; !errors.As(err, &peer) || peer.Peer != "trainer1" ||
			peer.What != "the wait for a call" {
			t.Errorf("a trainer that died gave %v", err)
		}
		if err := l.Links[0][0].Lookup(0).Wait(); !errors.As(err, &peer) || peer.Peer != "server9" {
			t.Errorf("the other trainer's lookup gave %v", err)
		}
	})
}

// If either end closes its link, its calls in flight fail and the other end is
// notified.
func TestTableCloseWhilePending(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		l, arrived, release := stalled(t, tr, 1, false, linktest.Patience)
		first := l.Links[0][0].Lookup(0)
		<-arrived
		commtest.Must(t, l.Links[0][0].Close())
		if err := first.Wait(); !errors.Is(err, net.ErrClosed) ||
			!strings.Contains(err.Error(), "trainer0 has closed the link to server9") {
			t.Errorf("a lookup in flight when its link closed gave %v", err)
		}
		commtest.Must(t, l.Stores[0].Ask([]int64{0}, nil)) // fails if a call were still in flight
		second := l.Links[0][1].Lookup(0)
		<-arrived
		closed := make(chan error, 1)
		go func() { closed <- l.Ports[1].Close() }() // Close waits for the server's call
		var peer *comm.PeerError
		if err := second.Wait(); !errors.As(err, &peer) || peer.Peer != "server10" {
			t.Errorf("a lookup at a port that closed gave %v", err)
		}
		release()
		commtest.Must(t, <-closed)
	})
}

func TestTableServeEndsWithTheFirstError(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		calls := 0
		l := linktest.NewLibrary(t, tr, byTurns(tr), 3, linktest.FaultSpec, linktest.Patience,
			func(s int) func(*comm.TableCall) error {
				return func(*comm.TableCall) error {
					if s == 0 {
						calls++
					}
					return errors.New("no more")
				}
			})
		for i := range l.Links {
			l.Links[i][0].Lookup(0)
		}
		if err := <-l.Served[0]; err == nil || err.Error() != "no more" {
			t.Errorf("serve ended with %v", err)
		}
		commtest.Must(t, l.Ports[0].Close())
		commtest.Must(t, l.Ports[0].Close())
		if calls != 1 {
			t.Errorf("the server got %d calls after its error", calls-1)
		}
		for i := range l.Links {
			if err := l.Links[i][0].Lookup(1).Wait(); err == nil {
				t.Error("a link to a port that has ended takes calls")
			}
		}
	})
}
