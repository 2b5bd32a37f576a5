package wire_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

func TestListenerRefuses(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		l := linktest.Listen(t, n, "server1")
		wrong := append([]byte(nil), linktest.TestSecret...)
		wrong[31]++
		otherRun := "server1 refused the push link from trainer0: the secret is of another run"
		if linktest.Secured(n) {
			otherRun =
				"trainer0 does not open its push link to the process at the address of server1: the peer does not know the secret"
		}
		for what, c := range map[string]struct {
			to     string
			secret []byte
			want   string
		}{
			"a wrong secret": {"server1", wrong, otherRun},
			"a short secret": {"server1", wrong[:5], "the run's secret has 5 bytes instead of 32"},
			"a wrong name": {"server2", linktest.TestSecret,
				"server2 refused the push link from trainer0: the hello is for server2 but this is server1"},
			"no name": {"", linktest.TestSecret, "must have 1 to 255 bytes"},
		} {
			_, err := n.Dial(l.Address(),
				wire.Call{From: "trainer0", To: c.to, Purpose: "push", Secret: c.secret, Timeout: linktest.Patience})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s gave %v, want %q", what, err, c.want)
			}
		}
	})
}

func TestAHelloOpensOneLink(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		l := linktest.Listen(t, n, "server1")
		dial := func() error {
			c, err := n.Dial(l.Address(),
				wire.Call{From: "trainer0", To: "server1", Purpose: "push", Secret: linktest.TestSecret,
					Timeout: linktest.Patience})
			if err == nil {
				t.Cleanup(func() { _ = c.Close() })
			}
			return err
		}
		refused := func(when string) {
			t.Helper()
			if err := dial(); err == nil ||
				err.Error() !=
					"server1 refused the push link from trainer0: server1 already has its push link from trainer0: a hello opens one link" {
				t.Errorf("a second hello %s gave %v", when, err)
			}
		}
		commtest.Must(t, dial())
		refused("before the first is asked for")
		c, err := l.Accept("push", "trainer0", linktest.Patience)
		commtest.Must(t, err)
		refused("after the first was asked for")
		commtest.Must(t, c.Close())
		refused("after the first link was closed")
	})
}

// refusal returns the reason that a listener sent before it hung up.
func refusal(t *testing.T, nc net.Conn) string {
	t.Helper()
	commtest.Must(t, nc.SetReadDeadline(time.Now().Add(linktest.Patience)))
	c := wire.NewConn(nc, "a stranger", "server1")
	var h wire.Header
	if err := c.ReadHeader(&h); err != nil {
		return err.Error()
	}
	reason := make([]byte, min(h.Payload, wire.MaxReason))
	commtest.Must(t, c.ReadFull(reason))
	if err := c.ReadHeader(&h); err == nil || os.IsTimeout(err) {
		t.Fatalf("the listener did not hang up after it refused: %v", err)
	}
	return string(reason)
}

func TestGarbageTouchesNothingElse(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		l := linktest.Listen(t, n, "server1")
		head := func(h wire.Header, body ...byte) []byte {
			var buf [wire.HeaderSize]byte
			h.Payload = max(h.Payload, uint64(len(body)))
			h.Encode(&buf)
			return append(buf[:], body...)
		}
		old := head(wire.Header{Op: wire.OpHello})
		old[4] = 1
		for _, c := range []struct {
			garbage []byte
			want    string
		}{
			{bytes.Repeat([]byte("garbage!"), 20_000), `a frame starts with 0x62726167 instead of 0x66627370`},
			{old, "a frame has version 1 instead of 2"},
			{head(wire.Header{Op: wire.OpHello, Payload: wire.MaxHello + 1}),
				"operation 1 with 804 bytes is not a hello"},
			{head(wire.Header{Op: wire.OpPush}), "operation 5 with 0 bytes is not a hello"},
			{head(wire.Header{Op: wire.OpHello}, 1, 2, 3), "a hello of 3 bytes is too short for a secret of 32"},
			{head(wire.Header{Op: wire.OpHello, Sequence: 1}), "sent frame 1 to server1 where frame 0 is due"},
		} {
			nc, err := linktest.DialBare(l)
			commtest.Must(t, err)
			_, _ = nc.Write(c.garbage) // the listener may hang up before everything is sent
			if got := refusal(t, nc); !strings.Contains(got, c.want) {
				t.Errorf("garbage was refused with %q, want %q", got, c.want)
			}
			_ = nc.Close() // the listener has hung up already, which is an error for TLS
		}
		// The bytes are shorter than gRPC's own greeting and differ from it.
		nc, err := linktest.DialBare(l)
		commtest.Must(t, err)
		_, err = nc.Write(bytes.Repeat([]byte("garbage!"), 100))
		commtest.Must(t, err)
		commtest.Must(t, nc.SetReadDeadline(time.Now().Add(linktest.Patience)))
		for err = nil; err == nil; {
			_, err = nc.Read(make([]byte, 100))
		}
		if os.IsTimeout(err) {
			t.Error("the listener did not hang up on garbage")
		}
		commtest.Must(t, nc.Close())
		c, err := n.Dial(l.Address(),
			wire.Call{From: "trainer0", To: "server1", Purpose: "push", Secret: linktest.TestSecret,
				Timeout: linktest.Patience})
		commtest.Must(t, err)
		commtest.Must(t, c.Close())
	})
}

