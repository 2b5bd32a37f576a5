package strangers

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is longer than any wait of a test should be.
const patience = 20 * time.Second

// door is a listener whose callers stay unauthenticated until the test calls known.
type door struct {
	net.Listener
	came  chan caller
	over  chan struct{}
	ended sync.WaitGroup
	most  atomic.Int64 // most callers that had a place at once
	here  atomic.Int64
}

type caller struct {
	net.Conn
	known func()
}

func open(t *testing.T, limits Limits) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{Listener: l, came: make(chan caller, 100), over: make(chan struct{})}
	d.ended.Go(func() {
		Accept(l, d.over, limits, func(conn net.Conn, known func()) {
			d.most.Store(max(d.most.Load(), d.here.Add(1)))
			d.came <- caller{conn, func() { d.here.Add(-1); known() }}
		})
	})
	t.Cleanup(func() {
		close(d.over)
		_ = l.Close()
		d.ended.Wait()
		for len(d.came) > 0 {
			_ = (<-d.came).Close()
		}
	})
	return d
}

// call connects and sends nothing.
func (d *door) call(t *testing.T) {
	t.Helper()
	conn, err := net.Dial("tcp", d.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
}

// next returns the next caller that gets a place.
func (d *door) next(t *testing.T) caller {
	t.Helper()
	select {
	case c := <-d.came:
		t.Cleanup(func() { _ = c.Close() })
		return c
	case <-time.After(patience):
		t.Fatal("no caller got a place")
		return caller{}
	}
}

// read waits until a caller's deadline and returns how long that took.
func (c caller) read() time.Duration {
	began := time.Now()
	_, _ = c.Read(make([]byte, 1))
	return time.Since(began)
}

// Silent callers occupy at most the given number of places. Disconnecting one makes room for the next.
func TestPlaces(t *testing.T) {
	d := open(t, Limits{Most: 2, Patience: patience, Crowded: 20 * time.Millisecond})
	const callers = 7
	for range callers {
		d.call(t)
	}
	for range callers {
		c := d.next(t)
		go func() {
			c.read()
			_ = c.Close()
			c.known()
		}()
	}
	if most := d.most.Load(); most > 2 {
		t.Errorf("%d strangers had a place at once, want 2 at most", most)
	}
}

// A caller has its full time while no other caller waits for a place, and less from then on.
func TestHurry(t *testing.T) {
	d := open(t, Limits{Most: 1, Patience: patience, Crowded: time.Millisecond})
	d.call(t)
	first := d.next(t)
	_ = first.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if took := first.read(); took < 50*time.Millisecond {
		t.Errorf("alone, it was hung up on after %v", took)
	}
	_ = first.SetReadDeadline(time.Now().Add(patience))
	d.call(t)
	if took := first.read(); took > patience/2 {
		t.Errorf("while another waited, it had %v", took)
	}
	first.known()
	d.next(t)
}

// Known callers occupy no place, and their deadline is not shortened. Calling known twice frees only one place.
func TestKnown(t *testing.T) {
	d := open(t, Limits{Most: 1, Patience: patience, Crowded: time.Millisecond})
	d.call(t)
	known := d.next(t)
	known.known()
	known.known()
	_ = known.SetDeadline(time.Now().Add(100 * time.Millisecond))
	d.call(t)
	second := d.next(t)
	d.call(t) // this caller has to wait
	if took := second.read(); took > patience/2 {
		t.Errorf("while another waited, a stranger had %v", took)
	}
	if took := known.read(); took < 50*time.Millisecond {
		t.Errorf("while another waited, a known caller had %v", took)
	}
	if n := len(d.came); n != 0 {
		t.Errorf("%d callers have a place beside the one that there is", n)
	}
}

// If the listener is closed while a caller waits for a place, that caller is disconnected.
func TestClosed(t *testing.T) {
	d := open(t, Limits{Most: 1, Patience: patience, Crowded: patience})
	d.call(t)
	d.next(t)
	d.call(t)
}
