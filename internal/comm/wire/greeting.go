package wire

import (
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Whoever reaches the socket of a listener may be a stranger: another user of the
// host, on TCP; anybody on the network, where it is inside TLS. Until a caller has proved
// that it knows the secret, it holds a descriptor, readAhead bytes and what a handshake
// needs, for a bounded time, and there are at most maxGreetings of its kind. The
// others wait in the kernel's queue, which costs this process nothing, and as long as
// any wait, each greeting gets less time.
const (
	helloTimeout   = 5 * time.Second // between connect and hello
	crowdedTimeout = 250 * time.Millisecond
	maxGreetings   = 32
)

// greeting is a connection that is not a link yet.
type greeting struct {
	since  time.Time
	proved bool // the caller knows the secret
}

// begin starts the greeting of a caller as soon as there is a place; false means that
// the listener was closed meanwhile.
func (l *Listener) begin(socket net.Conn) bool {
	select {
	case l.places <- struct{}{}:
	default:
		l.hurry()
		select {
		case l.places <- struct{}{}:
		case <-l.done:
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	g := &greeting{since: time.Now()}
	if socket.SetDeadline(g.since.Add(helloTimeout)) != nil {
		_ = socket.Close() // its greeting ends at once
	}
	l.greetings[socket] = g
	l.workers.Go(func() { l.greet(socket) })
	return true
}

// hurry shortens the time of those who may be strangers.
func (l *Listener) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for socket, g := range l.greetings {
		if !g.proved {
			_ = socket.SetDeadline(g.since.Add(crowdedTimeout))
		}
	}
}

// greet reads the hello that comes over socket and files the link, or says why
// not and hangs up. Whom TLS does not let in is told nothing.
func (l *Listener) greet(socket net.Conn) {
	defer func() {
		l.mu.Lock()
		delete(l.greetings, socket)
		l.mu.Unlock()
	}()
	c := NewConn(socket, l.self, "an unknown caller")
	if l.keys.tls != nil && c.seal(tls.Server, l.keys.tls.Server()) != nil {
		<-l.places
		_ = c.Close()
		return
	}
	link, err := l.admit(c, socket)
	<-l.places
	if err == nil {
		err = c.raise(l.at.network.accepted, time.Now().Add(helloTimeout))
	}
	if err == nil {
		err = l.file(c, link, socket)
	}
	if err != nil {
		if !broken(err) && !errors.Is(err, net.ErrClosed) {
			_ = c.Send(&Header{Op: OpRefuse}, []byte(err.Error()))
		}
		_ = c.Close()
	}
}

// admit reads the hello of c, which runs over socket, and acknowledges it. It gives the
// place of the link.
func (l *Listener) admit(c *Conn, socket net.Conn) (*expectedLink, error) {
	m, err := l.readHello(c)
	if err != nil {
		return nil, err
	}
	c.peer = m.from
	return l.acknowledge(c, m, socket)
}

func (l *Listener) readHello(c *Conn) (m hello, err error) {
	var h Header
	if err = c.NextHeader(&h); err != nil {
		return m, err
	}
	if h.Op != OpHello || h.Payload > maxHello {
		return m, fmt.Errorf("operation %d with %d bytes is not a hello", h.Op, h.Payload)
	}
	body := make([]byte, h.Payload)
	if err = c.Fill(body); err != nil {
		return m, err
	}
	if m, err = decodeHello(body); err != nil {
		return m, err
	}
	if subtle.ConstantTimeCompare(m.secret[:], l.keys.hello[:]) != 1 {
		return m, errors.New("the secret is of another run")
	}
	return m, nil
}

// acknowledge tells a caller that knows the secret that it has its link. The
// acknowledgement fits the empty socket buffer and so does not hold the lock up.
func (l *Listener) acknowledge(c *Conn, m hello, socket net.Conn) (*expectedLink, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	if m.to != l.self {
		return nil, fmt.Errorf("the hello is for %s but this is %s", m.to, l.self)
	}
	link := l.link(linkKey{m.purpose, m.from})
	if link.came {
		return nil, fmt.Errorf("%s has had its %s link from %s: a hello opens one link", l.self, m.purpose, m.from)
	}
	number := randomNumber()
	if err := c.Send(&Header{Op: OpAck, Arg: int64(number)}); err != nil { // #nosec G115 -- the bits of a number
		return nil, err
	}
	c.adopt(number, false)
	if err := c.Lift(); err != nil {
		return nil, err
	}
	tune(socket)
	l.greetings[socket].proved, link.came = true, true
	return link, nil
}

// file puts c, which runs over socket, where Accept finds it: from then on it belongs
// to Accept's caller.
func (l *Listener) file(c *Conn, link *expectedLink, socket net.Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	delete(l.greetings, socket) // Close leaves it alone from now on
	link.ready <- c
	return nil
}
