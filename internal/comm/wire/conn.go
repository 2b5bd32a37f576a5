// Package wire connects ranks: networks, listeners, the greeting of callers,
// connections that carry frames, and the passing of segments.
package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
)

// readAhead is the size of the read buffer. One read can then take a header and
// all of a small payload. The kernel copies a larger payload directly to its
// destination.
const readAhead = 8 << 10

// Conn carries frames to and from one peer. Several goroutines may send; only
// one may read. After an error in the middle of a frame, the two sides no
// longer agree on where frames start, so the only useful call on a failed Conn
// is Close.
//
// Each frame carries its sequence number and the link's number, and the reader
// checks both. Thus the reader detects frames that were lost, repeated,
// reordered, reflected or meant for another link.
type Conn struct {
	self, peer string
	nc         net.Conn
	in         *bufio.Reader
	inHead     [HeaderSize]byte
	inNext     Header       // Sequence and Link of the next frame to receive
	readWait   atomic.Int64 // time from setting the read deadline to the deadline, in ns
	writeWait  atomic.Int64

	sending sync.Mutex
	outHead [HeaderSize]byte
	outNext Header      // Sequence and Link of the next frame to send
	parts   [][]byte    // memory of buffers, reused for each frame
	buffers net.Buffers // a field, because a local variable would escape at every frame
}

// vectorWriter writes all parts, as one message if possible.
type vectorWriter interface {
	WriteVector(parts [][]byte) error
}

// NewConn makes a Conn without a hello from a connection of the rank named self
// to the rank named peer.
func NewConn(nc net.Conn, self, peer string) *Conn {
	return &Conn{self: self, peer: peer, nc: nc, in: bufio.NewReaderSize(nc, readAhead)}
}

// adopt sets the link's number once its hello is accepted. The two directions
// have different numbers, so that a reader detects a reflected frame.
func (c *Conn) adopt(link uint64, dialed bool) {
	c.inNext.Link, c.outNext.Link = link, ^link
	if dialed {
		c.inNext.Link, c.outNext.Link = ^link, link
	}
}

// Peer is the name of the rank at the other end.
func (c *Conn) Peer() string { return c.peer }

// Self is the name of the rank at this end.
func (c *Conn) Self() string { return c.self }

// OnHost reports whether the connection joins processes of one host: by a Unix
// socket, or by TCP on loopback.
func (c *Conn) OnHost() bool {
	socket, overTCP := c.nc.(*net.TCPConn)
	return c.PassesSegments() || overTCP && onLoopback(socket)
}

// Close closes the connection; blocked calls fail. Closing again does nothing.
func (c *Conn) Close() error {
	if err := c.nc.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Hijack returns the connection to a caller that continues without c, and the
// header of the next frame.
func (c *Conn) Hijack() (net.Conn, Header) { return c.nc, c.outNext }

// SetReadDeadline sets the deadline of pending and later reads; the zero time
// means none.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.readWait.Store(int64(time.Until(t)))
	return c.nc.SetReadDeadline(t)
}

// SetDeadline sets both the read and the write deadline.
func (c *Conn) SetDeadline(t time.Time) error {
	wait := int64(time.Until(t))
	c.readWait.Store(wait)
	c.writeWait.Store(wait)
	return c.nc.SetDeadline(t)
}

// SetWriteDeadline sets the deadline of pending and later sends; the zero time
// means none.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.writeWait.Store(int64(time.Until(t)))
	return c.nc.SetWriteDeadline(t)
}

// Send writes one frame: the header h, then the parts of the payload. Send sets
// h.Payload. Send uses one system call if the peer keeps up. The error is a
// *WaitError at the write deadline and a *PeerError if the connection broke.
func (c *Conn) Send(h *Header, payload ...[]byte) error {
	return c.ExplainSend(c.Post(h, payload...), "a frame", c.writeWait.Load())
}

// Post is Send, but returns the connection's error unchanged.
func (c *Conn) Post(h *Header, payload ...[]byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.send(h, payload)
}

