package comm

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/internal/commtest"
)

func FuzzListener(f *testing.F) {
	body, err := EncodeHello(testSecret, "push", "trainer0", "server9")
	commtest.Must(f, err)
	good := frames(frame(Header{Op: opHello}, body))
	f.Add(good)
	f.Add(append(good, frames(frame(Header{Op: opPush}, make([]byte, 16)))...))
	f.Add(good[:len(good)-1])
	f.Add(frames(frame(Header{Op: opHello}, body[1:])))
	f.Add(frames(frame(Header{Op: opHello}, make([]byte, SecretSize), body[SecretSize:])))
	f.Add(frames(frame(Header{Op: opPush}, body)))
	dir := shortDir(f)
	var sockets atomic.Int64
	f.Fuzz(func(t *testing.T, stream []byte) {
		defer inTime("a listener")()
		l, err := Unix.Listen(filepath.Join(dir, fmt.Sprint(sockets.Add(1))), "server9", testSecret)
		commtest.Must(t, err)
		defer func() { _ = l.Close() }()
		nc, err := dialBare(l)
		commtest.Must(t, err)
		defer func() { _ = nc.Close() }()
		_, _ = nc.Write(stream)
		commtest.Must(t, nc.(*net.UnixConn).CloseWrite())
		c := newConn(nc, "trainer0", "server9")
		var h Header
		err = c.readHeader(&h)
		knows := len(stream) > HeaderSize && bytes.HasPrefix(stream[HeaderSize:], testSecret)
		switch {
		case err != nil:
		case h.Op == opAck && knows:
			_, _ = l.Accept("push", "trainer0", time.Millisecond) // or another name
		case h.Op == opRefuse && h.Payload > 0 && h.Payload <= MaxReason:
			commtest.Must(t, c.readFull(make([]byte, h.Payload)))
			if _, err := nc.Read(make([]byte, 1)); err == nil {
				t.Fatal("a listener went on after it refused")
			}
		default:
			t.Fatalf("a listener answered %+v", h)
		}
		if !knows && l.Links() > 0 {
			t.Fatal("a caller without the secret left something behind")
		}
	})
}
