package comm

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// helloTimeout bounds the time between connect and hello.
	helloTimeout = 5 * time.Second
	// maxSocketPath is what the kernel takes for the path of a socket.
	maxSocketPath = 107
)

// Listener takes the links that other ranks dial and keeps each until the rank
// itself asks for it. It belongs to one rank.
type Listener struct {
	self   string
	secret [SecretSize]byte
	path   string
	ln     net.Listener

	mu       sync.Mutex
	closed   bool
	greeting map[*Conn]bool         // connected, hello not yet read
	waiting  map[linkKey]chan *Conn // accepted, not yet asked for; capacity 1
	done     chan struct{}          // closed by Close
	workers  sync.WaitGroup         // the accept loop and the greetings
}

type linkKey struct{ purpose, from string }

// Listen opens the Unix socket path for the rank named self. A caller must
// know the run's secret of SecretSize bytes; whoever does not is hung up on.
func Listen(path, self string, secret []byte) (*Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the socket path %s of %s has %d bytes, more than the kernel's limit of %d", path, self, len(path), maxSocketPath)
	}
	l := &Listener{
		self: self, path: path,
		greeting: map[*Conn]bool{}, waiting: map[linkKey]chan *Conn{},
		done: make(chan struct{}),
	}
	var err error
	if l.secret, err = secretOf(secret); err != nil {
		return nil, err
	}
	if l.ln, err = net.Listen("unix", path); err != nil {
		return nil, fmt.Errorf("%s cannot listen: %w", self, err)
	}
	l.workers.Go(l.accept)
	return l, nil
}

// Address is what a peer passes to Dial.
func (l *Listener) Address() string { return l.path }

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
	for c := range l.greeting {
		_ = c.Close()
	}
	for _, links := range l.waiting {
		select {
		case c := <-links:
			_ = c.Close()
		default:
		}
	}
	l.mu.Unlock()
	l.workers.Wait()
	return err
}

// Accept waits for the link that the rank named from dials for purpose. The
// error is a *WaitError if it does not come in time.
func (l *Listener) Accept(purpose, from string, timeout time.Duration) (*Conn, error) {
	l.mu.Lock()
	links := l.links(linkKey{purpose, from})
	l.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case c := <-links:
		return c, nil
	case <-timer.C:
		return nil, &WaitError{Waiter: l.self, For: []string{from}, What: "the " + purpose + " link", Seconds: timeout.Seconds()}
	case <-l.done:
		return nil, fmt.Errorf("%s stopped listening while it waited for the %s link from %s: %w", l.self, purpose, from, net.ErrClosed)
	}
}

// links is the place of one link; the caller holds mu.
func (l *Listener) links(key linkKey) chan *Conn {
	if l.waiting[key] == nil {
		l.waiting[key] = make(chan *Conn, 1)
	}
	return l.waiting[key]
}

func (l *Listener) accept() {
	for {
		nc, err := l.ln.Accept()
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
		c := newConn(nc, l.self, "an unknown caller")
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			_ = c.Close()
			return
		}
		l.greeting[c] = true
		l.workers.Go(func() { l.greet(c) })
		l.mu.Unlock()
	}
}

// greet reads the hello of c and files c, or hangs up.
func (l *Listener) greet(c *Conn) {
	m, err := l.readHello(c)
	if err == nil {
		c.peer = m.from
		err = l.file(c, linkKey{m.purpose, m.from}, m.to)
	}
	l.mu.Lock()
	delete(l.greeting, c)
	l.mu.Unlock()
	if err != nil {
		_ = c.Close()
	}
}

var errSecret = errors.New("the secret is wrong")

func (l *Listener) readHello(c *Conn) (m hello, err error) {
	if err = c.nc.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return m, err
	}
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
		return m, errSecret
	}
	return m, nil
}

// file acknowledges c and puts it where Accept finds it. The acknowledgement
// goes first, for the link belongs to Accept's caller from then on; it fits
// the empty socket buffer and so does not hold the lock up.
func (l *Listener) file(c *Conn, key linkKey, to string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	links := l.links(key)
	var reason string
	switch {
	case l.closed:
		return net.ErrClosed
	case to != l.self:
		reason = fmt.Sprintf("the hello is for %s but this is %s", to, l.self)
	case len(links) > 0:
		reason = fmt.Sprintf("%s already holds a %s link from %s", l.self, key.purpose, key.from)
	}
	if reason != "" {
		_ = c.Send(&Header{Op: opRefuse}, []byte(reason))
		return errors.New(reason)
	}
	if err := c.Send(&Header{Op: opAck}); err != nil {
		return err
	}
	if err := c.lift(); err != nil {
		return err
	}
	links <- c
	return nil
}
