package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Types of TLS records, which are the first byte of each record.
const (
	recordHandshake = 0x16
	recordData      = 0x17
)

// tap is an attacker on the network between two hosts. tap reads all bytes and
// can change them.
type tap struct {
	t     *testing.T
	ln    net.Listener
	to    string
	flip  int // index of the caller's byte in which tap flips a bit; -1: none
	mu    sync.Mutex
	heard [2][]byte // bytes from the caller, bytes from the listener
	ways  sync.WaitGroup
}

// newTap puts a tap in front of the listener; it ends with the test.
func newTap(t *testing.T, l *wire.Listener, flip int) *tap {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(linktest.HostIP(t), "0"))
	commtest.Must(t, err)
	_, to, _ := strings.Cut(l.Address(), ":")
	p := &tap{t: t, ln: ln, to: to, flip: flip}
	p.ways.Go(func() {
		for {
			caller, err := ln.Accept()
			if err != nil {
				return
			}
			called, err := net.Dial("tcp", to)
			if err != nil {
				_ = caller.Close()
				return
			}
			p.ways.Go(func() { p.carry(0, caller, called) })
			p.ways.Go(func() { p.carry(1, called, caller) })
		}
	})
	t.Cleanup(p.close)
	return p
}

func (p *tap) close() {
	_ = p.ln.Close()
	p.ways.Wait()
}

// carry copies one direction until its end, and then closes both.
func (p *tap) carry(way int, from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf := make([]byte, 32<<10)
	for at := p.flip; ; {
		n, err := from.Read(buf)
		if way == 0 && at >= 0 && at < n {
			buf[at] ^= 1
		}
		at -= n
		p.mu.Lock()
		p.heard[way] = append(p.heard[way], buf[:n]...)
		p.mu.Unlock()
		if _, werr := to.Write(buf[:n]); werr != nil || err != nil {
			return
		}
	}
}

func (p *tap) address(n *wire.Network) string { return n.Name() + ":" + p.ln.Addr().String() }

// converse dials through p and sends a frame with this payload back and forth.
func (p *tap) converse(n *wire.Network, l *wire.Listener, payload []byte, timeout time.Duration) error {
	a, err := n.Dial(p.address(n),
		wire.Call{From: "trainer0", To: "server1", Purpose: "push", Secret: linktest.TestSecret, Timeout: timeout})
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	b, err := l.Accept("push", "trainer0", timeout)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	commtest.Must(p.t, a.SetDeadline(time.Now().Add(timeout)))
	commtest.Must(p.t, b.SetDeadline(time.Now().Add(timeout)))
	sent := make(chan error, 1)
	go func() { sent <- a.Send(&wire.Header{Op: wire.OpUser}, payload[:7], payload[7:]) }()
	got, err := receive(b)
	if err == nil {
		err = b.Send(&wire.Header{Op: wire.OpUser}, got)
	}
	if err == nil {
		got, err = receive(a)
	}
	if err != nil { // the other side may wait for a lost frame
		_, _ = a.Close(), b.Close()
	}
	if serr := <-sent; err == nil {
		err = serr
	}
	if err == nil && !bytes.Equal(got, payload) {
		p.t.Errorf("%d bytes came back changed, and nobody noticed", len(payload))
	}
	return err
}

func receive(c *wire.Conn) ([]byte, error) {
	var h wire.Header
	if err := c.ReadHeader(&h); err != nil {
		return nil, err
	}
	buf := make([]byte, min(h.Payload, 1<<24))
	return buf, c.ReadFull(buf)
}

