package comm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/internal/commtest"
	"github.com/psbench/psbench/comm/tensor"
)

func TestTableServerNamesTheRowOutside(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		for want, indices := range map[string][]int64{
			"trainer0 asked server9 for row 300 at bag 4, position 1, of a table of 300 rows": {0, 1, 2, 3, 4, 300},
			"trainer0 asked server9 for row -1 at bag 0, position 0, of a table of 300 rows":  {-1, 1, 2, 3, 4, 300},
		} {
			l := newLibrary(t, tr, 2, faultSpec, patience, noCall)
			commtest.Must(t, l.stores[0].Ask([]int64{0, 1, 2, 3, 4, 6}, indices))
			var peer *PeerError
			if err := l.links[0][0].Lookup(0).Wait(); !errors.As(err, &peer) || peer.Peer != "server9" {
				t.Errorf("the lookup ended with %v", err)
			}
			if err := <-l.served[0]; err == nil || err.Error() != want {
				t.Errorf("serve ended with %v, want %q", err, want)
			}
		}
	})
}

// What a trainer writes into its slot and its store is checked before anything relies
// on it.
func TestSharedTablePortRefusesLies(t *testing.T) {
	for want, lie := range map[string]func(s *LookupStore, l *callLine){
		"asked server9 for 7 bags with 0 indices, but both agreed on at most 6 with 12": func(_ *LookupStore, l *callLine) { l.bags = 7 },
		"for -1 bags":         func(_ *LookupStore, l *callLine) { l.bags = -1 },
		"with 13 indices":     func(_ *LookupStore, l *callLine) { l.indices = 13 },
		"with -5 indices":     func(_ *LookupStore, l *callLine) { l.indices = -5 },
		"whose offset 0 is 1": func(s *LookupStore, _ *callLine) { s.BagOffsets[0] = 1 },
		"whose offset 2 is 1; offsets start at 0, do not fall": func(s *LookupStore, l *callLine) {
			l.bags, l.indices = 3, 3
			copy(s.BagOffsets[:4], []int64{0, 2, 1, 3})
		},
		"whose offset 1 is 2; offsets start at 0, do not fall and end at the number of indices, 3": func(s *LookupStore, l *callLine) {
			l.bags, l.indices = 1, 3
			s.BagOffsets[:2][1] = 2
		},
		"row 300 at bag 0, position 1": func(s *LookupStore, l *callLine) {
			l.bags, l.indices = 1, 2
			s.BagOffsets[:2][1] = 2
			s.BagIndices[:2][1] = 300
		},
		"sent server9 the update of batch 0, but an update follows the lookup of the same batch, once": func(_ *LookupStore, l *callLine) { l.kind = int32(CallUpdate) },
		"posted a call of kind 2 to server9, which does not exist":                                     func(_ *LookupStore, l *callLine) { l.kind = 2 },
		"posted a call of kind -1":       func(_ *LookupStore, l *callLine) { l.kind = -1 },
		"to server9 where call 1 is due": func(_ *LookupStore, l *callLine) { l.posted.Add(4) },
	} {
		l := newLibrary(t, fabrics[0], 1, faultSpec, patience, noCall)
		link := l.links[0][0].(*sharedTableLink)
		lie(l.stores[0], link.line)
		link.line.posted.Add(1)
		link.client.server.Ring()
		if err := <-l.served[0]; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "trainer0") {
			t.Errorf("%q: serve gave %v", want, err)
		}
	}
}

func TestStreamTablePortRefusesBadFrames(t *testing.T) {
	offsets, rows := func(x ...int64) []byte { return tensor.Int64Bytes(x) }, func(x ...int64) []byte { return tensor.Int64Bytes(x) }
	good := func(c *Conn) error {
		return c.Send(&Header{Op: opLookup, Arg: 2, Arg2: 3}, offsets(0, 1, 3), rows(7, 8, 9))
	}
	gradient := make([]byte, 2*2*4)
	overNetworks(t, func(t *testing.T, n *Network) {
		for want, send := range map[string]func(c *Conn) error{
			"sent operation 64 to server9, which expects lookups and updates": func(c *Conn) error { return c.Send(&Header{Op: OpUser}) },
			"asked server9 for 7 bags with 0 indices, but both agreed":        func(c *Conn) error { return c.Send(&Header{Op: opLookup, Arg: 7}, make([]byte, 64)) },
			"for -1 bags":     func(c *Conn) error { return c.Send(&Header{Op: opLookup, Arg: -1}) },
			"with 13 indices": func(c *Conn) error { return c.Send(&Header{Op: opLookup, Arg2: 13}) },
			"sent 16 bytes as the lookup of batch 4 to server9, which expects 40": func(c *Conn) error {
				return c.Send(&Header{Op: opLookup, Batch: 4, Arg: 2, Arg2: 2}, offsets(0, 2))
			},
			"whose offset 2 is 1": func(c *Conn) error {
				return c.Send(&Header{Op: opLookup, Arg: 2, Arg2: 1}, offsets(0, 2, 1), rows(1))
			},
			"row 300 at bag 1, position 0": func(c *Conn) error {
				return c.Send(&Header{Op: opLookup, Arg: 2, Arg2: 1}, offsets(0, 0, 1), rows(300))
			},
			"sent server9 the update of batch 0, but an update follows": func(c *Conn) error { return c.Send(&Header{Op: opUpdate}) },
			"sent server9 the update of batch 1, but an update follows": func(c *Conn) error {
				return errors.Join(good(c), c.Send(&Header{Op: opUpdate, Batch: 1}, gradient))
			},
			"sent 12 bytes as the update of batch 0 to server9, which expects 16": func(c *Conn) error {
				return errors.Join(good(c), c.Send(&Header{Op: opUpdate}, gradient[:12]))
			},
			"sent server9 the update of batch 0, but": func(c *Conn) error {
				return errors.Join(good(c), c.Send(&Header{Op: opUpdate}, gradient), c.Send(&Header{Op: opUpdate}, gradient))
			},
		} {
			near, far := link(t, n, "trainer0", "server9")
			p, err := (streamProvider{}).NewTablePort(Links{"server9", []*Conn{far}, patience}, faultSpec, 0)
			commtest.Must(t, err)
			commtest.Must(t, send(near))
			if err := p.Serve(noCall(0)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "trainer0") {
				t.Errorf("serve ended with %v, want %q", err, want)
			}
			commtest.Must(t, p.Close())
		}
	})
}

