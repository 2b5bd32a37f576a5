package run

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/sdk"
)

// process is one of the run's: a rank, the data process or a companion.
type process struct {
	*cluster.Member
	rank       int // of the rank that it belongs to; -1 for data
	position   int // of a server among the servers
	kind       sdk.Kind
	host       *process              // of a companion: the process that calls it
	companions map[sdk.Kind]*process // of a host, by what they hold
	device     *devices.Device       // of a CUDA rank

	// known once it runs
	model        *layout.Model   // nil unless the process holds the model
	table        *comm.TableSpec // nil unless it is a server of a table
	plan         plan            // of a trainer
	facts        map[string]string
	boundariesNS map[sdk.Kind]int64 // of a host: median cost of a no-op call to a companion
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
	all      []*process // data, trainers, servers, each followed by its companions
}

// layOut decides which process holds which part. A hook, criterion or model gets a
// companion process if the user asked for it, if the trainer's plugin does not have it, or if it
// speaks the protocol; a server or data that speaks it is in one beside a process of psbench's own.
func layOut(e *config.Experiment) processes {
	var ps processes
	add := func(name string, p *process) *process {
		p.Member = &cluster.Member{Name: name, Plugin: e.Parts[p.kind].Plugin,
			Part: fmt.Sprintf("%s %s", p.kind, e.Parts[p.kind].Key)}
		p.companions = map[sdk.Kind]*process{}
		ps.all = append(ps.all, p)
		return p
	}
	rank := func(name string, p *process) *process {
		add(name, p)
		if e.Parts[p.kind].Protocol {
			p.Plugin = registry.Plugin{Name: registry.Builtin}
			part := add(name+"."+partKind, &process{rank: p.rank, kind: p.kind, host: p})
			part.Protocol, part.Host = true, name
			p.companions[p.kind] = part
		}
		return p
	}
	ps.data = rank("data", &process{rank: -1, kind: sdk.KindData})
	ps.all[len(ps.all)-1].Input = e.Parts[sdk.KindData].ReadsInput() // the process that holds the part
	for _, number := range e.World.TrainerRanks() {
		t := add(e.World.Name(number), &process{rank: number, kind: sdk.KindTrainer})
		t.onDevice(e)
		ps.trainers = append(ps.trainers, t)
		for _, kind := range registry.Isolable {
			if e.Isolate[kind] || e.Parts[kind].Protocol || !t.Plugin.Has(e.Parts[kind].Plugin.Name) {
				t.companions[kind] = add(t.Name+"."+string(kind), &process{rank: number, kind: kind, host: t})
				t.companions[kind].Protocol = e.Parts[kind].Protocol
			}
		}
	}
	for i, number := range e.World.ServerRanks() {
		s := rank(e.World.Name(number), &process{rank: number, position: i, kind: sdk.KindServer})
		s.onDevice(e)
		ps.servers = append(ps.servers, s)
	}
	return ps
}

// onDevice gives a CUDA rank the plugin that computes there.
func (p *process) onDevice(e *config.Experiment) {
	if e.World.CUDA(p.rank) {
		p.Plugin = e.PluginOf(p.kind, p.rank)
	}
}

// onDevicesOf gives the CUDA ranks of a layout the devices that it has for them. Of those of other hosts than the
// core's no more is known than their ordinals.
func (ps *processes) onDevicesOf(l *placement.Layout, e *config.Experiment, coreApart bool) {
	for _, p := range ps.all {
		placed, _ := l.Of(p.Name)
		switch {
		case placed.Device == nil:
		case placed.Host == 0 && !coreApart:
			p.device = &e.CUDA.Devices.Devices[*placed.Device]
		default:
			p.device = &devices.Device{Ordinal: *placed.Device}
		}
	}
}

// parted are the companions by themselves.
func (ps *processes) parted() (others, companions []*process) {
	for _, p := range ps.all {
		if p.host != nil {
			companions = append(companions, p)
		} else {
			others = append(others, p)
		}
	}
	return others, companions
}

// partKind is what reports call the kind of a process that holds the part of a server or of data:
// the rank is the process beside it.
const partKind = "part"

// isPart says that the process is such a one.
func (p *process) isPart() bool { return p.host != nil && p.host.kind == p.kind }

// reportedKind is the kind of the process in the result.
func (p *process) reportedKind() string {
	if p.isPart() {
		return partKind
	}
	return string(p.kind)
}

// joiner is the process that joins the links of a trainer's hook: the one that holds it, unless that
// asks the trainer by the protocol for what it does on them.
func (p *process) joiner() *process {
	if holder := p.holder(sdk.KindHook); !holder.Protocol {
		return holder
	}
	return p
}

// checkContracts refuses trainers that cannot call parts by the protocol: their plugins are older
// than it is.
func (r *run) checkContracts() error {
	for _, p := range r.processes.all {
		if t := p.host; t != nil && p.Protocol && t.kind == sdk.KindTrainer &&
			host.ParseVersion(t.Contract()).Before(host.Protocol) {
			return fmt.Errorf("%s of plugin %s speaks version %s of psbench's contract with plugins, and calls of the protocol, which %s of plugin %s speaks, came with %s: build the trainer's plugin with the sdk of this psbench",
				t.Part, t.Plugin.Name, t.Contract(), p.Part, p.Plugin.Name, host.Protocol)
		}
	}
	return nil
}

// holder is the process that holds a trainer's part of a kind.
func (p *process) holder(kind sdk.Kind) *process {
	if c := p.companions[kind]; c != nil {
		return c
	}
	return p
}
