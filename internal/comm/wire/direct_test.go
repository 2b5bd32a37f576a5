package wire_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

// directLink is a link over a Unix socket. Both ends poll for the given time
// before they sleep.
func directLink(t testing.TB, look time.Duration) (a, b *wire.Conn) {
	t.Helper()
	a, b = linktest.Link(t, wire.Unix, "trainer0", "server1")
	for _, c := range []*wire.Conn{a, b} {
		commtest.Must(t, c.Direct(look))
	}
	return a, b
}

// looks are polling times for reads that find frames while polling, and for
// reads that sleep until frames arrive.
var looks = map[string]time.Duration{"looks": time.Minute, "sleeps": 0}

// Frames larger than a socket's buffer travel both ways at once.
func TestFramesOverDirectSockets(t *testing.T) {
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			a, b := directLink(t, look)
			const frames, size = 5, 10 << 20
			var wg sync.WaitGroup
			for n, c := range []*wire.Conn{a, b} {
				wg.Go(func() {
					payload := bytes.Repeat([]byte{byte(n + 1)}, size)
					for i := range frames {
						if err := c.Send(&wire.Header{Op: wire.OpUser, Arg: int64(i)}, payload[:7],
							payload[7:]); err != nil {
							t.Error(err)
						}
					}
				})
				wg.Go(func() {
					got := make([]byte, size)
					for i := range frames {
						var h wire.Header
						if err := c.ReadHeader(&h); err != nil || h.Arg != int64(i) || h.Payload != size {
							t.Errorf("frame %d came as %d of %d bytes with %v", i, h.Arg, h.Payload, err)
							return
						}
						if err := c.ReadFull(got); err != nil || bytes.Count(got, []byte{byte(2 - n)}) != size {
							t.Errorf("the payload of frame %d is another one, %v", i, err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// someSeconds matches the length of a wait, which is shorter on a busy machine.
var someSeconds = regexp.MustCompile(`0\.\d+ s`)

func TestErrorsOfDirectSockets(t *testing.T) {
	soon := func() time.Time { return time.Now().Add(30 * time.Millisecond) }
	for name, c := range map[string]struct {
		do   func(a, b *wire.Conn) error
		want string
	}{
		"a deadline passes": {func(a, _ *wire.Conn) error {
			_ = a.SetReadDeadline(soon())
			return a.ReadHeader(new(wire.Header))
		}, "trainer0 waited 0.0 s for a frame from server1"},
		"it is closed": {func(a, _ *wire.Conn) error {
			timer := time.AfterFunc(30*time.Millisecond, func() { _ = a.Close() })
			defer timer.Stop()
			return a.ReadHeader(new(wire.Header))
		}, "trainer0 lost its link to server1 during a frame: use of closed network connection"},
		"the peer ends": {func(a, b *wire.Conn) error {
			timer := time.AfterFunc(30*time.Millisecond, func() { _ = b.Close() })
			defer timer.Stop()
			return a.ReadHeader(new(wire.Header))
		}, "trainer0 lost its link to server1 during a frame: EOF"},
		"nobody reads": {func(a, _ *wire.Conn) error {
			_ = a.SetDeadline(soon())
			return a.Send(&wire.Header{Op: wire.OpUser}, make([]byte, 64<<20))
		}, "trainer0 waited 0.0 s for room for a frame from server1"},
		"nobody reads any more": {func(a, b *wire.Conn) error {
			_ = b.Close()
			return a.Send(&wire.Header{Op: wire.OpUser}, make([]byte, 1))
		}, "trainer0 lost its link to server1 during a frame: write: broken pipe"},
		"closed before": {func(a, _ *wire.Conn) error {
			_ = a.Close()
			return errors.Join(a.Close(), a.Send(&wire.Header{Op: wire.OpUser}))
		}, "trainer0 lost its link to server1 during a frame: use of closed network connection"},
	} {
		for which, look := range looks {
			t.Run(name+"/"+which, func(t *testing.T) {
				a, b := directLink(t, min(look, 200*time.Millisecond))
				err := c.do(a, b)
				if err == nil || someSeconds.ReplaceAllString(err.Error(), "0.0 s") != c.want {
					t.Errorf("it ended with %v, want %q", err, c.want)
				}
			})
		}
	}
}

// After a deadline is lifted, it has no effect. After a deadline has passed, a
// read still returns data that have arrived.
func TestDeadlinesOfDirectSockets(t *testing.T) {
	a, b := directLink(t, 0)
	past := time.Now().Add(-time.Second)
	commtest.Must(t, a.SetDeadline(past))
	var wait *comm.WaitError
	if err := a.ReadHeader(new(wire.Header)); !errors.As(err, &wait) {
		t.Errorf("a read past its deadline ended with %v", err)
	}
	commtest.Must(t, b.Send(&wire.Header{Op: wire.OpUser, Arg: 1}))
	var h wire.Header
	if err := a.ReadHeader(&h); err != nil || h.Arg != 1 {
		t.Errorf("what was there came as %d, %v", h.Arg, err)
	}
	commtest.Must(t, a.SetDeadline(time.Time{}))
	timer := time.AfterFunc(30*time.Millisecond, func() { _ = b.Send(&wire.Header{Op: wire.OpUser, Arg: 2}) })
	defer timer.Stop()
	if err := a.ReadHeader(&h); err != nil || h.Arg != 2 {
		t.Errorf("what came without a deadline is %d, %v", h.Arg, err)
	}
}

// A new deadline ends a read that is already sleeping.
func TestDeadlinesBoundPendingReads(t *testing.T) {
	a, _ := directLink(t, 0)
	timer := time.AfterFunc(20*time.Millisecond, func() { _ = a.SetDeadline(time.Now()) })
	defer timer.Stop()
	var wait *comm.WaitError
	if err := a.ReadHeader(new(wire.Header)); !errors.As(err, &wait) {
		t.Errorf("it ended with %v", err)
	}
}

// Bytes that were read before Direct are the first to be returned.
func TestDirectSocketsLoseNothing(t *testing.T) {
	a, b := linktest.Link(t, wire.Unix, "trainer0", "server1")
	for i := range 3 {
		commtest.Must(t, b.Send(&wire.Header{Op: wire.OpUser, Arg: int64(i)}))
	}
	for i := range 3 {
		if i == 1 {
			if !a.Buffered(2 * wire.HeaderSize) {
				t.Fatal("the frames are not read ahead")
			}
			commtest.Must(t, a.Direct(0))
			if !a.Ready() {
				t.Error("it is not ready for what was read ahead")
			}
		}
		var h wire.Header
		if err := a.ReadHeader(&h); err != nil || h.Arg != int64(i) {
			t.Errorf("frame %d came as %d, %v", i, h.Arg, err)
		}
	}
}

func TestReady(t *testing.T) {
	a, b := directLink(t, 0)
	want := func(ready bool, when string) {
		t.Helper()
		if a.Ready() != ready {
			t.Errorf("%s: ready is %v", when, !ready)
		}
	}
	want(false, "nothing has come")
	for range 2 {
		commtest.Must(t, b.Send(&wire.Header{Op: wire.OpUser}))
	}
	want(true, "frames have come")
	commtest.Must(t, a.ReadHeader(new(wire.Header)))
	want(true, "one of them is read")
	commtest.Must(t, a.ReadHeader(new(wire.Header)))
	want(false, "all are read")
	commtest.Must(t, b.Close())
	want(true, "the peer has ended")
	commtest.Must(t, a.Close())
	want(true, "it is closed")
}

// Close closes the descriptor, even during a read.
func TestDirectSocketsAreGivenBack(t *testing.T) {
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		commtest.Must(t, err)
		return len(all)
	}
	before := open()
	for _, look := range looks {
		a, b := directLink(t, look)
		var wg sync.WaitGroup
		wg.Go(func() { _ = a.ReadHeader(new(wire.Header)) })
		commtest.Must(t, a.Close())
		commtest.Must(t, b.Close())
		wg.Wait()
	}
	if after := open(); after > before+2 { // of the listeners, which stay open until the end of the test
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

// A write to a closed socket does not reach a new file with the same descriptor
// number.
func TestClosedDirectSocketsWriteNothing(t *testing.T) {
	a, _ := directLink(t, 0)
	commtest.Must(t, a.Close())
	var files []*os.File
	for range 8 { // one of these files gets the number
		f, err := os.CreateTemp(t.TempDir(), "")
		commtest.Must(t, err)
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	if err := a.Send(&wire.Header{Op: wire.OpUser}); err == nil {
		t.Error("a frame was sent over a closed socket")
	}
	for _, f := range files {
		if at, err := f.Stat(); err != nil || at.Size() != 0 {
			t.Errorf("a file has %d bytes of a frame, %v", at.Size(), err)
		}
	}
}

func TestOnlyUnixSocketsAreDirect(t *testing.T) {
	x, y := net.Pipe()
	defer func() { _, _ = x.Close(), y.Close() }()
	if err := wire.NewConn(x, "trainer0", "server1").Direct(0); err == nil {
		t.Error("a pipe was taken from the poller")
	}
}

// A frame over a direct socket allocates nothing.
func TestDirectSocketsAllocateNothing(t *testing.T) {
	a, b := directLink(t, 0)
	var out, in wire.Header
	n := testing.AllocsPerRun(200, func() {
		out.Op = wire.OpUser
		if a.Send(&out) != nil || b.ReadHeader(&in) != nil {
			t.Fatal("a frame was lost")
		}
	})
	if n > 0 {
		t.Errorf("a frame allocates %v times", n)
	}
}