// With TLS, an attacker on the network sees only full TLS records, from the
// first byte on, and nothing of the greeting or the frames. Without TLS it sees
// everything except the secret.
func TestWhatTheNetworkHears(t *testing.T) {
	payload := bytes.Repeat([]byte("gradient"), 40_000)
	secrets := [][]byte{linktest.TestSecret, []byte("trainer0"), []byte("server1"), []byte("push"), []byte("psbf"),
		[]byte("gradient"), []byte("PRI * HTTP/2")}
	for i, n := range []*wire.Network{linktest.TLS, linktest.GRPCOverTLS} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			l := linktest.Listen(t, n, "server1")
			p := newTap(t, l, -1)
			commtest.Must(t, p.converse(n, l, payload, linktest.Patience))
			p.close()
			for way, heard := range p.heard {
				if heard[0] != recordHandshake {
					t.Errorf("%s, way %d: the first byte is %#02x", n.Name(), way, heard[0])
				}
				for _, secret := range secrets {
					if bytes.Contains(heard, secret) {
						t.Errorf("%s, way %d: %q was heard", n.Name(), way, secret)
					}
				}
				if n == linktest.TLS {
					requireFull(t, heard, wire.HeaderSize+len(payload))
				}
			}
		})
	}
	plain := wire.TCP.Insecure()
	l, err := plain.Listen(linktest.HostIP(t), "server1", linktest.TestSecret)
	commtest.Must(t, err)
	defer func() { _ = l.Close() }()
	p := newTap(t, l, -1)
	commtest.Must(t, p.converse(plain, l, payload, linktest.Patience))
	p.close()
	if !bytes.Contains(p.heard[0], payload) {
		t.Error("a network without TLS still hides what goes over it")
	}
	if bytes.Contains(p.heard[0], linktest.TestSecret) {
		t.Error("a network without TLS hears the secret, which protects more than links")
	}
}

// requireFull requires that a stream carries these bytes of a frame, after the
// greeting, in as few records as possible.
func requireFull(t *testing.T, stream []byte, frame int) {
	t.Helper()
	const most, tag = 16 << 10, 17 // TLS overhead per record: its type and the authentication tag
	full := 0
	for len(stream) >= 5 {
		n := int(binary.BigEndian.Uint16(stream[3:]))
		if stream[0] == recordData && n == most+tag {
			full++
		}
		stream = stream[5+n:]
	}
	if full != frame/most {
		t.Errorf("a frame of %d bytes went in %d full records, want %d", frame, full, frame/most)
	}
}

// Whichever bit the network flips, the link is not opened or breaks.
func TestTheNetworkChangesABit(t *testing.T) {
	l := linktest.Listen(t, linktest.TLS, "server1")
	whole := newTap(t, l, -1)
	commtest.Must(t, whole.converse(linktest.TLS, l, make([]byte, 40_000), linktest.Patience))
	whole.close()
	length := len(whole.heard[0])
	for i := range 12 {
		l := linktest.Listen(t, linktest.TLS, "server1")
		at := i * (length - 1) / 11
		if err := newTap(t, l, at).converse(linktest.TLS, l, make([]byte, 40_000), time.Second); err == nil {
			t.Errorf("byte %d of %d was changed, and nobody noticed", at, length)
		}
	}
}

// An attacker cannot open another link by replaying recorded bytes.
func TestTheNetworkSaysItAgain(t *testing.T) {
	l := linktest.Listen(t, linktest.TLS, "server1")
	p := newTap(t, l, -1)
	commtest.Must(t, p.converse(linktest.TLS, l, make([]byte, 100), linktest.Patience))
	p.close()
	again := linktest.Listen(t, linktest.TLS, "server1")
	nc, err := linktest.DialSocket(again)
	commtest.Must(t, err)
	defer func() { _ = nc.Close() }()
	_, _ = nc.Write(p.heard[0])
	commtest.Must(t, nc.SetReadDeadline(time.Now().Add(linktest.Patience)))
	_, _ = io.Copy(io.Discard, nc)
	commtest.Must(t, again.Close())
	if again.Links() > 0 {
		t.Error("a recorded greeting opened a link")
	}
}

