package wire_test

import (
	"crypto/tls"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/identity"
)

// clientHello is the first message of a TLS client.
func clientHello(t testing.TB) []byte {
	t.Helper()
	known, err := identity.Of(linktest.TestSecret, "links")
	commtest.Must(t, err)
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	go func() {
		_ = tls.Client(ours, known.Client()).Handshake()
		_ = ours.Close()
	}()
	first := make([]byte, 16<<10)
	n, err := theirs.Read(first)
	commtest.Must(t, err)
	return first[:n]
}

// Many strangers take few descriptors and little memory, and do not block known
// callers. Some send nothing; others begin a gRPC call or a TLS handshake.
func TestStrangersAreFew(t *testing.T) {
	const strangers = 3 * wire.MaxGreetings
	hello := clientHello(t)
	openings := [][]byte{
		nil, []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"), hello[:len(hello)-1],
		hello,
	}
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		l := linktest.Listen(t, n, "server1")
		descriptors := func() int {
			open, err := os.ReadDir("/proc/self/fd")
			commtest.Must(t, err)
			return len(open)
		}
		heap := func() int {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		before, heapBefore := descriptors(), heap()
		for i := range strangers {
			nc, err := linktest.DialSocket(l)
			commtest.Must(t, err)
			defer func() { _ = nc.Close() }()
			_, _ = nc.Write(openings[i%len(openings)])
		}
		linked := make(chan error, 1)
		go func() {
			c, err := n.Dial(l.Address(),
				wire.Call{From: "trainer0", To: "server1", Purpose: "push", Secret: linktest.TestSecret,
					Timeout: linktest.Patience})
			if err == nil {
				err = c.Close()
			}
			linked <- err
		}()
		most := 0
		for {
			most = max(most, descriptors()-before-strangers)
			select {
			case err := <-linked:
				commtest.Must(t, err)
				if want := wire.MaxGreetings + 16; most > want { // for the listener, the caller and the test
					t.Errorf("%d descriptors are open for strangers, want at most %d", most, want)
				}
				if grown := heap() - heapBefore; grown > 4<<20 {
					t.Errorf("the heap has %d bytes more", grown)
				}
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
}

// A caller calls again if a crowded listener hangs up on it.
func TestDialCallsAgain(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	commtest.Must(t, err)
	defer func() { _ = ln.Close() }()
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		_ = nc.Close()
		if nc, err = ln.Accept(); err != nil {
			return
		}
		c := wire.NewConn(nc, "server1", "trainer0")
		_ = c.NextHeader(&wire.Header{})
		_ = c.Send(&wire.Header{Op: wire.OpAck, Arg: 1})
	}()
	c, err := wire.TCP.Dial("tcp:"+ln.Addr().String(),
		wire.Call{From: "trainer0", To: "server1", Purpose: "push", Secret: linktest.TestSecret,
			Timeout: linktest.Patience})
	commtest.Must(t, err)
	commtest.Must(t, c.Close())
}