func TestListenerDeadlinesAndClose(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		l := linktest.Listen(t, n, "server1")
		var wait *comm.WaitError
		if _, err := l.Accept("push", "trainer3", 10*time.Millisecond); !errors.As(err, &wait) ||
			wait.For[0] != "trainer3" {
			t.Fatalf("accepting nobody gave %v", err)
		}
		silent, err := linktest.DialBare(l)
		commtest.Must(t, err)
		defer func() { _ = silent.Close() }()
		unclaimed, err := n.Dial(l.Address(),
			wire.Call{From: "trainer0", To: "server1", Purpose: "push", Secret: linktest.TestSecret,
				Timeout: linktest.Patience})
		commtest.Must(t, err)
		defer func() { _ = unclaimed.Close() }()
		kept, err := n.Dial(l.Address(),
			wire.Call{From: "trainer1", To: "server1", Purpose: "push", Secret: linktest.TestSecret,
				Timeout: linktest.Patience})
		commtest.Must(t, err)
		defer func() { _ = kept.Close() }()
		mine, err := l.Accept("push", "trainer1", linktest.Patience)
		commtest.Must(t, err)
		defer func() { _ = mine.Close() }()

		waiting := make(chan error)
		go func() {
			_, err := l.Accept("push", "trainer4", linktest.Patience)
			waiting <- err
		}()
		start := time.Now()
		commtest.Must(t, l.Close())
		commtest.Must(t, l.Close())
		if err := <-waiting; !errors.Is(err, net.ErrClosed) {
			t.Fatalf("a pending accept ended with %v", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Fatalf("closing took %v, want it at once", took)
		}
		var peer *comm.PeerError
		if err := unclaimed.ReadHeader(&wire.Header{}); !errors.As(err, &peer) {
			t.Fatalf("an unclaimed link ended with %v", err)
		}
		commtest.Must(t, mine.Send(&wire.Header{Op: wire.OpUser}))
		commtest.Must(t, kept.ReadHeader(&wire.Header{})) // an accepted link stays open after its listener closes
		if _, err := os.Stat(strings.TrimPrefix(l.Address(), "unix:")); n == wire.Unix && !os.IsNotExist(err) {
			t.Fatalf("the socket is still there: %v", err)
		}
		if _, err := n.Dial(l.Address(), wire.Call{From: "trainer0", To: "server1", Purpose: "push",
			Secret: linktest.TestSecret, Timeout: linktest.Patience}); err == nil ||
			!strings.Contains(err.Error(), "trainer0 cannot reach server1 for its push link") {
			t.Fatalf("dialling a closed listener gave %v", err)
		}
	})
}

func TestDialWaitsForTheAcknowledgement(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		kind, place := "tcp", "127.0.0.1:0"
		if n == wire.Unix {
			kind, place = "unix", filepath.Join(linktest.ShortDir(t), "mute")
		}
		mute, err := net.Listen(kind, place)
		commtest.Must(t, err)
		defer func() { _ = mute.Close() }()
		var wait *comm.WaitError
		if _, err := n.Dial(n.Name()+":"+mute.Addr().String(), wire.Call{From: "trainer0", To: "server1",
			Purpose: "push", Secret: linktest.TestSecret, Timeout: 50 * time.Millisecond}); !errors.As(err, &wait) ||
			wait.For[0] != "server1" || wait.Seconds != 0.05 {
			t.Fatalf("dialling a mute listener gave %v", err)
		}
	})
}

func TestListenerAddressNamesItsNetwork(t *testing.T) {
	for _, n := range linktest.Networks {
		l := linktest.Listen(t, n, "server1")
		if !strings.HasPrefix(l.Address(), n.Name()+":") {
			t.Errorf("a %s listener is at %s", n.Name(), l.Address())
		}
	}
}