// If only one side uses TLS, no link is opened.
func TestOneSideWithoutTLS(t *testing.T) {
	plain := wire.TCP.Insecure()
	for what, c := range map[string]struct {
		listens, dials *wire.Network
		want           string
	}{
		"a caller without TLS": {wire.TCP, plain, "trainer0 lost"},
		"a listener without TLS": {plain, wire.TCP,
			"trainer0 does not open its push link to the process at the address of server1"},
	} {
		t.Run(what, func(t *testing.T) {
			l, err := c.listens.Listen(linktest.HostIP(t), "server1", linktest.TestSecret)
			commtest.Must(t, err)
			_, err = c.dials.Dial(l.Address(),
				wire.Call{From: "trainer0", To: "server1", Purpose: "push", Secret: linktest.TestSecret,
					Timeout: time.Second})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s gave %v, want %q", what, err, c.want)
			}
			commtest.Must(t, l.Close())
			if l.Links() > 0 {
				t.Errorf("%s has a link", what)
			}
		})
	}
}

// A stranger receives nothing but a TLS alert, and the listener hangs up on it,
// however much it sends.
func TestStrangersToTLS(t *testing.T) {
	hello := clientHello(t)
	endless := append([]byte{recordHandshake, 3, 1, 0x40, 0}, bytes.Repeat([]byte{1, 0, 0xff, 0xff}, 16<<10)...)
	frame := linktest.Frames(linktest.Frame(wire.Header{Op: wire.OpHello}, make([]byte, 100)))
	for what, said := range map[string][]byte{
		"garbage":             bytes.Repeat([]byte("garbage!"), 100),
		"a frame":             frame,
		"a long handshake":    endless,
		"a hello with a typo": append(bytes.Clone(hello[:20]), bytes.Repeat([]byte{7}, len(hello)-20)...),
	} {
		t.Run(what, func(t *testing.T) {
			l := linktest.Listen(t, linktest.TLS, "server1")
			nc, err := linktest.DialSocket(l)
			commtest.Must(t, err)
			_, _ = nc.Write(said)
			commtest.Must(t, nc.SetReadDeadline(time.Now().Add(linktest.Patience)))
			answer, err := io.ReadAll(nc)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: the listener did not hang up", what)
			}
			requireNoFrame(t, what, answer)
			commtest.Must(t, nc.Close())
			commtest.Must(t, l.Close())
			if l.Links() > 0 {
				t.Errorf("%s left something behind", what)
			}
		})
	}
}

// requireNoFrame requires that answer consists only of TLS records, or is
// empty.
func requireNoFrame(t *testing.T, what string, answer []byte) {
	t.Helper()
	if len(answer) > 0 && (answer[0] < 0x14 || answer[0] > recordData) {
		t.Errorf("%s was answered %q", what, answer)
	}
}

func FuzzStranger(f *testing.F) {
	at := linktest.HostIP(f)
	hello := clientHello(f)
	f.Add(hello)
	f.Add(hello[:len(hello)/2])
	f.Add(append(bytes.Clone(hello), hello...))
	f.Add([]byte("psbf"))
	f.Add([]byte{recordHandshake, 3, 1, 0, 4, 1, 0, 0, 0})
	f.Add([]byte{recordData, 3, 3, 0, 1, 0})
	f.Fuzz(func(t *testing.T, stream []byte) {
		defer linktest.InTime("a listener")()
		l, err := wire.TCP.Listen(at, "server9", linktest.TestSecret)
		commtest.Must(t, err)
		defer func() { _ = l.Close() }()
		nc, err := linktest.DialSocket(l)
		commtest.Must(t, err)
		defer func() { _ = nc.Close() }()
		_, _ = nc.Write(stream)
		_ = nc.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(nc)
		requireNoFrame(t, "a stranger", answer)
		commtest.Must(t, l.Close())
		if l.Links() > 0 {
			t.Fatal("a stranger left something behind")
		}
	})
}