func TestStreamTableLinkRefusesLies(t *testing.T) {
	values := make([]byte, 4*2*3)
	overNetworks(t, func(t *testing.T, n *Network) {
		for want, c := range map[string]struct {
			answer  Header
			payload []byte
		}{
			"server9 answered the lookup of batch 3 of trainer0 with 20 bytes instead of 24": {Header{Op: opLookup, Batch: 3}, values[:20]},
			"server9 answered the lookup of batch 3 of trainer0 with 0 bytes instead of 24":  {Header{Op: opLookup, Batch: 3}, nil},
			"server9 sent operation 13 of batch 4 to trainer0, which has no such call":       {Header{Op: opLookup, Batch: 4}, values},
			"server9 sent operation 14 of batch 3 to trainer0, which has no such call":       {Header{Op: opUpdate, Batch: 3}, nil},
			"server9 sent operation 6 of batch 3 to trainer0, which has no such call":        {Header{Op: opAnswer, Batch: 3}, values},
		} {
			store, err := NewLookupStore("trainer0", faultSpec)
			commtest.Must(t, err)
			near, far := link(t, n, "trainer0", "server9")
			l, err := (streamProvider{}).NewTableLink(near, store, 1, patience)
			commtest.Must(t, err)
			commtest.Must(t, store.Ask([]int64{0, 1, 1}, []int64{5}))
			f := l.Lookup(3)
			commtest.Must(t, far.Send(&c.answer, c.payload))
			if err := f.Wait(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the lookup ended with %v, want %q", err, want)
			}
			_ = l.Close()
		}
		store, err := NewLookupStore("trainer0", faultSpec)
		commtest.Must(t, err)
		near, far := link(t, n, "trainer0", "server9")
		l, err := (streamProvider{}).NewTableLink(near, store, 1, patience)
		commtest.Must(t, err)
		commtest.Must(t, far.Send(&Header{Op: opLookup}, nil))
		commtest.Must(t, far.SetReadDeadline(time.Now().Add(patience)))
		if err := far.ReadHeader(&Header{}); err == nil { // until the link hangs up
			t.Error("a link took an answer to nothing")
		}
		if err := l.Lookup(0).Wait(); err == nil || !strings.Contains(err.Error(), "which has no such call in flight") {
			t.Errorf("an answer to nothing gave %v", err)
		}
		_ = l.Close()
	})
}

func TestTablesMustAgree(t *testing.T) {
	other := faultSpec
	other.Bags = 1 << 20
	near, far := link(t, Unix, "trainer0", "server9")
	store, err := (sharedProvider{}).NewLookupStore("trainer0", other)
	commtest.Must(t, err)
	defer func() { _ = store.Close() }()
	failed := make(chan error, 1)
	go func() { _, err := (sharedProvider{}).NewTableLink(near, store, 0, patience); failed <- err }()
	if _, err := (sharedProvider{}).NewTablePort(Links{"server9", []*Conn{far}, patience}, faultSpec, 0); err == nil {
		t.Error("a port took a store of another size")
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "both must agree on the buckets") {
		t.Errorf("a link with other lookups gave %v", err)
	}
	heap, err := NewLookupStore("trainer0", faultSpec)
	commtest.Must(t, err)
	for want, join := range map[string]func(c *Conn) error{
		"trainer0 cannot share its lookups with server9: they are not in shared memory": func(c *Conn) error { _, err := (sharedProvider{}).NewTableLink(c, heap, 0, patience); return err },
		"trainer0 cannot join server9: there is no table 2 among 2":                     func(c *Conn) error { _, err := (streamProvider{}).NewTableLink(c, heap, 2, patience); return err },
		"trainer0: there is no table -1 among 2": func(c *Conn) error {
			_, err := (streamProvider{}).NewTablePort(Links{"trainer0", []*Conn{c}, patience}, faultSpec, -1)
			return err
		},
	} {
		near, far := link(t, Unix, "trainer0", "server9")
		if err := join(near); err == nil || err.Error() != want {
			t.Errorf("joining gave %v, want %q", err, want)
		}
		var peer *PeerError
		if err := far.ReadHeader(&Header{}); !errors.As(err, &peer) {
			t.Errorf("the connection was left open: %v", err)
		}
	}
}
