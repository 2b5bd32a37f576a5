package wire

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// unixBuffer is how many bytes a Unix socket holds for a peer that does not read
// yet. The kernel would grant 208 KiB, less than a chunk. TCP on loopback grows
// its buffers by itself, to some MiB, and stops to if it is told a size.
const unixBuffer = 4 << 20

// dialSocket connects to the listener at e.
func dialSocket(e endpoint, deadline time.Time) (net.Conn, error) {
	dialer := net.Dialer{Deadline: deadline}
	nc, err := dialer.Dial(e.network.socket, e.place())
	if err != nil {
		return nil, err
	}
	tune(nc)
	return nc, nil
}

// tune sizes the buffers of a socket. It is no error if the kernel grants less.
// Go has set TCP_NODELAY by then.
func tune(nc net.Conn) {
	socket, ok := nc.(*net.UnixConn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { growSendBuffer(int(fd)) })
}

// growSendBuffer asks for unixBuffer, past the limit for all users if this one
// may.
func growSendBuffer(fd int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, unixBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, unixBuffer)
	}
}
