package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
)

// direct is a Unix socket that the runtime's poller does not watch. A reader
// polls for a while and then sleeps in the kernel, on its own thread. If the
// answer arrives during the polling, neither its sender nor its reader has to
// wake a thread or a goroutine.
//
// One goroutine may read at a time, and one may write. A new deadline takes
// effect on a running call within slice.
type direct struct {
	look
	early   []byte // bytes read before Direct took the socket
	fd      int
	using   sync.RWMutex // held for reading while the descriptor is used
	closed  atomic.Bool
	readBy  atomic.Int64 // deadline in ns of comm.Now; 0: none
	writeBy atomic.Int64
	local   net.Addr
	remote  net.Addr
}

// slice is the maximum sleep of a thread before it checks its deadline again.
const slice = 100 * time.Millisecond

// Direct takes c's socket away from the runtime's poller. Readers then poll for
// up to most before they sleep. The socket must be a Unix socket that is not in
// use yet.
func (c *Conn) Direct(most time.Duration) error {
	nc, err := c.unix()
	if err != nil {
		return err
	}
	read, _ := c.in.Peek(c.in.Buffered())
	d := &direct{look: look{most: most}, early: bytes.Clone(read), local: nc.LocalAddr(), remote: nc.RemoteAddr()}
	raw, err := nc.SyscallConn()
	if err == nil {
		failed := raw.Control(func(fd uintptr) { d.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
		if failed != nil {
			err = failed
		}
	}
	if err != nil {
		return fmt.Errorf("%s cannot copy the socket of its link to %s: %w", c.self, c.peer, err)
	}
	_ = nc.Close() // the duplicate keeps the connection open
	c.nc = d
	c.in.Reset(d)
	return nil
}

// Read implements net.Conn.
func (d *direct) Read(p []byte) (int, error) {
	d.using.RLock()
	defer d.using.RUnlock()
	if d.closed.Load() {
		return 0, d.failed("read", net.ErrClosed)
	}
	if len(d.early) > 0 {
		n := copy(p, d.early)
		d.early = d.early[n:]
		return n, nil
	}
	n, err := syscall.Read(d.fd, p)
	if errors.Is(err, unix.EAGAIN) && d.mayLook() {
		n, err = d.lookFor(p)
	}
	for again(err) && !d.closed.Load() {
		if err := d.sleep(unix.POLLIN, &d.readBy); err != nil {
			return 0, d.failed("read", err)
		}
		n, err = syscall.Read(d.fd, p)
	}
	switch {
	case d.closed.Load():
		return 0, d.failed("read", net.ErrClosed)
	case err != nil:
		return 0, d.failed("read", os.NewSyscallError("read", err))
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// lookFor polls until it can read or the look ends.
func (d *direct) lookFor(p []byte) (n int, err error) {
	err = unix.EAGAIN
	for now, until := d.times(d.readBy.Load()); again(err) && now < until && !d.closed.Load(); {
		if now = d.yield(now); now < until {
			n, err = syscall.Read(d.fd, p)
		}
	}
	d.lookEnded(err == nil)
	return n, err
}

// again reports whether a failed system call should be repeated, now or later.
func again(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) }

// Write implements net.Conn.
func (d *direct) Write(p []byte) (written int, err error) {
	d.using.RLock()
	defer d.using.RUnlock()
	if d.closed.Load() {
		return 0, d.failed("write", net.ErrClosed)
	}
	for written < len(p) {
		n, err := syscall.Write(d.fd, p[written:])
		if err != nil {
			err = d.awaitRoom(err)
		}
		if err != nil {
			return written, err
		}
		written += max(0, n)
	}
	return written, nil
}

// awaitRoom waits until a write that failed with err can be repeated.
func (d *direct) awaitRoom(err error) error {
	switch {
	case d.closed.Load():
		err = net.ErrClosed
	case errors.Is(err, unix.EINTR):
		return nil
	case errors.Is(err, unix.EAGAIN):
		err = d.sleep(unix.POLLOUT, &d.writeBy)
	default:
		err = os.NewSyscallError("write", err)
	}
	if err != nil {
		err = d.failed("write", err)
	}
	return err
}

// sleep waits for an event, which the peer or Close causes. sleep waits until
// the deadline and at most for a slice.
func (d *direct) sleep(event int16, by *atomic.Int64) error {
	limit := slice
	if deadline := by.Load(); deadline != 0 {
		left := time.Duration(deadline - comm.Now())
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		limit = min(limit, left)
	}
	at := []unix.PollFd{{Fd: int32(d.fd), Events: event}} // #nosec G115 -- a descriptor
	if _, err := unix.Poll(at, int(limit/time.Millisecond)+1); err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("poll", err)
	}
	return nil
}

// WriteMsgUnix sends p and, with its first byte, the descriptors in oob, as
// net.UnixConn does.
func (d *direct) WriteMsgUnix(p, oob []byte, _ *net.UnixAddr) (n, oobn int, err error) {
	d.using.RLock()
	defer d.using.RUnlock()
	if d.closed.Load() {
		return 0, 0, d.failed("write", net.ErrClosed)
	}
	for {
		n, err = unix.SendmsgN(d.fd, p, oob, nil, 0)
		if err == nil {
			return n, len(oob), nil
		}
		if err = d.awaitRoom(err); err != nil {
			return 0, 0, err
		}
	}
}

// ready reports whether a read would return at once.
func (d *direct) ready() bool {
	d.using.RLock()
	defer d.using.RUnlock()
	if d.closed.Load() || len(d.early) > 0 {
		return true
	}
	at := []unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}} // #nosec G115 -- a descriptor
	n, _ := unix.Poll(at, 0)
	return n > 0
}

// Ready reports whether there is something to read, which includes the end of
// the connection. Direct must have been called.
func (c *Conn) Ready() bool {
	d, ok := c.nc.(*direct)
	return c.in.Buffered() > 0 || ok && d.ready()
}

func (d *direct) failed(what string, err error) error {
	return &net.OpError{Op: what, Net: "unix", Source: d.local, Addr: d.remote, Err: err}
}

// Close implements net.Conn. Close closes the descriptor only when no call uses
// it. The descriptor's number may be reused at once, and a late read would read
// from the new file.
func (d *direct) Close() error {
	if d.closed.Swap(true) {
		return net.ErrClosed
	}
	_ = unix.Shutdown(d.fd, unix.SHUT_RDWR) // wakes the sleepers
	d.using.Lock()
	defer d.using.Unlock()
	return unix.Close(d.fd)
}

// LocalAddr implements net.Conn.
func (d *direct) LocalAddr() net.Addr { return d.local }

// RemoteAddr implements net.Conn.
func (d *direct) RemoteAddr() net.Addr { return d.remote }

// SetDeadline implements net.Conn.
func (d *direct) SetDeadline(t time.Time) error {
	_ = d.SetReadDeadline(t)
	return d.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (d *direct) SetReadDeadline(t time.Time) error { return d.set(&d.readBy, t) }

// SetWriteDeadline implements net.Conn.
func (d *direct) SetWriteDeadline(t time.Time) error { return d.set(&d.writeBy, t) }

func (d *direct) set(by *atomic.Int64, t time.Time) error {
	if t.IsZero() {
		by.Store(0)
	} else {
		by.Store(comm.Now() + int64(time.Until(t)))
	}
	return nil
}
