package linktest

import (
	"bytes"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/wire"
)

// SocketPair connects a Conn, for the rank named self with the peer named peer,
// to a bare socket. The Conn skips the hello.
func SocketPair(t commtest.TB, self, peer string) (*wire.Conn, *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	commtest.Must(t, err)
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		ends[i], err = net.FileConn(f)
		commtest.Must(t, err)
		commtest.Must(t, f.Close())
		t.Cleanup(func() { _ = ends[i].Close() })
	}
	return wire.NewConn(ends[0], self, peer), ends[1].(*net.UnixConn)
}

// Frames returns the bytes that a Conn without a hello would send for these
// frames.
func Frames(of ...func(h *wire.Header) []byte) []byte {
	var stream []byte
	for i, f := range of {
		h := wire.Header{Sequence: uint64(i)}
		payload := f(&h)
		h.Payload = uint64(len(payload))
		var buf [wire.HeaderSize]byte
		h.Encode(&buf)
		stream = append(append(stream, buf[:]...), payload...)
	}
	return stream
}

// Frame makes one argument of Frames.
func Frame(h wire.Header, payload ...[]byte) func(*wire.Header) []byte {
	return func(out *wire.Header) []byte {
		h.Sequence = out.Sequence
		*out = h
		return bytes.Join(payload, nil)
	}
}

// Bending is a fuzz test: it feeds run with variations of the stream in good.
func Bending(f *testing.F, good []func(*wire.Header) []byte, run func(t *testing.T, stream []byte)) {
	for n := range good {
		var h wire.Header
		payload := good[n](&h)
		f.Add(uint8(n), uint8(h.Op), h.Batch, h.Bucket, h.Rows, h.Arg, h.Arg2, payload, []byte(nil))
		f.Add(uint8(n), uint8(h.Op), h.Batch, h.Bucket, h.Rows, h.Arg, h.Arg2, payload, Frames(good[n:]...))
	}
	f.Fuzz(func(t *testing.T, n, op uint8, batch int64, bucket, rows int32, arg, arg2 int64, payload, rest []byte) {
		h := wire.Header{Op: wire.Op(op), Batch: batch, Bucket: bucket, Rows: rows, Arg: arg, Arg2: arg2}
		sent := append(slices.Clone(good[:int(n)%len(good)]), Frame(h, payload))
		run(t, append(Frames(sent...), rest...))
	})
}

// Speak sends stream, reads everything from the other end until it closes, and
// closes its own end.
func Speak(nc *net.UnixConn, stream []byte) {
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(io.Discard, nc) })
	_, _ = nc.Write(stream)
	_ = nc.CloseWrite()
	reader.Wait()
}

// InTime panics if the caller does not call done within Patience. The panic
// ends a test process that hangs.
func InTime(what string) (done func()) {
	timer := time.AfterFunc(Patience, func() { panic(what + " hangs") })
	return func() { timer.Stop() }
}
