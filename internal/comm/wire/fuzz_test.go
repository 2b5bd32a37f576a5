package wire_test

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

func FuzzListener(f *testing.F) {
	body, err := wire.EncodeHello(linktest.TestSecret, "push", "trainer0", "server9")
	commtest.Must(f, err)
	good := linktest.Frames(linktest.Frame(wire.Header{Op: wire.OpHello}, body))
	f.Add(good)
	f.Add(append(good, linktest.Frames(linktest.Frame(wire.Header{Op: wire.OpPush}, make([]byte, 16)))...))
	f.Add(good[:len(good)-1])
	f.Add(linktest.Frames(linktest.Frame(wire.Header{Op: wire.OpHello}, body[1:])))
	f.Add(linktest.Frames(linktest.Frame(wire.Header{Op: wire.OpHello}, make([]byte, wire.SecretSize),
		body[wire.SecretSize:])))
	f.Add(linktest.Frames(linktest.Frame(wire.Header{Op: wire.OpPush}, body)))
	dir := linktest.ShortDir(f)
	var sockets atomic.Int64
	f.Fuzz(func(t *testing.T, stream []byte) {
		defer linktest.InTime("a listener")()
		l, err := wire.Unix.Listen(filepath.Join(dir, fmt.Sprint(sockets.Add(1))), "server9", linktest.TestSecret)
		commtest.Must(t, err)
		defer func() { _ = l.Close() }()
		nc, err := linktest.DialBare(l)
		commtest.Must(t, err)
		defer func() { _ = nc.Close() }()
		_, _ = nc.Write(stream)
		commtest.Must(t, nc.(*net.UnixConn).CloseWrite())
		c := wire.NewConn(nc, "trainer0", "server9")
		var h wire.Header
		err = c.NextHeader(&h)
		knows := len(stream) > wire.HeaderSize && bytes.HasPrefix(stream[wire.HeaderSize:], linktest.TestSecret)
		switch {
		case err != nil:
		case h.Op == wire.OpAck && knows:
			_, _ = l.Accept("push", "trainer0", time.Millisecond) // the stream may contain another name
		case h.Op == wire.OpRefuse && h.Payload > 0 && h.Payload <= wire.MaxReason:
			commtest.Must(t, c.Fill(make([]byte, h.Payload)))
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
