package server

import (
	"cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol"
	"github.com/psbench/psbench/sdk"
)

// build builds the server, or connects to the companion with the server. For an elementwise server,
// build also makes the reduction.
func (r *Role) build(env sdk.ServerEnv, companion process.Peer) (_ any, err error) {
	choice := r.Part()
	if r.config.Protocol {
		r.part, r.tripNS, err = protocol.NewServer(r.Process, companion, env.Buckets, peerNames(r.trainers))
		r.server = r.part
		return r.part, err
	}
	part, err := r.Find(choice)
	if err != nil {
		return nil, err
	}
	if part.Timing == 0 {
		r.server, err = process.Build[sdk.Server](r.Process, choice, env)
		return r.server, err
	}
	server, err := process.Build[sdk.ElementwiseServer](r.Process, choice, env)
	if err != nil {
		return nil, err
	}
	r.reduction = &reduction{
		server: server, timing: part.Timing, clock: monotonic(),
		pool:     newPool(len(r.trainers), &r.Owned, r.Done),
		computed: r.Recorder.Series("method_metric", cmp.Or(part.Computes, part.Key)+" computation"),
	}
	return server, nil
}

// showPart passes the memory for pushes to the companion with the server, if there is one.
func (r *Role) showPart(port comm.Port) error {
	if r.part == nil {
		return nil
	}
	var stores [][]*comm.Store
	for t := range r.trainers {
		stores = append(stores, port.Stores(t))
		for _, store := range port.Stores(t) {
			r.OwnMemory(store)
		}
	}
	return r.part.Take(stores)
}

// BoundaryNS returns the median round trip, in ns, of a no-op call to the companion with the
// server. BoundaryNS returns 0 without a companion or before the connection.
func (r *Role) BoundaryNS() int64 { return r.tripNS }

func peerNames(peers []process.Peer) (names []string) {
	for _, p := range peers {
		names = append(names, p.Name)
	}
	return names
}
