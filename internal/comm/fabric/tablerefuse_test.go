package fabric

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

func TestTableServerNamesTheRowOutside(t *testing.T) {
	overTransports(t, func(t *testing.T, tr *Fabric) {
		for want, indices := range map[string][]int64{
			"trainer0 asked server9 for row 300 at bag 4, position 1, of a table of 300 rows": {0, 1, 2, 3, 4, 300},
			"trainer0 asked server9 for row -1 at bag 0, position 0, of a table of 300 rows":  {-1, 1, 2, 3, 4, 300},
		} {
			l := linktest.NewLibrary(t, tr, byTurns(tr), 2, linktest.FaultSpec, linktest.Patience, linktest.NoCall)
			commtest.Must(t, l.Stores[0].Ask([]int64{0, 1, 2, 3, 4, 6}, indices))
			var peer *comm.PeerError
			if err := l.Links[0][0].Lookup(0).Wait(); !errors.As(err, &peer) || peer.Peer != "server9" {
				t.Errorf("the lookup ended with %v", err)
			}
			if err := <-l.Served[0]; err == nil || err.Error() != want {
				t.Errorf("serve ended with %v, want %q", err, want)
			}
		}
	})
}

func TestTablesMustAgree(t *testing.T) {
	other := linktest.FaultSpec
	other.Bags = 1 << 20
	near, far := linktest.Link(t, wire.Unix, "trainer0", "server9")
	store, err := fabrics[0].NewLookupStore("trainer0", other)
	commtest.Must(t, err)
	defer func() { _ = store.Close() }()
	failed := make(chan error, 1)
	go func() { _, err := fabrics[0].NewTableLink(near, store, 0, linktest.Patience); failed <- err }()
	if _, err := fabrics[0].NewTablePort(wire.Links{Self: "server9", Conns: []*wire.Conn{far},
		Timeout: linktest.Patience}, linktest.FaultSpec, 0); err == nil {
		t.Error("a port took a store of another size")
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "both must agree on the buckets") {
		t.Errorf("a link with other lookups gave %v", err)
	}
	heap, err := comm.NewLookupStore("trainer0", linktest.FaultSpec)
	commtest.Must(t, err)
	for want, join := range map[string]func(c *wire.Conn) error{
		"trainer0 cannot share its lookups with server9: they are not in shared memory": func(c *wire.Conn) error {
			_, err := fabrics[0].NewTableLink(c, heap, 0, linktest.Patience)
			return err
		},
		"trainer0 cannot join server9: there is no table 2 among 2": func(c *wire.Conn) error {
			_, err := fabrics[1].NewTableLink(c, heap, 2, linktest.Patience)
			return err
		},
		"trainer0: there is no table -1 among 2": func(c *wire.Conn) error {
			_, err := fabrics[1].NewTablePort(wire.Links{Self: "trainer0", Conns: []*wire.Conn{c},
				Timeout: linktest.Patience}, linktest.FaultSpec, -1)
			return err
		},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			near, far := linktest.Link(t, wire.Unix, "trainer0", "server9")
			if err := join(near); err == nil || err.Error() != want {
				t.Errorf("joining gave %v, want %q", err, want)
			}
			var peer *comm.PeerError
			if err := far.ReadHeader(&wire.Header{}); !errors.As(err, &peer) {
				t.Errorf("the connection was left open: %v", err)
			}
		})
	}
}
