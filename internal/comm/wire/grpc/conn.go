// Package grpc is a network whose connections are gRPC calls.
package grpc

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

const (
	// messageBytes is the maximum size of a message.
	messageBytes = 1 << 20
	// windowBytes is the number of bytes that may be in transit to a peer that
	// does not read them. A link may use this much memory for them.
	windowBytes = 8 << 20
	// smallBytes is the size up to which gRPC does not track a buffer. Smaller
	// pieces are copied into a larger buffer.
	smallBytes = 4 << 10
	// closeGrace is the timeout for an orderly end if the peer does not react.
	closeGrace = 100 * time.Millisecond
)

// conn turns a gRPC call into a net.Conn. The call is a bidirectional stream of
// messages. The messages' bytes are the frames, split at any point.
//
// A link over gRPC is a baseline for comparisons. In addition to the cost of a
// socket, gRPC copies every byte once on each side and splits messages into
// pieces of 16 KiB.
type conn struct {
	*watchedConn // the underlying socket
	stream       stream
	end          func()        // ends the call in order, frees everything, and waits for the end
	shut         chan struct{} // closed by Close
	shutting     sync.Once

	pumps    sync.WaitGroup
	messages chan *mem.Reader // from the pump
	ended    chan struct{}    // closed when the pump has received endErr
	endErr   error
	in       *mem.Reader // unread rest of a message
	readBy   expiry

	out      mem.BufferSlice // the message being assembled
	size     int             // size of out in bytes
	small    []byte          // memory of its small pieces
	held     atomic.Int32    // buffers of the last message that gRPC still uses
	released chan struct{}   // gets a token when held reaches 0; capacity 1
	writing  sync.Mutex
	failed   bool // gRPC may still use the message
	writeBy  expiry
}

// stream is the common interface of a call's two ends.
type stream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// newConn makes a conn. The caller must set end and start the pump.
func newConn(socket *watchedConn, stream stream) *conn {
	c := &conn{
		watchedConn: socket, stream: stream, shut: make(chan struct{}),
		messages: make(chan *mem.Reader, 1), ended: make(chan struct{}), in: &mem.Reader{},
		small: make([]byte, 0, 4*smallBytes), released: make(chan struct{}, 1),
	}
	c.readBy.init()
	c.writeBy.init()
	return c
}

// pump reads messages from gRPC as they arrive. When the peer ends the call,
// gRPC may drop messages that were not read.
func (c *conn) pump() {
	defer close(c.ended)
	for {
		message := &mem.Reader{}
		if err := c.stream.RecvMsg(message); err != nil {
			c.endErr = readError(err)
			return
		}
		select {
		case c.messages <- message:
		case <-c.shut:
			_ = message.Close()
			c.endErr = net.ErrClosed
			return
		}
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	for c.in.Remaining() == 0 && len(p) > 0 {
		if err := c.receive(); err != nil {
			return 0, err
		}
	}
	return c.in.Read(p)
}

// receive waits for the next message.
func (c *conn) receive() error {
	passed := c.readBy.passed()
	select {
	case <-c.shut:
		return opError("read", net.ErrClosed)
	case <-passed:
		return opError("read", os.ErrDeadlineExceeded)
	default:
	}
	select {
	case c.in = <-c.messages:
	case <-c.shut:
		return opError("read", net.ErrClosed)
	case <-passed:
		return opError("read", os.ErrDeadlineExceeded)
	case <-c.ended:
		select { // the last message may have arrived just before the end
		case c.in = <-c.messages:
		default:
			return c.endErr
		}
	}
	return nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.WriteVector([][]byte{p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteVector implements vectorWriter. Like a socket it returns when the caller
// may change parts. After an error the caller may change them once Close has
// returned.
func (c *conn) WriteVector(parts [][]byte) (err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.failed {
		return opError("write", syscall.EPIPE)
	}
	defer func() { c.failed = err != nil }()
	for _, part := range parts {
		for len(part) > 0 {
			n := min(len(part), messageBytes-c.size)
			c.add(part[:n])
			part = part[n:]
			if c.size == messageBytes || cap(c.small)-len(c.small) < 2*smallBytes {
				if err := c.flush(); err != nil {
					return err
				}
			}
		}
	}
	return c.flush()
}

// add appends piece to the message, without a copy if it is large.
func (c *conn) add(piece []byte) {
	if cap(piece) < smallBytes {
		start := len(c.small)
		c.small = append(c.small, piece...)
		piece = c.small[start:]
	}
	c.size += len(piece)
	c.out = append(c.out, mem.NewBuffer(&piece, (*release)(c)))
}

// flush sends the message and waits until gRPC no longer uses its buffers.
func (c *conn) flush() error {
	if c.size == 0 {
		return nil
	}
	select {
	case <-c.shut:
		return opError("write", net.ErrClosed)
	case <-c.writeBy.passed():
		return opError("write", os.ErrDeadlineExceeded)
	default:
	}
	c.held.Store(int32(len(c.out))) // #nosec G115 -- a few
	message := c.out
	if err := c.stream.SendMsg(&message); err != nil {
		return opError("write", syscall.EPIPE)
	}
	if err := c.awaitRelease(); err != nil {
		return err
	}
	clear(c.out)
	c.out, c.size, c.small = c.out[:0], 0, c.small[:0]
	return nil
}

func (c *conn) awaitRelease() error {
	var err error
	select {
	case <-c.released:
		return nil
	case <-c.shut:
		err = net.ErrClosed
	case <-c.writeBy.passed():
		err = os.ErrDeadlineExceeded
	case <-c.closed:
		err = syscall.EPIPE
	}
	select {
	case <-c.released: // a peer may close as soon as it has the message
		return nil
	default:
		return opError("write", err)
	}
}

// release presents a conn to gRPC as a buffer pool. gRPC returns each buffer to
// it after the last read.
type release conn

// Get is never called, because the buffers do not come from a pool.
func (c *release) Get(n int) *[]byte {
	b := make([]byte, n)
	return &b
}

func (c *release) Put(*[]byte) {
	if c.held.Add(-1) == 0 {
		c.released <- struct{}{} // never blocks: only one message is out
	}
}

// Close implements net.Conn. Written data still arrive if the peer keeps
// reading and no write is running.
func (c *conn) Close() error {
	c.shutting.Do(func() {
		close(c.shut)
		if !c.writing.TryLock() {
			_ = c.watchedConn.Close()
			c.writing.Lock()
		}
		defer c.writing.Unlock()
		timer := time.AfterFunc(closeGrace, func() { _ = c.watchedConn.Close() })
		defer timer.Stop()
		c.end()
		c.pumps.Wait()
	})
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.readBy.set(t)
	c.writeBy.set(t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.readBy.set(t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writeBy.set(t)
	return nil
}

func opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "grpc", Err: err}
}

// readError converts an error of RecvMsg to a socket error. gRPC does not
// distinguish a dead peer from a peer that has closed.
func readError(err error) error {
	switch s := status.Convert(err); {
	case errors.Is(err, io.EOF), s.Code() == codes.Canceled, s.Code() == codes.Unavailable:
		return io.EOF
	default:
		return opError("read", errors.New(s.Message()))
	}
}
