package wire

import (
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unixBuffer is the number of bytes that a Unix socket can buffer for a peer
// that does not read yet. By default the kernel grants 208 KiB, which is less
// than a chunk.
const unixBuffer = 4 << 20

// loopbackBuffer is the number of bytes that a TCP socket can buffer on
// loopback. By default the buffer grows to some MiB, and data leave the
// second-level cache before the peer reads them.
const loopbackBuffer = 512 << 10

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

// tune sizes the buffers of a socket, except for TCP between hosts. There the
// kernel fits the buffers to the path's bandwidth and delay, as long as no size
// is set. tune reports no error if the kernel grants less. Go has already set
// TCP_NODELAY.
func tune(nc net.Conn) {
	switch socket := nc.(type) {
	case *net.UnixConn:
		control(socket, growSendBuffer)
	case *net.TCPConn:
		if onLoopback(socket) {
			control(socket, boundSendBuffer)
		}
	}
}

func onLoopback(socket *net.TCPConn) bool {
	to, ok := socket.RemoteAddr().(*net.TCPAddr)
	return ok && to.IP.IsLoopback()
}

func control(socket syscall.Conn, set func(fd int)) {
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { set(int(fd)) })
	}
}

// growSendBuffer requests unixBuffer. If this user has the privilege, it
// exceeds the system-wide limit.
func growSendBuffer(fd int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, unixBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, unixBuffer)
	}
}

// boundSendBuffer requests loopbackBuffer if this user may have all of it, by
// privilege or within the system-wide limit. With the 208 KiB that many hosts allow, a push of 1 MiB takes a fifth
// longer.
func boundSendBuffer(fd int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, loopbackBuffer) != nil &&
		mostSendBuffer() >= loopbackBuffer {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, loopbackBuffer)
	}
}

// mostSendBuffer is the system-wide limit for send buffers, in bytes.
var mostSendBuffer = sync.OnceValue(func() int {
	text, err := os.ReadFile("/proc/sys/net/core/wmem_max")
	if err != nil {
		return 0
	}
	limit, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return limit
})