// PostBy is Post with a write deadline, which also applies to later sends.
func (c *Conn) PostBy(deadline time.Time, h *Header, payload ...[]byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	return c.send(h, payload)
}

func (c *Conn) send(h *Header, payload [][]byte) error {
	h.Payload = 0
	for _, p := range payload {
		h.Payload += uint64(len(p))
	}
	c.number(h)
	c.parts = append(append(c.parts[:0], c.outHead[:]), payload...)
	defer clear(c.parts)
	if w, ok := c.nc.(vectorWriter); ok {
		return w.WriteVector(c.parts)
	}
	c.buffers = c.parts
	_, err := c.buffers.WriteTo(c.nc)
	return err
}

// number fills h in as the header of the next frame to send and encodes it into
// outHead. h.Payload must be set.
func (c *Conn) number(h *Header) {
	h.Sequence, h.Link = c.outNext.Sequence, c.outNext.Link
	c.outNext.Sequence++
	h.Encode(&c.outHead)
}

// ReadHeader reads the header of the next frame. The caller must then read
// exactly h.Payload bytes, and should first compare h.Payload with the size
// that it expects. In addition to the errors of ReadFull, it fails on a header
// that is not the next frame of this link.
func (c *Conn) ReadHeader(h *Header) error {
	return c.Explain(c.NextHeader(h), "a frame", c.readWait.Load())
}

// NextHeader is ReadHeader, but returns the connection's error unchanged, for
// Explain.
func (c *Conn) NextHeader(h *Header) error {
	if _, err := io.ReadFull(c.in, c.inHead[:]); err != nil {
		return err
	}
	if err := h.Decode(&c.inHead); err != nil {
		return fmt.Errorf("%s cannot read what %s sent: %w", c.self, c.peer, err)
	}
	next := &c.inNext
	switch {
	case h.Link != next.Link:
		return fmt.Errorf("%s sent a frame of another link to %s", c.peer, c.self)
	case h.Sequence != next.Sequence:
		return fmt.Errorf("%s sent frame %d to %s where frame %d is due: a frame was lost, repeated or reordered",
			c.peer, h.Sequence, c.self, next.Sequence)
	}
	next.Sequence++
	return nil
}

// Buffered reports whether the next n bytes have already been received.
func (c *Conn) Buffered(n uint64) bool { return n <= uint64(c.in.Buffered()) } // #nosec G115 -- a length

// ReadFull fills buf with the next bytes of the payload. The error is a
// *WaitError at the read deadline and a *PeerError if the connection broke.
func (c *Conn) ReadFull(buf []byte) error {
	return c.Explain(c.Fill(buf), "the payload of a frame", c.readWait.Load())
}

// Fill is ReadFull, but returns the connection's error unchanged, for Explain.
func (c *Conn) Fill(buf []byte) error {
	_, err := io.ReadFull(c.in, buf)
	return err
}

// Explain turns a connection error into a *WaitError or a *PeerError. The
// argument what names the activity that failed. Explain returns every other
// error unchanged.
func (c *Conn) Explain(err error, what string, waitedNS int64) error {
	if err == nil || !broken(err) {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		seconds := max(0, time.Duration(waitedNS).Seconds())
		return &comm.WaitError{Waiter: c.self, For: []string{c.peer}, What: what, Seconds: seconds}
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // without the addresses, since the error has the ranks' names
	}
	return &comm.PeerError{Waiter: c.self, Peer: c.peer, What: what, Err: err}
}

// ExplainSend is Explain for sends. what names the message.
func (c *Conn) ExplainSend(err error, what string, waitedNS int64) error {
	err = c.Explain(err, what, waitedNS)
	if wait, ok := errors.AsType[*comm.WaitError](err); ok {
		wait.What = "room for " + what
	}
	return err
}

// broken reports whether err is an error of the connection itself, not of the
// data received over it.
func broken(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Links are the connections of one rank's port or group.
type Links struct {
	Self    string
	Conns   []*Conn // by the peer's position
	Timeout time.Duration
}

// Close closes all connections.
func (l *Links) Close() (err error) {
	for _, c := range l.Conns {
		if c == nil {
			continue
		}
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}
