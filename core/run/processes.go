package run

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/cluster"
	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/layout"
)

// process is one of the run's: a rank, the data process or a companion.
type process struct {
	*cluster.Member
	rank       int // of the rank that it belongs to; -1 for data
	position   int // of a server among the servers
	kind       sdk.Kind
	trainer    *process              // of a companion
	companions map[sdk.Kind]*process // of a trainer

	// known once it runs
	model        *layout.Model   // nil unless the process holds the model
	table        *comm.TableSpec // nil unless it is a server of a table
	plan         plan            // of a trainer
	facts        map[string]string
	boundariesNS map[sdk.Kind]int64 // of a trainer: median cost of a no-op call to a companion
	collected    collected
}

// plan is what a trainer reduces together, and what the data must hold.
type plan struct {
	buckets []tensor.BucketSpec
	inputs  *sdk.InputSpec // nil if it did not say
}

// processes are all those of a run.
type processes struct {
	data     *process
	trainers []*process
	servers  []*process
	all      []*process // data, each trainer followed by its companions, servers
}

// layOut decides which process holds which part. A hook, criterion or model gets a
// companion process if the user asked for it or if the trainer's plugin does not have it.
func layOut(e *config.Experiment) processes {
	var ps processes
	add := func(name string, p *process) *process {
		p.Member = &cluster.Member{Name: name, Plugin: e.Parts[p.kind].Plugin, Part: fmt.Sprintf("%s %s", p.kind, e.Parts[p.kind].Key)}
		ps.all = append(ps.all, p)
		return p
	}
	ps.data = add("data", &process{rank: -1, kind: sdk.KindData})
	for _, rank := range e.World.TrainerRanks() {
		t := add(e.World.Name(rank), &process{rank: rank, kind: sdk.KindTrainer, companions: map[sdk.Kind]*process{}})
		ps.trainers = append(ps.trainers, t)
		for _, kind := range registry.Isolable {
			if e.Isolate[kind] || !t.Plugin.Has(e.Parts[kind].Plugin.Name) {
				t.companions[kind] = add(t.Name+"."+string(kind), &process{rank: rank, kind: kind, trainer: t})
			}
		}
	}
	for i, rank := range e.World.ServerRanks() {
		ps.servers = append(ps.servers, add(e.World.Name(rank), &process{rank: rank, position: i, kind: sdk.KindServer}))
	}
	return ps
}

// parted are the companions by themselves.
func (ps *processes) parted() (others, companions []*process) {
	for _, p := range ps.all {
		if p.trainer != nil {
			companions = append(companions, p)
		} else {
			others = append(others, p)
		}
	}
	return others, companions
}

// holder is the process that holds a trainer's part of a kind.
func (p *process) holder(kind sdk.Kind) *process {
	if c := p.companions[kind]; c != nil {
		return c
	}
	return p
}
