package wire

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/psbench/psbench/comm"
)

// SecretSize is the size of a run's secret in bytes.
const SecretSize = 32

const (
	maxName   = 255
	maxHello  = SecretSize + 3*(2+maxName)
	maxReason = 1 << 10
)

// hello is the first frame of a connection. hello names the caller, the callee
// and the purpose.
type hello struct {
	secret            [SecretSize]byte
	purpose, from, to string
}

// encode returns the secret, followed by each name as a uint16 length and its
// bytes.
func (m *hello) encode() ([]byte, error) {
	buf := append(make([]byte, 0, maxHello), m.secret[:]...)
	for _, name := range []string{m.purpose, m.from, m.to} {
		if name == "" || len(name) > maxName {
			return nil, fmt.Errorf("the name %q in a hello must have 1 to %d bytes", name, maxName)
		}
		buf = binary.LittleEndian.AppendUint16(buf, uint16(len(name))) // #nosec G115 -- at most maxName
		buf = append(buf, name...)
	}
	return buf, nil
}

func decodeHello(buf []byte) (m hello, err error) {
	if len(buf) < SecretSize {
		return m, fmt.Errorf("a hello of %d bytes is too short for a secret of %d", len(buf), SecretSize)
	}
	rest := buf[copy(m.secret[:], buf):]
	for _, name := range []*string{&m.purpose, &m.from, &m.to} {
		if len(rest) < 2 {
			return m, fmt.Errorf("a hello of %d bytes ends before its last name", len(buf))
		}
		n := int(binary.LittleEndian.Uint16(rest))
		if rest = rest[2:]; n == 0 || n > maxName || n > len(rest) {
			return m, fmt.Errorf("a hello names %d bytes of a name, want 1 to %d of the %d left", n, maxName, len(rest))
		}
		*name, rest = string(rest[:n]), rest[n:]
	}
	if len(rest) > 0 {
		return m, fmt.Errorf("a hello has %d bytes after its last name", len(rest))
	}
	return m, nil
}

func secretOf(secret []byte) (s [SecretSize]byte, err error) {
	if len(secret) != SecretSize {
		return s, fmt.Errorf("the run's secret has %d bytes instead of %d", len(secret), SecretSize)
	}
	return [SecretSize]byte(secret), nil
}

// Call describes a link that a rank dials. Purpose distinguishes several links
// between the same two ranks. The whole call takes at most Timeout.
type Call struct {
	From, To, Purpose string
	Secret            []byte
	Timeout           time.Duration
}

// Dial links the caller to the rank whose Listener has the given address. Dial
// waits until that rank has accepted the hello. The error is a *WaitError if no
// answer came in time. If the rank refused the link, the error contains the
// rank's name and its reason.
func (n *Network) Dial(address string, call Call) (*Conn, error) {
	d, err := n.dialling(address, call)
	if err != nil {
		return nil, err
	}
	var lost error
	for {
		c, err := d.call()
		// A listener with too many strangers may hang up on a slow caller, so
		// Dial calls again. If the listener was closed instead, the next call
		// fails.
		if _, hungUp := errors.AsType[*comm.PeerError](err); !hungUp {
			if timedOut(err) && lost != nil {
				err = lost // the lost call used up the time
			}
			return c, err
		}
		if lost = err; time.Until(d.deadline) < callAgain {
			return nil, lost
		}
		time.Sleep(callAgain)
	}
}

// callAgain is the pause before the next call, after the listener has hung up.
const callAgain = 20 * time.Millisecond

// timedOut reports whether a call reached its deadline, before or after
// connecting.
func timedOut(err error) bool {
	_, waited := errors.AsType[*comm.WaitError](err)
	dialled, ok := errors.AsType[net.Error](err)
	return waited || ok && dialled.Timeout()
}

// dialling is a link that is being opened.
type dialling struct {
	Call
	place    endpoint
	keys     keys
	hello    []byte
	deadline time.Time
}

