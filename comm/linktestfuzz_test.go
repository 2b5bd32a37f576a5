package comm

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

	"github.com/psbench/psbench/comm/internal/commtest"
)

// socketPair is a connection between a Conn of the rank named self, whose peer is
// the rank named peer, and bare bytes. No hello opened it.
func socketPair(t commtest.TB, self, peer string) (*Conn, *net.UnixConn) {
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
	return newConn(ends[0], self, peer), ends[1].(*net.UnixConn)
}

// frames is what a Conn that no hello opened would send.
func frames(of ...func(h *Header) []byte) []byte {
	var stream []byte
	for i, f := range of {
		h := Header{Sequence: uint64(i)}
		payload := f(&h)
		h.Payload = uint64(len(payload))
		var buf [HeaderSize]byte
		h.Encode(&buf)
		stream = append(append(stream, buf[:]...), payload...)
	}
	return stream
}

func frame(h Header, payload ...[]byte) func(*Header) []byte {
	return func(out *Header) []byte {
		h.Sequence = out.Sequence
		*out = h
		return bytes.Join(payload, nil)
	}
}

// bending feeds run with streams that are near those of good.
func bending(f *testing.F, good []func(*Header) []byte, run func(t *testing.T, stream []byte)) {
	for n := range good {
		var h Header
		payload := good[n](&h)
		f.Add(uint8(n), uint8(h.Op), h.Batch, h.Bucket, h.Rows, h.Arg, h.Arg2, payload, []byte(nil))
		f.Add(uint8(n), uint8(h.Op), h.Batch, h.Bucket, h.Rows, h.Arg, h.Arg2, payload, frames(good[n:]...))
	}
	f.Fuzz(func(t *testing.T, n, op uint8, batch int64, bucket, rows int32, arg, arg2 int64, payload, rest []byte) {
		h := Header{Op: Op(op), Batch: batch, Bucket: bucket, Rows: rows, Arg: arg, Arg2: arg2}
		sent := append(slices.Clone(good[:int(n)%len(good)]), frame(h, payload))
		run(t, append(frames(sent...), rest...))
	})
}

// speak sends stream, reads what comes and waits for the end. It returns once it
// has hung up its own end.
func speak(nc *net.UnixConn, stream []byte) {
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(io.Discard, nc) })
	_, _ = nc.Write(stream)
	_ = nc.CloseWrite()
	reader.Wait()
}

// inTime fails the process if what is watched hangs.
func inTime(what string) (done func()) {
	timer := time.AfterFunc(patience, func() { panic(what + " hangs") })
	return func() { timer.Stop() }
}
