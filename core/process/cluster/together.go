package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/host/process"
)

// ErrAggregateOnOneHost means that aggregation has no effect, because all processes run on one host.
var ErrAggregateOnOneHost = errors.New(
	"aggregate is host but all processes run on one host, so no push leaves the host: leave it out, or run on several hosts")

// NothingTogether is the warning that aggregation has no effect, because no host has trainers that can push as one.
const NothingTogether = "aggregate host has no effect: no server has two trainers on a host that is not its own"

// CheckTogether returns an error if all processes run on one host, where no trainers push as one. CheckTogether also
// returns an error if a plugin is too old for joint pushes. members are the trainers that push, and the servers.
func CheckTogether[M member](members []M) error {
	if hosts := Hosts(members); slices.Max(hosts) == 0 {
		return ErrAggregateOnOneHost
	}
	for _, m := range members {
		if b := m.base(); b.Process != nil && host.ParseVersion(b.Contract()).Before(host.Aggregates) {
			return fmt.Errorf("%s of plugin %s speaks version %s of psbench's contract with plugins, but aggregate host needs %s: build the plugin with the sdk of this psbench",
				b.Name, b.Plugin.Name, b.Contract(), host.Aggregates)
		}
	}
	return nil
}

// Together groups a server's trainers into lists. The trainers of a list push as one, and the first of them connects to
// the server. With aggregate, the trainers of a host form one list. On the server's own host, and without aggregate,
// each trainer is its own list. Lists keep the order of their first trainers.
func Together[M member](server member, trainers []M, aggregate bool) (lists [][]M) {
	for _, t := range trainers {
		i := slices.IndexFunc(lists, func(list []M) bool { return SameHost(list[0], t) })
		if !aggregate || SameHost(server, t) || i < 0 {
			lists = append(lists, []M{t})
		} else {
			lists[i] = append(lists[i], t)
		}
	}
	return lists
}

// TogetherWith returns the group with which a trainer pushes, or nil if the trainer pushes alone.
func TogetherWith[M member](f *fabric.Fabric, lists [][]M, trainer M) *process.Group {
	for _, list := range lists {
		place := slices.IndexFunc(list, func(t M) bool { return t.base() == trainer.base() })
		if place < 0 || len(list) == 1 {
			continue
		}
		group := &process.Group{Position: place}
		for _, t := range list {
			group.Members = append(group.Members, t.base().LinkPeer(f, trainer))
		}
		return group
	}
	return nil
}

// FirstOf returns the first trainer of each list. This trainer pushes for the whole list.
func FirstOf[M any](lists [][]M) (first []M) {
	for _, list := range lists {
		first = append(first, list[0])
	}
	return first
}

// AddTogether adds the links between a server and its lists of trainers, and the links within each list.
func AddTogether[M member](j *Joined, server member, lists [][]M) {
	for _, list := range lists {
		j.Add(list[0], server)
		for i, t := range list {
			for _, other := range list[i+1:] {
				j.Add(t, other)
			}
		}
	}
}
