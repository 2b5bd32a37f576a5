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

// Until a caller has proved that it knows the secret, it holds a descriptor, readAhead bytes and what a handshake
// needs, for a bounded time, and there are at most maxGreetings of its kind.
const (
	helloTimeout   = 5 * time.Second // between connect and hello
	crowdedTimeout = 250 * time.Millisecond
	maxGreetings   = 32
)

// accept begins the greeting of each caller, as soon as there is a place.
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

// greet reads the hello that comes over socket and files the link, or says why
// not and hangs up. A caller that fails TLS gets no reason.
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
	known() // or hung up on
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

// acknowledge tells a caller that knows the secret that it has its link. The
// acknowledgement fits the empty socket buffer and so does not hold the lock up.
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
		return nil, fmt.Errorf("%s has had its %s link from %s: a hello opens one link", l.self, m.purpose, m.from)
	}
	number := randomNumber()
	if err := c.Send(&Header{Op: OpAck, Arg: int64(number)}); err != nil { // #nosec G115 -- the bits of a number
		return nil, err
	}
	c.adopt(number, false)
	known() // so that nobody sets another deadline
	if err := c.Lift(); err != nil {
		return nil, err
	}
	tune(socket)
	link.came = true
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
