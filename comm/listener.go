package comm

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// helloTimeout bounds the time between connect and hello.
const helloTimeout = 5 * time.Second

// Listener takes the links that other ranks dial and keeps each until the rank
// itself asks for it. It belongs to one rank.
type Listener struct {
	self   string
	secret [SecretSize]byte
	at     endpoint
	ln     net.Listener

	mu       sync.Mutex
	closed   bool
	greeting map[net.Conn]bool // connected, hello not yet accepted
	links    map[linkKey]*expectedLink
	done     chan struct{}  // closed by Close
	workers  sync.WaitGroup // the accept loop and the greetings
}

type linkKey struct{ purpose, from string }

// expectedLink is the place of one link, made when it is asked for or when it
// comes.
type expectedLink struct {
	came  bool
	ready chan *Conn // accepted, not yet asked for; capacity 1
}

// Listen opens a socket for the rank named self: on Shm and Unix the path that is
// its address; on TCP and GRPC a port of its choice on address, a loopback IP
// address. A caller must know the run's secret of SecretSize bytes. Each link, by
// purpose and caller, is accepted once, so that nobody can repeat a hello.
func Listen(network Transport, address, self string, secret []byte) (*Listener, error) {
	l := &Listener{
		self: self, greeting: map[net.Conn]bool{}, links: map[linkKey]*expectedLink{},
		done: make(chan struct{}),
	}
	var err error
	if l.secret, err = secretOf(secret); err != nil {
		return nil, err
	}
	if l.at, err = listenEndpoint(network, address); err != nil {
		return nil, fmt.Errorf("%s cannot listen: %w", self, err)
	}
	if l.ln, err = net.Listen(l.at.dialect(), l.at.place()); err != nil {
		return nil, fmt.Errorf("%s cannot listen: %w", self, err)
	}
	if tcp, ok := l.ln.Addr().(*net.TCPAddr); ok {
		at := tcp.AddrPort()
		l.at.host = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	l.workers.Go(l.accept)
	return l, nil
}

// Address is what a peer passes to Dial.
func (l *Listener) Address() string { return l.at.String() }

// Close hangs up on all links that nobody asked for, ends pending Accepts,
// waits for the listener's goroutines and removes the socket.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.done)
	err := l.ln.Close()
	for socket := range l.greeting {
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

// Accept waits for the link that the rank named from dials for purpose. The
// error is a *WaitError if it does not come in time.
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
		return nil, &WaitError{Waiter: l.self, For: []string{from}, What: "the " + purpose + " link", Seconds: timeout.Seconds()}
	case <-l.done:
		return nil, fmt.Errorf("%s stopped listening while it waited for the %s link from %s: %w", l.self, purpose, from, net.ErrClosed)
	}
}

// link is the place of one link; the caller holds mu.
func (l *Listener) link(key linkKey) *expectedLink {
	if l.links[key] == nil {
		l.links[key] = &expectedLink{ready: make(chan *Conn, 1)}
	}
	return l.links[key]
}

func (l *Listener) accept() {
	for {
		socket, err := l.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, most likely: those in use will be freed.
			select {
			case <-l.done:
				return
			case <-time.After(10 * time.Millisecond):
				continue
			}
		}
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			_ = socket.Close()
			return
		}
		l.greeting[socket] = true
		l.workers.Go(func() { l.greet(socket) })
		l.mu.Unlock()
	}
}

// greet reads the hello that comes over socket and files the link, or says why
// not and hangs up.
func (l *Listener) greet(socket net.Conn) {
	defer func() {
		l.mu.Lock()
		delete(l.greeting, socket)
		l.mu.Unlock()
	}()
	tune(socket)
	nc, err := l.open(socket)
	if err != nil {
		_ = socket.Close()
		return
	}
	c := newConn(nc, l.self, "an unknown caller")
	m, err := l.readHello(c)
	if err == nil {
		c.peer = m.from
		err = l.file(c, m, socket)
	}
	if err != nil {
		if !broken(err) && !errors.Is(err, net.ErrClosed) {
			_ = c.Send(&Header{Op: opRefuse}, []byte(err.Error()))
		}
		_ = c.Close()
	}
}

// open makes a stream of bytes of a socket and bounds the greeting.
func (l *Listener) open(socket net.Conn) (nc net.Conn, err error) {
	deadline := time.Now().Add(helloTimeout)
	nc = socket
	if l.at.network == GRPC {
		if nc, err = acceptGRPC(socket, deadline); err != nil {
			return nil, err
		}
	}
	return nc, nc.SetDeadline(deadline)
}

func (l *Listener) readHello(c *Conn) (m hello, err error) {
	var h Header
	if err = c.readHeader(&h); err != nil {
		return m, err
	}
	if h.Op != opHello || h.Payload > maxHello {
		return m, fmt.Errorf("operation %d with %d bytes is not a hello", h.Op, h.Payload)
	}
	body := make([]byte, h.Payload)
	if err = c.readFull(body); err != nil {
		return m, err
	}
	if m, err = decodeHello(body); err != nil {
		return m, err
	}
	if subtle.ConstantTimeCompare(m.secret[:], l.secret[:]) != 1 {
		return m, errors.New("the secret is of another run")
	}
	return m, nil
}

// file acknowledges c, which runs over socket, and puts it where Accept finds it. The acknowledgement
// goes first, for the link belongs to Accept's caller from then on; it fits
// the empty socket buffer and so does not hold the lock up.
func (l *Listener) file(c *Conn, m hello, socket net.Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	if m.to != l.self {
		return fmt.Errorf("the hello is for %s but this is %s", m.to, l.self)
	}
	link := l.link(linkKey{m.purpose, m.from})
	if link.came {
		return fmt.Errorf("%s has had its %s link from %s: a hello opens one link", l.self, m.purpose, m.from)
	}
	number := randomNumber()
	if err := c.Send(&Header{Op: opAck, Arg: int64(number)}); err != nil { // #nosec G115 -- the bits of a number
		return err
	}
	c.adopt(number, false)
	if err := c.lift(); err != nil {
		return err
	}
	delete(l.greeting, socket) // Close leaves it alone from now on
	link.came = true
	link.ready <- c
	return nil
}

func randomNumber() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
