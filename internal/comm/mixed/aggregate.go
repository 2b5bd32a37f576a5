package mixed

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/hosts"
	"github.com/psbench/psbench/internal/comm/shared/group"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
)

// aggregate is the link to a server on another host of trainers that push as one: their group, whose sums go
// to the server and whose results are its answers.
type aggregate struct{ group comm.GroupLink }

// NewAggregate joins a trainer to those of its host that push to the same server as one, at this position among
// them; here are connections to the others. The one at position 0 has one to the server as well, which takes
// its pushes as those of a single trainer and must do with a sum what it would do with its parts. All of them
// must push the same buckets in the same order. The connections are the link's from now on, also after an error.
//
// It is the all-reduce of a group on several hosts (group.Relay) with a push in the place of the ring: the first
// trainer sums a chunk in everybody's memory, sends it while it sums the next, and writes each chunk of the
// answer to everybody. With n trainers on the host a bucket of S bytes costs n*S bytes read and n*S written in
// memory, and S that leave the host and S that come, in one step each way: of n links n*S would leave and n*S come.
// A bucket is pushed once the one before it is answered, so that of small buckets each costs a round trip.
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

// PushPull implements comm.PushPuller. The future's error is that of a group's all-reduce, or of a push.
func (a aggregate) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	return a.group.AllReduce(batch, b)
}

// Close implements comm.ServerLink.
func (a aggregate) Close() error { return a.group.Close() }
