package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/comm/wire/grpc"
)

func TestFramesOfManySendersStayWhole(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		a, b := linktest.Link(t, n, "trainer0", "server1")
		const senders, frames, size = 4, 20, 100_000
		var wg sync.WaitGroup
		for s := range senders {
			wg.Go(func() {
				head, tail := bytes.Repeat([]byte{byte(s)}, 7), bytes.Repeat([]byte{byte(s)}, size-7)
				for range frames {
					if err := a.Send(&wire.Header{Op: wire.OpUser, Arg: int64(s)}, head, nil, tail); err != nil {
						t.Error(err)
					}
				}
			})
		}
		buf := make([]byte, size)
		for range senders * frames {
			var h wire.Header
			commtest.Must(t, b.ReadHeader(&h))
			if h.Payload != size {
				t.Fatalf("a frame has %d bytes, want %d", h.Payload, size)
			}
			commtest.Must(t, b.ReadFull(buf))
			if n := bytes.Count(buf, []byte{byte(h.Arg)}); n != size {
				t.Fatalf("a frame of sender %d holds %d of its bytes, want %d", h.Arg, n, size)
			}
		}
		wg.Wait()
		if a.Peer() != "server1" || b.Peer() != "trainer0" || b.Self() != "server1" {
			t.Fatalf("names are %s, %s, %s", a.Peer(), b.Peer(), b.Self())
		}
	})
}

func TestConnErrorsNameThePeer(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		a, b := linktest.Link(t, n, "trainer0", "server1")
		commtest.Must(t, a.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
		var wait *comm.WaitError
		var h wire.Header
		if err := a.ReadHeader(&h); !errors.As(err, &wait) || wait.For[0] != "server1" || wait.Waiter != "trainer0" {
			t.Fatalf("reading past the deadline gave %v", err)
		}
		commtest.Must(t, b.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
		if err := b.Send(&wire.Header{Op: wire.OpUser}, make([]byte, 64<<20)); !errors.As(err, &wait) ||
			wait.For[0] != "trainer0" {
			t.Fatalf("sending past the deadline gave %v", err)
		}
		commtest.Must(t, b.Close())
		commtest.Must(t, b.Close())
		commtest.Must(t, a.SetReadDeadline(time.Time{}))
		var peer *comm.PeerError
		if err := a.ReadFull(make([]byte, 65<<20)); !errors.As(err, &peer) || peer.Peer != "server1" {
			t.Fatalf("reading from a closed peer gave %v", err)
		}
		var err error
		for range 100 { // over TCP the first frames may still be sent
			if err = a.Send(&wire.Header{Op: wire.OpUser}); err != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if !errors.As(err, &peer) {
			t.Fatalf("sending to a closed peer gave %v", err)
		}
	})
}

// Sending allocates nothing. Over TLS, reading a frame of one record allocates
// one object, in crypto/tls.
func TestSendDoesNotAllocate(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		most := 0.0
		switch n {
		case grpc.Network, linktest.GRPCOverTLS:
			return // gRPC allocates for each message
		case linktest.TLS:
			most = 1
		}
		a, b := linktest.Link(t, n, "trainer0", "server1")
		payload, into := make([]byte, 1000), make([]byte, 1000)
		var out, in wire.Header
		allocs := testing.AllocsPerRun(200, func() {
			out = wire.Header{Op: wire.OpUser}
			commtest.Must(t, a.Send(&out, payload[:500], payload[500:]))
			commtest.Must(t, b.ReadHeader(&in))
			commtest.Must(t, b.ReadFull(into))
		})
		if allocs > most {
			t.Errorf("a frame allocates %g times, want %g", allocs, most)
		}
	})
}

// TestFramesOutOfPlaceAreRefused sends whole frames that are not the next frame
// of their link.
func TestFramesOutOfPlaceAreRefused(t *testing.T) {
	frame := func(h wire.Header) []byte {
		var buf [wire.HeaderSize]byte
		h.Encode(&buf)
		return buf[:]
	}
	for want, forge := range map[string]func(next wire.Header, other *wire.Conn) []byte{
		"trainer0 sent frame 0 to server1 where frame 1 is due: a frame was lost, repeated or reordered": func(next wire.Header, _ *wire.Conn) []byte {
			next.Sequence--
			return frame(next)
		},
		"trainer0 sent frame 7 to server1 where frame 1 is due": func(next wire.Header, _ *wire.Conn) []byte {
			next.Sequence = 7
			return frame(next)
		},
		"trainer0 sent a frame of another link to server1": func(next wire.Header, other *wire.Conn) []byte {
			_, h := other.Hijack()
			next.Link = h.Link
			return frame(next)
		},
		"sent frame 1 to server1 where frame 2 is due": func(next wire.Header, _ *wire.Conn) []byte {
			return append(frame(next), frame(next)...)
		},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			a, b := linktest.Link(t, wire.Unix, "trainer0", "server1")
			other, _ := linktest.Link(t, wire.Unix, "trainer0", "server1")
			nc, next := a.Hijack()
			next.Op = wire.OpUser
			_, err := nc.Write(forge(next, other))
			commtest.Must(t, err)
			commtest.Must(t, a.Close())
			var h wire.Header
			for err = nil; err == nil; {
				err = b.ReadHeader(&h)
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("a forged frame gave %v, want %q", err, want)
			}
		})
	}
	a, b := linktest.Link(t, wire.Unix, "trainer0", "server1")
	commtest.Must(t, a.Send(&wire.Header{Op: wire.OpUser}))
	reflected := make([]byte, wire.HeaderSize)
	commtest.Must(t, b.ReadFull(reflected))
	nc, _ := b.Hijack()
	_, err := nc.Write(reflected)
	commtest.Must(t, err)
	if err := a.ReadHeader(&wire.Header{}); err == nil ||
		err.Error() != "server1 sent a frame of another link to trainer0" {
		t.Errorf("a reflected frame gave %v", err)
	}
}
