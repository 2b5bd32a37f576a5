// Package grpc is a network whose connections are calls over gRPC.
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
	// grpcMessage bounds a message in bytes.
	messageBytes = 1 << 20
	// grpcWindow is how many bytes may be under way to a peer that does not read
	// them, and so what a link may hold in memory on its account.
	windowBytes = 8 << 20
	// grpcSmall is the size up to which gRPC takes no interest in the fate of a
	// buffer; such pieces are copied into one that is larger.
	smallBytes = 4 << 10
	// grpcGrace bounds the orderly end of a connection whose peer does not react.
	closeGrace = 100 * time.Millisecond
)

// conn makes a net.Conn of a call over gRPC: a bidirectional stream of messages
// whose bytes are the frames, cut anywhere.
//
// A link over gRPC is a baseline for comparisons. On top of the cost of a socket, gRPC copies
// every byte once on either side and cuts messages into pieces of 16 KiB.
type conn struct {
	*watchedConn // the socket below
	stream       stream
	end          func()        // ends the call in order and gives everything back; waits for it
	shut         chan struct{} // closed by Close
	shutting     sync.Once

	pumps    sync.WaitGroup
	messages chan *mem.Reader // from the pump
	ended    chan struct{}    // closed when the pump has met endErr
	endErr   error
	in       *mem.Reader // what is left of a message
	readBy   expiry

	out      mem.BufferSlice // the message being put together
	size     int             // of out, in bytes
	small    []byte          // storage of its small pieces
	held     atomic.Int32    // buffers of the last message that gRPC still reads
	released chan struct{}   // told when held comes to 0; capacity 1
	writing  sync.Mutex
	failed   bool // gRPC may still hold the message
	writeBy  expiry
}

// grpcStream is what the two ends of a call have in common.
type stream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// newConn leaves it to the caller to set end and to start the pump.
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

// pump takes messages out of gRPC, which may drop those that it still holds when
// the peer ends the call.
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
		select { // the last message may have come just before the end
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

// WriteVector implements vectorWriter. Like a socket it returns when parts may
// change again; after an error that is when Close has returned.
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

// add puts piece at the end of the message, without a copy if it is large.
func (c *conn) add(piece []byte) {
	if cap(piece) < smallBytes {
		start := len(c.small)
		c.small = append(c.small, piece...)
		piece = c.small[start:]
	}
	c.size += len(piece)
	c.out = append(c.out, mem.NewBuffer(&piece, (*release)(c)))
}

// flush sends the message and waits until gRPC needs its buffers no more.
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
	case <-c.released: // a peer that closes once it has the message may be that fast
		return nil
	default:
		return opError("write", err)
	}
}

// release is a conn as gRPC sees it: a pool that gets a buffer back after its
// last read.
type release conn

// Get is never called: the buffers are not of a pool.
func (c *release) Get(n int) *[]byte {
	b := make([]byte, n)
	return &b
}

func (c *release) Put(*[]byte) {
	if c.held.Add(-1) == 0 {
		c.released <- struct{}{} // has room: one message is out at a time
	}
}

// Close implements net.Conn: what was written still arrives, if the peer reads on
// and nothing is being written now.
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

// readError converts an error of RecvMsg to a socket's. gRPC does not distinguish a
// peer that died from one that has closed.
func readError(err error) error {
	switch s := status.Convert(err); {
	case errors.Is(err, io.EOF), s.Code() == codes.Canceled, s.Code() == codes.Unavailable:
		return io.EOF
	default:
		return opError("read", errors.New(s.Message()))
	}
}
