package wire

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
)

// Listener accepts the links that other ranks dial. Listener keeps each link
// until its rank asks for the link. Listener belongs to one rank.
type Listener struct {
	self   string
	secret [SecretSize]byte
	at     endpoint
	keys   keys
	ln     net.Listener

	mu        sync.Mutex
	closed    bool
	greetings map[net.Conn]bool // connections that are not links yet
	links     map[linkKey]*expectedLink
	done      chan struct{}  // closed by Close
	workers   sync.WaitGroup // the accept loop and all greetings
}

type linkKey struct{ purpose, from string }

// expectedLink is the entry of one link. An entry is made when its rank asks
// for the link or when the link arrives, whichever is first.
type expectedLink struct {
	came  bool
	ready chan *Conn // an arrived link that nobody has asked for yet; capacity 1
}

// Listen opens a socket for the rank named self: at a path, or at a free port
// of an IP address. A caller must know the run's secret of SecretSize bytes.
// Each link, identified by purpose and caller, is accepted once, so a repeated
// hello is refused.
func (n *Network) Listen(address, self string, secret []byte) (*Listener, error) {
	key, err := secretOf(secret)
	if err != nil {
		return nil, err
	}
	return n.listen(address, self, key)
}

func (n *Network) listen(address, self string, secret [SecretSize]byte) (*Listener, error) {
	l := &Listener{
		self: self, secret: secret, greetings: map[net.Conn]bool{},
		links: map[linkKey]*expectedLink{}, done: make(chan struct{}),
	}
	var err error
	if l.at, err = n.listenAt(address); err != nil {
		return nil, fmt.Errorf("%s cannot listen: %w", self, err)
	}
	if l.keys, err = l.at.keys(secret); err != nil {
		return nil, fmt.Errorf("%s cannot listen: %w", self, err)
	}
	if l.ln, err = net.Listen(n.socket, l.at.place()); err != nil {
		return nil, fmt.Errorf("%s cannot listen: %w", self, err)
	}
	if tcp, ok := l.ln.Addr().(*net.TCPAddr); ok {
		at := tcp.AddrPort()
		l.at.host = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	l.workers.Go(l.accept)
	return l, nil
}

// Beside returns a listener over network n for the rank of l, which must listen
// on a path. The result is l itself if l is on n. Otherwise it is a new
// listener, at a path next to l's or at a port of ip.
func (l *Listener) Beside(n *Network, ip string) (*Listener, error) {
	switch {
	case n == l.at.network:
		return l, nil
	case n.OnIP():
		return n.listen(ip, l.self, l.secret)
	}
	return n.listen(l.at.path+"."+n.name, l.self, l.secret)
}

// Address is the address that a peer passes to Dial.
func (l *Listener) Address() string { return l.at.String() }

// Close hangs up on all links that Accept has not returned, ends pending
// Accepts, waits for the listener's goroutines and removes the socket.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.done)
	err := l.ln.Close()
	for socket := range l.greetings {
		_ = socket.Close()
	}
	l.mu.Unlock()
	l.workers.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, link := range l.links {
		select {
		case c := <-link.ready:
			_ = c.Close()
		default:
		}
	}
	return err
}

// Accept waits for the link that the rank named from dials for this purpose.
// The error is a *WaitError if the link does not arrive in time.
func (l *Listener) Accept(purpose, from string, timeout time.Duration) (*Conn, error) {
	l.mu.Lock()
	link := l.link(linkKey{purpose, from})
	l.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case c := <-link.ready:
		return c, nil
	case <-timer.C:
		return nil, &comm.WaitError{Waiter: l.self, For: []string{from}, What: "the " + purpose + " link",
			Seconds: timeout.Seconds()}
	case <-l.done:
		return nil, fmt.Errorf("%s stopped listening while it waited for the %s link from %s: %w", l.self, purpose,
			from, net.ErrClosed)
	}
}

// link returns the entry of one link. The caller holds mu.
func (l *Listener) link(key linkKey) *expectedLink {
	if l.links[key] == nil {
		l.links[key] = &expectedLink{ready: make(chan *Conn, 1)}
	}
	return l.links[key]
}

func randomNumber() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
