package mixed

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/hosts"
	"github.com/psbench/psbench/internal/comm/shared/group"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
)

// aggregate links trainers that push as one to a server on another host. It is their group: its sums go to the
// server, and its results are the server's answers.
type aggregate struct{ group comm.GroupLink }

// NewAggregate joins a trainer to the trainers of its host that push to the same server as one. position is its
// place among them; here has the connections to the others. The trainer at position 0 also has the connection to
// the server, which sees a single trainer and must treat a sum as it would treat its parts. All trainers must push
// the same buckets in the same order. The link owns the connections, also after an error.
//
// It is the all-reduce of a group on several hosts (group.Relay) with a push in place of the ring. The first
// trainer sums a chunk in all trainers' memory, sends it while it sums the next, and writes each chunk of the
// answer to all. With n trainers on the host a bucket of S bytes costs n*S bytes read and n*S written in memory.
// S bytes leave the host and S come, in one step each way; n links would carry n*S each way. A bucket waits for
// the answer to the one before it, so each small bucket costs a round trip.
func (p Provider) NewAggregate(
	here wire.Links, position int, server *wire.Conn, store *comm.Store,
) (comm.ServerLink, error) {
	on := make([]int, len(here.Conns)+1)
	on[len(here.Conns)] = 1 // the server
	var sums group.Summer
	if server != nil {
		sums = stream.NewPushRelay(server, store.Specs(), here.Timeout)
	}
	group, err := p.within.NewGroupAcross(here, hosts.Of(on, position), store, sums)
	if err != nil {
		return nil, err
	}
	return aggregate{group}, nil
}

// PushPull implements comm.PushPuller. The future's error comes from the group's all-reduce or from the push.
func (a aggregate) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	return a.group.AllReduce(batch, b)
}

// Close implements comm.ServerLink.
func (a aggregate) Close() error { return a.group.Close() }