func (n *Network) dialling(address string, call Call) (*dialling, error) {
	secret, err := secretOf(call.Secret)
	if err != nil {
		return nil, err
	}
	d := &dialling{Call: call, deadline: time.Now().Add(call.Timeout)}
	if d.place, err = n.parse(address); err == nil {
		d.keys, err = d.place.keys(secret)
	}
	if err != nil {
		return nil, d.unreachable(err)
	}
	d.hello, err = (&hello{secret: d.keys.hello, purpose: call.Purpose, from: call.From, to: call.To}).encode()
	return d, err
}

func (d *dialling) unreachable(err error) error {
	return fmt.Errorf("%s cannot reach %s for its %s link: %w", d.From, d.To, d.Purpose, err)
}

// call connects and sends the hello once.
func (d *dialling) call() (*Conn, error) {
	nc, err := dialSocket(d.place, d.deadline)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &comm.WaitError{Waiter: d.From, For: []string{d.To}, What: awaitedAck(d.Purpose),
			Seconds: d.Timeout.Seconds()}
	}
	if err != nil {
		return nil, d.unreachable(err)
	}
	c := NewConn(nc, d.From, d.To)
	if err = d.secure(c); err == nil {
		err = c.greet(d.hello, d.Purpose, d.deadline, d.Timeout)
	}
	if err == nil {
		if err = c.raise(d.place.network.dialed, d.deadline); err != nil {
			err = fmt.Errorf("%s cannot open its %s link to %s: %w", d.From, d.Purpose, d.To, err)
		}
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// secure starts TLS on c if the endpoint requires it.
func (d *dialling) secure(c *Conn) error {
	if d.keys.tls == nil {
		return nil
	}
	err := c.nc.SetDeadline(d.deadline)
	if err == nil {
		err = c.seal(tls.Client, d.keys.tls.Client())
	}
	if err == nil || broken(err) {
		return c.Explain(err, awaitedAck(d.Purpose), int64(d.Timeout))
	}
	return fmt.Errorf("%s does not open its %s link to the process at the address of %s: %w", d.From, d.Purpose, d.To,
		err)
}

func awaitedAck(purpose string) string { return "the acknowledgement of its " + purpose + " link" }

// greet sends the hello and reads the listener's answer.
func (c *Conn) greet(body []byte, purpose string, deadline time.Time, timeout time.Duration) error {
	what := awaitedAck(purpose)
	// A listener that refuses may close before it has read everything. The
	// listener's answer then says more than the error of the send.
	_ = c.PostBy(deadline, &Header{Op: OpHello}, body)
	if err := c.SetReadDeadline(deadline); err != nil {
		return c.Explain(err, what, 0)
	}
	var h Header
	if err := c.NextHeader(&h); err != nil {
		return c.Explain(err, what, int64(timeout))
	}
	switch {
	case h.Op == OpAck && h.Payload == 0:
		c.adopt(uint64(h.Arg), true) // #nosec G115 -- the bits of a number
		return c.Lift()
	case h.Op == OpRefuse && h.Payload <= maxReason:
		reason := make([]byte, h.Payload)
		if err := c.Fill(reason); err != nil {
			return c.Explain(err, what, int64(timeout))
		}
		return fmt.Errorf("%s refused the %s link from %s: %s", c.peer, purpose, c.self, reason)
	}
	return fmt.Errorf("%s answered the hello of %s with operation %d", c.peer, c.self, h.Op)
}

// raise puts the network's protocol between the frames and the socket.
func (c *Conn) raise(by Raise, deadline time.Time) error {
	if by == nil {
		return nil
	}
	nc, err := by(&resumed{c.nc, c.in}, deadline)
	if err == nil {
		c.nc, c.in = nc, bufio.NewReaderSize(nc, readAhead)
	}
	return err
}

// resumed is a socket with a reader, in, that may have buffered bytes beyond
// the greeting.
type resumed struct {
	net.Conn
	in *bufio.Reader
}

func (r *resumed) Read(b []byte) (int, error) { return r.in.Read(b) }

// Lift removes the deadlines of the greeting.
func (c *Conn) Lift() error {
	return c.Explain(c.nc.SetDeadline(time.Time{}), "the greeting", 0)
}
