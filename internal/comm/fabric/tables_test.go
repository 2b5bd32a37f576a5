package fabric

import (
	"testing"

	"github.com/psbench/psbench/internal/comm/wire"
)

// overTransports runs test once per transport.
func overTransports(t *testing.T, test func(t *testing.T, tr *Fabric)) {
	for _, tr := range fabrics {
		t.Run(tr.Name, func(t *testing.T) { test(t, tr) })
	}
}

// byTurns pretends that every other trainer, the first one among them, shares a host with all servers.
func byTurns(f *Fabric) func(trainer int) *wire.Network {
	return func(trainer int) *wire.Network { return f.Link(trainer%2 == 0).Network }
}
