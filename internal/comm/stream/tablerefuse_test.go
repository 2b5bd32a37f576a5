package stream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

func TestStreamTableCallsThatStopHalfWay(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		near, far := linktest.Link(t, n, "trainer0", "server9")
		p, err := (Provider{}).NewTablePort(wire.Links{Self: "server9", Conns: []*wire.Conn{far},
			Timeout: 50 * time.Millisecond}, linktest.FaultSpec, 0)
		commtest.Must(t, err)
		nc, h := near.Hijack()
		h.Op, h.Batch, h.Arg, h.Arg2, h.Payload = wire.OpLookup, 4, 2, 3, 48
		var buf [wire.HeaderSize]byte
		h.Encode(&buf)
		_, err = nc.Write(append(buf[:], 1, 2, 3))
		commtest.Must(t, err)
		if err := p.Serve(linktest.NoCall(0)); err == nil ||
			err.Error() != "server9 waited 0.05 s for the lookup of batch 4 from trainer0" {
			t.Errorf("a call that stops gave %v", err)
		}
		commtest.Must(t, p.Close())

		// vast is larger than all buffers of a connection.
		vast := comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 1, Width: 1 << 19}}, Bags: 32, Indices: 1}
		store, err := comm.NewLookupStore("trainer0", vast)
		commtest.Must(t, err)
		near, far = linktest.Link(t, n, "trainer0", "server9")
		defer func() { _ = far.Close() }()
		l := newTableLink(near, store, 0, 300*time.Millisecond)
		commtest.Must(t, store.Ask(make([]int64, 33), nil))
		l.Looked, l.Call(op.CallLookup).Batch = store.Asked(), 4
		if err := l.Update(4).Wait(); err == nil || !strings.HasPrefix(err.Error(), "trainer0 waited 0.3 s for ") ||
			!strings.Contains(err.Error(), "update of batch 4 from server9") {
			t.Errorf("an update that nobody reads gave %v", err)
		}
		_ = l.Close()
	})
}

func TestStreamTablePortRefusesBadFrames(t *testing.T) {
	offsets, rows := func(x ...int64) []byte { return tensor.Int64Bytes(x) }, func(x ...int64) []byte {
		return tensor.Int64Bytes(x)
	}
	good := func(c *wire.Conn) error {
		return c.Send(&wire.Header{Op: wire.OpLookup, Arg: 2, Arg2: 3}, offsets(0, 1, 3), rows(7, 8, 9))
	}
	gradient := make([]byte, 2*2*4)
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for want, send := range map[string]func(c *wire.Conn) error{
			"sent operation 64 to server9, which expects lookups and updates": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpUser})
			},
			"asked server9 for 7 bags with 0 indices, but both agreed": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpLookup, Arg: 7}, make([]byte, 64))
			},
			"for -1 bags":     func(c *wire.Conn) error { return c.Send(&wire.Header{Op: wire.OpLookup, Arg: -1}) },
			"with 13 indices": func(c *wire.Conn) error { return c.Send(&wire.Header{Op: wire.OpLookup, Arg2: 13}) },
			"sent 16 bytes as the lookup of batch 4 to server9, which expects 40": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpLookup, Batch: 4, Arg: 2, Arg2: 2}, offsets(0, 2))
			},
			"whose offset 2 is 1": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpLookup, Arg: 2, Arg2: 1}, offsets(0, 2, 1), rows(1))
			},
			"row 300 at bag 1, position 0": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpLookup, Arg: 2, Arg2: 1}, offsets(0, 0, 1), rows(300))
			},
			"sent server9 the update of batch 0, but an update follows": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpUpdate})
			},
			"sent server9 the update of batch 1, but an update follows": func(c *wire.Conn) error {
				return errors.Join(good(c), c.Send(&wire.Header{Op: wire.OpUpdate, Batch: 1}, gradient))
			},
			"sent 12 bytes as the update of batch 0 to server9, which expects 16": func(c *wire.Conn) error {
				return errors.Join(good(c), c.Send(&wire.Header{Op: wire.OpUpdate}, gradient[:12]))
			},
			"sent server9 the update of batch 0, but": func(c *wire.Conn) error {
				return errors.Join(good(c), c.Send(&wire.Header{Op: wire.OpUpdate}, gradient),
					c.Send(&wire.Header{Op: wire.OpUpdate}, gradient))
			},
		} {
			near, far := linktest.Link(t, n, "trainer0", "server9")
			p, err := (Provider{}).NewTablePort(wire.Links{Self: "server9", Conns: []*wire.Conn{far},
				Timeout: linktest.Patience}, linktest.FaultSpec, 0)
			commtest.Must(t, err)
			commtest.Must(t, send(near))
			if err := p.Serve(linktest.NoCall(0)); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "trainer0") {
				t.Errorf("serve ended with %v, want %q", err, want)
			}
			commtest.Must(t, p.Close())
		}
	})
}

func TestStreamTableLinkRefusesLies(t *testing.T) {
	values := make([]byte, 4*2*3)
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for want, c := range map[string]struct {
			answer  wire.Header
			payload []byte
		}{
			"server9 answered the lookup of batch 3 of trainer0 with 20 bytes instead of 24": {wire.Header{Op: wire.OpLookup, Batch: 3}, values[:20]},
			"server9 answered the lookup of batch 3 of trainer0 with 0 bytes instead of 24":  {wire.Header{Op: wire.OpLookup, Batch: 3}, nil},
			"server9 sent operation 13 of batch 4 to trainer0, which has no such call":       {wire.Header{Op: wire.OpLookup, Batch: 4}, values},
			"server9 sent operation 14 of batch 3 to trainer0, which has no such call":       {wire.Header{Op: wire.OpUpdate, Batch: 3}, nil},
			"server9 sent operation 6 of batch 3 to trainer0, which has no such call":        {wire.Header{Op: wire.OpAnswer, Batch: 3}, values},
		} {
			store, err := comm.NewLookupStore("trainer0", linktest.FaultSpec)
			commtest.Must(t, err)
			near, far := linktest.Link(t, n, "trainer0", "server9")
			l, err := (Provider{}).NewTableLink(near, store, 1, linktest.Patience)
			commtest.Must(t, err)
			commtest.Must(t, store.Ask([]int64{0, 1, 1}, []int64{5}))
			f := l.Lookup(3)
			commtest.Must(t, far.Send(&c.answer, c.payload))
			if err := f.Wait(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the lookup ended with %v, want %q", err, want)
			}
			_ = l.Close()
		}
		store, err := comm.NewLookupStore("trainer0", linktest.FaultSpec)
		commtest.Must(t, err)
		near, far := linktest.Link(t, n, "trainer0", "server9")
		l, err := (Provider{}).NewTableLink(near, store, 1, linktest.Patience)
		commtest.Must(t, err)
		commtest.Must(t, far.Send(&wire.Header{Op: wire.OpLookup}, nil))
		commtest.Must(t, far.SetReadDeadline(time.Now().Add(linktest.Patience)))
		if err := far.ReadHeader(&wire.Header{}); err == nil { // until the link hangs up
			t.Error("a link took an answer to nothing")
		}
		if err := l.Lookup(0).Wait(); err == nil || !strings.Contains(err.Error(), "which has no such call in flight") {
			t.Errorf("an answer to nothing gave %v", err)
		}
		_ = l.Close()
	})
}
