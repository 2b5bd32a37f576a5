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

// process is one process of the run: a rank, the data process or a companion.
type process struct {
	*cluster.Member
	rank       int // its rank, or the rank that it serves; -1 for data
	position   int // index of a server among the servers
	kind       sdk.Kind
	host       *process              // the process that calls it; nil if it is not a companion
	companions map[sdk.Kind]*process // companions of this process, by the kind of part that they hold
	device     *devices.Device       // device of a CUDA rank

	// set while the process runs
	model        *layout.Model   // nil if the process does not hold the model
	table        *comm.TableSpec // nil if it is not a server of a table
	plan         plan            // of a trainer
	facts        map[string]string
	boundariesNS map[sdk.Kind]int64 // median cost of a no-op call to each companion, in ns
	collected    collected
}

// plan holds the buckets that a trainer reduces, the inputs that it takes and the traffic of its hook.
type plan struct {
	buckets []tensor.BucketSpec
	inputs  *sdk.InputSpec // nil if the trainer stated none
	traffic sdk.Traffic    // of the hook, if the process holds one that plans
}

// processes holds all processes of a run.
type processes struct {
	data     *process
	trainers []*process
	servers  []*process
	all      []*process // data, trainers, servers, each followed by its companions
}

// layOut decides which process holds which part. A hook, criterion or model gets a companion process in three cases:
// the user asked for one, the trainer's plugin lacks the part, or the part speaks the protocol. If a server or data
// speaks the protocol, it runs in a companion of one of psbench's own processes.
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
	ps.all[len(ps.all)-1].Input = e.Parts[sdk.KindData].ReadsInput() // this process holds the data
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

// onDevice gives a CUDA rank the plugin that computes on CUDA devices.
func (p *process) onDevice(e *config.Experiment) {
	if e.World.CUDA(p.rank) {
		p.Plugin = e.PluginOf(p.kind, p.rank)
	}
}

// onDevicesOf assigns the devices of a layout to its CUDA ranks. For devices on other hosts, psbench knows only the
// ordinal.
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

// parted splits the processes into companions and all others.
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

// partKind is the kind, in reports, of a process that holds the part of a server or of data. The host of that process
// is the rank.
const partKind = "part"

// isPart reports whether the process holds the part of a server or of data for its host.
func (p *process) isPart() bool { return p.host != nil && p.host.kind == p.kind }

// reportedKind returns the kind of the process in the result.
func (p *process) reportedKind() string {
	if p.isPart() {
		return partKind
	}
	return string(p.kind)
}

// joiner returns the process that joins the links of a trainer's hook. This is normally the process that holds the
// hook. If the hook speaks the protocol, it asks its trainer to use the links, and the trainer joins them.
func (p *process) joiner() *process {
	if holder := p.holder(sdk.KindHook); !holder.Protocol {
		return holder
	}
	return p
}

// checkContracts returns an error if a trainer must call parts by the protocol but its plugin is older than the
// protocol, or than what a part asks of it.
func (r *run) checkContracts() error {
	for _, p := range r.processes.all {
		t := p.host
		if t == nil || !p.Protocol || t.kind != sdk.KindTrainer {
			continue
		}
		needs, why := host.Protocol, "speaks the protocol"
		if p.kind == sdk.KindHook && r.e.Parts[p.kind].Plans {
			needs, why = host.Plans, "plans its traffic"
		}
		if host.ParseVersion(t.Contract()).Before(needs) {
			return fmt.Errorf("%s of plugin %s speaks version %s of psbench's contract with plugins, but %s of plugin %s %s, which needs %s: build the trainer's plugin with the sdk of this psbench",
				t.Part, t.Plugin.Name, t.Contract(), p.Part, p.Plugin.Name, why, needs)
		}
	}
	return nil
}

// holder returns the process that holds a trainer's part of this kind.
func (p *process) holder(kind sdk.Kind) *process {
	if c := p.companions[kind]; c != nil {
		return c
	}
	return p
}
