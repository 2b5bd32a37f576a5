package mixed

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/hosts"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/group"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
)

// aggregate links several trainers of one host to a server on another host,
// which sees them as one trainer. The trainers form a group: the group's sums
// go to the server, and the server's answers become the group's results.
type aggregate struct{ group comm.GroupLink }

// NewAggregate joins several trainers of one host to a server as one trainer.
// position is this trainer's place among them; here has the connections to the
// others. Only the trainer at position 0 also has a connection to the server.
// The server sees a single trainer, so it must treat a sum as it would treat
// the summands. All trainers must push the same buckets in the same order. The
// link owns the connections, also after an error.
//
// The algorithm is the all-reduce of a group on several hosts (group.Relay),
// with a push in place of the ring. The first trainer sums a chunk in all
// trainers' memory and sends it while it sums the next chunk. The first trainer
// also writes each chunk of the answer to all trainers.
//
// With n trainers on the host, a bucket of S bytes costs n*S bytes read and n*S
// bytes written in memory. S bytes leave the host and S bytes arrive, in one
// step each way; n separate links would carry n*S each way. A bucket waits for
// the answer to the previous bucket, so each small bucket costs a round trip.
func (p Provider) NewAggregate(
	here wire.Links, position int, server *wire.Conn, store *comm.Store,
) (comm.ServerLink, error) {
	on := make([]int, len(here.Conns)+1)
	on[len(here.Conns)] = 1 // the server is on the other host
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

// PushPull implements comm.PushPuller. The future's error comes from either the
// group's all-reduce or the push.
func (a aggregate) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	if err := op.RequireFloat32("the trainers of this host", b); err != nil {
		return comm.Completed(err)
	}
	return a.group.AllReduce(batch, b)
}

// Close implements comm.ServerLink.
func (a aggregate) Close() error { return a.group.Close() }
