package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/host/process"
)

// ErrAggregateOnOneHost refuses to aggregate where nothing would be.
var ErrAggregateOnOneHost = errors.New(
	"aggregate is host but all processes run on one host, which no push leaves: leave it out, or run on several")

// NothingTogether is the warning where no host has trainers that could push as one.
const NothingTogether = "aggregate host has no effect: no server has two trainers on a host that is not its own"

// CheckTogether reports that processes run on one host, on which none push as one, or that the plugin of one is
// older than pushes of several trainers are. The members are those that push, and servers.
func CheckTogether[M member](members []M) error {
	if hosts := Hosts(members); slices.Max(hosts) == 0 {
		return ErrAggregateOnOneHost
	}
	for _, m := range members {
		if b := m.base(); b.Process != nil && host.ParseVersion(b.Contract()).Before(host.Aggregates) {
			return fmt.Errorf("%s of plugin %s speaks version %s of psbench's contract with plugins, and aggregate host came with %s: build the plugin with the sdk of this psbench",
				b.Name, b.Plugin.Name, b.Contract(), host.Aggregates)
		}
	}
	return nil
}

// Together parts the trainers of a server into lists that push as one, of each of which the first one joins the
// server: with aggregate set those of each host but the server's own, whose pushes stay there; else each is by
// itself. Lists are in the order of their first trainers.
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

// TogetherWith is what a trainer is told of those that push with it; nil if it pushes for itself.
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

// FirstOf are those that push for their lists.
func FirstOf[M any](lists [][]M) (first []M) {
	for _, list := range lists {
		first = append(first, list[0])
	}
	return first
}

// AddTogether notes the links of a server and of trainers that push to it in lists.
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
