package comm

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFramesOfManySendersStayWhole(t *testing.T) {
	a, b := link(t, "trainer0", "server1")
	const senders, frames, size = 4, 20, 100_000
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			head, tail := bytes.Repeat([]byte{byte(s)}, 7), bytes.Repeat([]byte{byte(s)}, size-7)
			for range frames {
				if err := a.Send(&Header{Op: OpUser, Arg: int64(s)}, head, nil, tail); err != nil {
					t.Error(err)
				}
			}
		})
	}
	buf := make([]byte, size)
	for range senders * frames {
		var h Header
		must(t, b.ReadHeader(&h))
		if h.Payload != size {
			t.Fatalf("a frame has %d bytes, want %d", h.Payload, size)
		}
		must(t, b.ReadFull(buf))
		if n := bytes.Count(buf, []byte{byte(h.Arg)}); n != size {
			t.Fatalf("a frame of sender %d holds %d of its bytes, want %d", h.Arg, n, size)
		}
	}
	wg.Wait()
	if a.Peer() != "server1" || b.Peer() != "trainer0" || b.Self() != "server1" {
		t.Fatalf("names are %s, %s, %s", a.Peer(), b.Peer(), b.Self())
	}
}

func TestConnErrorsNameThePeer(t *testing.T) {
	a, b := link(t, "trainer0", "server1")
	must(t, a.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	var wait *WaitError
	var h Header
	if err := a.ReadHeader(&h); !errors.As(err, &wait) || wait.For[0] != "server1" || wait.Waiter != "trainer0" {
		t.Fatalf("reading past the deadline gave %v", err)
	}
	must(t, b.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
	if err := b.Send(&Header{Op: OpUser}, make([]byte, 8<<20)); !errors.As(err, &wait) || wait.For[0] != "trainer0" {
		t.Fatalf("sending past the deadline gave %v", err)
	}
	must(t, b.Close())
	must(t, b.Close())
	must(t, a.SetReadDeadline(time.Time{}))
	var peer *PeerError
	if err := a.ReadFull(make([]byte, 9<<20)); !errors.As(err, &peer) || peer.Peer != "server1" {
		t.Fatalf("reading from a closed peer gave %v", err)
	}
	if err := a.Send(&Header{Op: OpUser}); !errors.As(err, &peer) {
		t.Fatalf("sending to a closed peer gave %v", err)
	}
}

func TestSendDoesNotAllocate(t *testing.T) {
	a, b := link(t, "trainer0", "server1")
	payload, into := make([]byte, 1000), make([]byte, 1000)
	var out, in Header
	allocs := testing.AllocsPerRun(200, func() {
		out = Header{Op: OpUser}
		must(t, a.Send(&out, payload[:500], payload[500:]))
		must(t, b.ReadHeader(&in))
		must(t, b.ReadFull(into))
	})
	if allocs != 0 {
		t.Fatalf("a frame allocates %g times, want 0", allocs)
	}
}

func TestListenerRefuses(t *testing.T) {
	l := listen(t, "server1")
	wrong := append([]byte(nil), testSecret...)
	wrong[31]++
	for what, c := range map[string]struct {
		to     string
		secret []byte
		want   string
	}{
		"a wrong secret": {"server1", wrong, "server1 did not accept the push link from trainer0"},
		"a short secret": {"server1", wrong[:5], "secret has 5 bytes"},
		"a wrong name":   {"server2", testSecret, "the hello is for server2 but this is server1"},
		"no name":        {"", testSecret, "must have 1 to 255 bytes"},
	} {
		_, err := Dial(l.Address(), "trainer0", c.to, "push", c.secret, patience)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s gave %v, want %q", what, err, c.want)
		}
	}

	first, err := Dial(l.Address(), "trainer0", "server1", "push", testSecret, patience)
	must(t, err)
	defer func() { _ = first.Close() }()
	if _, err := Dial(l.Address(), "trainer0", "server1", "push", testSecret, patience); err == nil || !strings.Contains(err.Error(), "already holds a push link from trainer0") {
		t.Errorf("a second link gave %v", err)
	}
	got, err := l.Accept("push", "trainer0", patience)
	must(t, err)
	must(t, got.Close())
}

func TestGarbageTouchesNothingElse(t *testing.T) {
	l := listen(t, "server1")
	var oversized [HeaderSize]byte
	(&Header{Op: opHello, Payload: maxHello + 1}).Encode(&oversized)
	for _, garbage := range [][]byte{bytes.Repeat([]byte("garbage!"), 100), oversized[:]} {
		nc, err := net.Dial("unix", l.Address())
		must(t, err)
		_, err = nc.Write(garbage)
		must(t, err)
		must(t, nc.SetReadDeadline(time.Now().Add(patience)))
		if _, err := nc.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Fatalf("the listener did not hang up on garbage: %v", err)
		}
		must(t, nc.Close())
	}
	c, err := Dial(l.Address(), "trainer0", "server1", "push", testSecret, patience)
	must(t, err)
	must(t, c.Close())
}

func TestListenerDeadlinesAndClose(t *testing.T) {
	l := listen(t, "server1")
	var wait *WaitError
	if _, err := l.Accept("push", "trainer3", 10*time.Millisecond); !errors.As(err, &wait) || wait.For[0] != "trainer3" {
		t.Fatalf("accepting nobody gave %v", err)
	}
	silent, err := net.Dial("unix", l.Address())
	must(t, err)
	defer func() { _ = silent.Close() }()
	unclaimed, err := Dial(l.Address(), "trainer0", "server1", "push", testSecret, patience)
	must(t, err)
	defer func() { _ = unclaimed.Close() }()

	waiting := make(chan error)
	go func() {
		_, err := l.Accept("push", "trainer4", patience)
		waiting <- err
	}()
	start := time.Now()
	must(t, l.Close())
	must(t, l.Close())
	if err := <-waiting; !errors.Is(err, net.ErrClosed) {
		t.Fatalf("a pending accept ended with %v", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Fatalf("closing took %v, want it at once", took)
	}
	var peer *PeerError
	if err := unclaimed.ReadHeader(&Header{}); !errors.As(err, &peer) {
		t.Fatalf("an unclaimed link ended with %v", err)
	}
	if _, err := os.Stat(l.Address()); !os.IsNotExist(err) {
		t.Fatalf("the socket is still there: %v", err)
	}
	if _, err := Dial(l.Address(), "trainer0", "server1", "push", testSecret, patience); err == nil {
		t.Fatal("dialling a closed listener gave no error")
	}
	if _, err := Listen(filepath.Join(shortDir(t), strings.Repeat("x", 120)), "server1", testSecret); err == nil || !strings.Contains(err.Error(), "limit of 107") {
		t.Fatalf("a long path gave %v", err)
	}
}

func TestDialWaitsForTheAcknowledgement(t *testing.T) {
	path := filepath.Join(shortDir(t), "mute")
	mute, err := net.Listen("unix", path)
	must(t, err)
	defer func() { _ = mute.Close() }()
	var wait *WaitError
	if _, err := Dial(path, "trainer0", "server1", "push", testSecret, 20*time.Millisecond); !errors.As(err, &wait) || wait.For[0] != "server1" || wait.Seconds != 0.02 {
		t.Fatalf("dialling a mute listener gave %v", err)
	}
}
