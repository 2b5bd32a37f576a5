package process

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// PlanTraffic asks the hook that choice names for its plan. PlanTraffic returns nil if the hook
// plans nothing. The plan has a list of rounds for every bucket. PlanTraffic adds the rank and the
// process name to env.
func (p *Process) PlanTraffic(choice Choice, env sdk.TrafficEnv) (sdk.Traffic, error) {
	part, err := p.Find(choice)
	if err != nil || !part.Plans {
		return nil, err
	}
	env.Rank, env.Name, env.Buckets = p.Rank(), p.Name(), slices.Clone(env.Buckets)
	done := p.limit(fmt.Sprintf("%s %s has no traffic plan", part.Kind, part.Key))
	plan, err := part.Plan(choice.Settings, env)
	done()
	if err == nil {
		err = traffic.Check(plan, env.Buckets, env.Trainers, part.Links)
	}
	for err == nil && len(plan) < len(env.Buckets) {
		plan = append(plan, nil)
	}
	return plan, fault.Of(choice.Title(), "plan", err)
}

// JoinHook connects the links of a hook in this process and lays its plan. rounds is nil without a
// plan. store holds the rank's buckets; see JoinLinks.
func (p *Process) JoinHook(links HookLinks, store *comm.Store) (joined sdk.Links, rounds sdk.Rounds, err error) {
	var planned *traffic.Rounds
	if links.Traffic != nil {
		planned = traffic.New(&p.Working)
		p.Own(planned) // before the links, because it closes after them
	}
	if joined, err = p.JoinLinks(links, store); err != nil || planned == nil {
		return joined, nil, err
	}
	laid, err := p.LayTraffic(links, p.NewStore)
	if err == nil {
		planned.Join(laid)
	}
	return joined, planned, err
}

// LayTraffic allocates the payloads of a plan with newStore and connects the links that carry them.
func (p *Process) LayTraffic(links HookLinks, newStore func([]tensor.BucketSpec) (*comm.Store, error)) (*traffic.Laid,
	error) {
	owned := func(specs []tensor.BucketSpec) (*comm.Store, error) {
		store, err := newStore(specs)
		if err == nil {
			p.OwnMemory(store)
		}
		return store, err
	}
	if err := traffic.Reserve([]string{p.Name()}, links.Traffic); err != nil {
		return nil, err
	}
	pushed, grouped := traffic.Payloads(links.Traffic)
	var joined traffic.Links
	var err error
	if len(pushed) > 0 {
		if joined.Pushed, err = owned(pushed); err != nil {
			return nil, err
		}
		if joined.Server, err = p.joinServer(p.Fabric, links, joined.Pushed); err != nil {
			return nil, err
		}
	}
	for round, specs := range grouped {
		var store *comm.Store
		var group comm.Group
		if len(specs) > 0 {
			if store, err = owned(specs); err != nil {
				return nil, err
			}
			if group, err = p.JoinGroup(p.Fabric, *links.Group, store, fmt.Sprintf(purposeRound, round)); err != nil {
				return nil, err
			}
		}
		joined.Grouped, joined.Groups = append(joined.Grouped, store), append(joined.Groups, group)
	}
	return traffic.Lay(links.Traffic, joined, p.Recorder), nil
}
