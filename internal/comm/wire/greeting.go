package wire

import (
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/psbench/psbench/internal/strangers"
)

// A caller that has not proved that it knows the secret is a stranger. A
// stranger holds a descriptor, readAhead bytes and the memory of a handshake,
// for a limited time. At most maxGreetings strangers are served at once.
const (
	helloTimeout   = 5 * time.Second // between connect and hello
	crowdedTimeout = 250 * time.Millisecond
	maxGreetings   = 32
)

// accept begins the greeting of each caller as soon as there is room.
func (l *Listener) accept() {
	limits := strangers.Limits{Most: maxGreetings, Patience: helloTimeout, Crowded: crowdedTimeout}
	strangers.Accept(l.ln, l.done, limits, l.begin)
}

// begin starts the greeting of a caller.
func (l *Listener) begin(socket net.Conn, known func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = socket.Close()
		return
	}
	l.greetings[socket] = true
	l.workers.Go(func() { l.greet(socket, known) })
}

// greet reads the hello from socket and files the link. If it refuses the link,
// it sends the reason and hangs up. A caller that fails TLS gets no reason.
func (l *Listener) greet(socket net.Conn, known func()) {
	defer func() {
		l.mu.Lock()
		delete(l.greetings, socket)
		l.mu.Unlock()
	}()
	c := NewConn(socket, l.self, "an unknown caller")
	if l.keys.tls != nil && c.seal(tls.Server, l.keys.tls.Server()) != nil {
		known()
		_ = c.Close()
		return
	}
	link, err := l.admit(c, socket, known)
	known() // or the caller is refused
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

// admit reads and acknowledges the hello of c, which runs over socket. admit
// returns the link's entry.
func (l *Listener) admit(c *Conn, socket net.Conn, known func()) (*expectedLink, error) {
	m, err := l.readHello(c)
	if err != nil {
		return nil, err
	}
	c.peer = m.from
	return l.acknowledge(c, m, socket, known)
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

// acknowledge confirms the link to a caller that knows the secret. The
// acknowledgement fits into the empty socket buffer, so the send does not block
// while the lock is held.
func (l *Listener) acknowledge(c *Conn, m hello, socket net.Conn, known func()) (*expectedLink, error) {
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
		return nil, fmt.Errorf("%s already has its %s link from %s: a hello opens one link", l.self, m.purpose, m.from)
	}
	number := randomNumber()
	if err := c.Send(&Header{Op: OpAck, Arg: int64(number)}); err != nil { // #nosec G115 -- the bits of a number
		return nil, err
	}
	c.adopt(number, false)
	known() // prevents another deadline
	if err := c.Lift(); err != nil {
		return nil, err
	}
	tune(socket)
	link.came = true
	return link, nil
}

// file passes c, which runs over socket, to Accept. From then on Accept's
// caller owns c.
func (l *Listener) file(c *Conn, link *expectedLink, socket net.Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	delete(l.greetings, socket) // Close ignores the socket from now on
	link.ready <- c
	return nil
}
