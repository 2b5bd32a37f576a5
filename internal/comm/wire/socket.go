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

// unixBuffer is how many bytes a Unix socket holds for a peer that does not read
// yet. The kernel would grant 208 KiB, less than a chunk.
const unixBuffer = 4 << 20

// loopbackBuffer is what a TCP socket holds on loopback. Left alone it grows to some MiB,
// and data has left the second-level cache before the peer reads it.
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

// tune sizes the buffers of a socket, except for TCP between hosts: there the kernel fits them to
// the bandwidth and the delay of the path, unless it gets a size. It is no error if the kernel
// grants less. Go has set TCP_NODELAY by then.
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

// growSendBuffer asks for unixBuffer, past the limit for all users if this one
// may.
func growSendBuffer(fd int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, unixBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, unixBuffer)
	}
}

// boundSendBuffer asks for loopbackBuffer where this user may have all of it: with the 208
// KiB that many hosts allow, a push of 1 MiB takes a fifth longer.
func boundSendBuffer(fd int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, loopbackBuffer) != nil &&
		mostSendBuffer() >= loopbackBuffer {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, loopbackBuffer)
	}
}

// mostSendBuffer is the limit for all users in bytes.
var mostSendBuffer = sync.OnceValue(func() int {
	text, err := os.ReadFile("/proc/sys/net/core/wmem_max")
	if err != nil {
		return 0
	}
	limit, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return limit
})
