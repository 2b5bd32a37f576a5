package comm

import (
	"errors"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/internal/commtest"
)

func TestTableServerNamesTheRowOutside(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		for want, indices := range map[string][]int64{
			"trainer0 asked server9 for row 300 at bag 4, position 1, of a table of 300 rows": {0, 1, 2, 3, 4, 300},
			"trainer0 asked server9 for row -1 at bag 0, position 0, of a table of 300 rows":  {-1, 1, 2, 3, 4, 300},
		} {
			l := newLibrary(t, tr, tr.Network, 2, faultSpec, patience, noCall)
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

func TestTablesMustAgree(t *testing.T) {
	other := faultSpec
	other.Bags = 1 << 20
	near, far := link(t, Unix, "trainer0", "server9")
	store, err := fabrics[0].NewLookupStore("trainer0", other)
	commtest.Must(t, err)
	defer func() { _ = store.Close() }()
	failed := make(chan error, 1)
	go func() { _, err := fabrics[0].NewTableLink(near, store, 0, patience); failed <- err }()
	if _, err := fabrics[0].NewTablePort(Links{"server9", []*Conn{far}, patience}, faultSpec, 0); err == nil {
		t.Error("a port took a store of another size")
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "both must agree on the buckets") {
		t.Errorf("a link with other lookups gave %v", err)
	}
	heap, err := NewLookupStore("trainer0", faultSpec)
	commtest.Must(t, err)
	for want, join := range map[string]func(c *Conn) error{
		"trainer0 cannot share its lookups with server9: they are not in shared memory": func(c *Conn) error { _, err := fabrics[0].NewTableLink(c, heap, 0, patience); return err },
		"trainer0 cannot join server9: there is no table 2 among 2":                     func(c *Conn) error { _, err := fabrics[1].NewTableLink(c, heap, 2, patience); return err },
		"trainer0: there is no table -1 among 2": func(c *Conn) error {
			_, err := fabrics[1].NewTablePort(Links{"trainer0", []*Conn{c}, patience}, faultSpec, -1)
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
