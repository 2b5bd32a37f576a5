package run

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

func TestLayOut(t *testing.T) {
	foreign := experiment(1, 1, registry.Links{})
	hook := foreign.Parts[sdk.KindHook]
	hook.Plugin.Name = "theirs"
	foreign.Parts[sdk.KindHook] = hook
	foreignTrainer := experiment(1, 0, registry.Links{})
	trainer := foreignTrainer.Parts[sdk.KindTrainer]
	trainer.Plugin.Name = "theirs"
	foreignTrainer.Parts[sdk.KindTrainer] = trainer
	including := experiment(1, 0, registry.Links{})
	trainer.Plugin.Includes = []string{registry.Builtin}
	including.Parts[sdk.KindTrainer] = trainer

	for name, c := range map[string]struct {
		processes processes
		want      []string
	}{
		"parts that speak the protocol": {layOut(speaking(2, 2)),
			[]string{"data", "data.part", "trainer0", "trainer1", "server2", "server2.part", "server3",
				"server3.part"}},
		"together": {layOut(experiment(2, 1, registry.Links{})),
			[]string{"data", "trainer0", "trainer1", "server2"}},
		"hook": {layOut(experiment(1, 1, registry.Links{}, sdk.KindHook)),
			[]string{"data", "trainer0", "trainer0.hook", "server1"}},
		"criterion": {layOut(experiment(1, 0, registry.Links{}, sdk.KindCriterion)),
			[]string{"data", "trainer0", "trainer0.criterion"}},
		"model": {layOut(experiment(2, 0, registry.Links{}, sdk.KindModel)),
			[]string{"data", "trainer0", "trainer0.model", "trainer1", "trainer1.model"}},
		"all": {layOut(experiment(1, 1, registry.Links{}, registry.Isolable...)),
			[]string{"data", "trainer0", "trainer0.hook", "trainer0.criterion", "trainer0.model", "server1"}},
		"foreign hook": {layOut(foreign),
			[]string{"data", "trainer0", "trainer0.hook", "server1"}},
		"foreign trainer": {layOut(foreignTrainer),
			[]string{"data", "trainer0", "trainer0.hook", "trainer0.criterion", "trainer0.model"}},
		"foreign trainer that includes them": {layOut(including), []string{"data", "trainer0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, cluster.Names(c.processes.all)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			for _, tr := range c.processes.trainers {
				for _, kind := range registry.Isolable {
					if h := tr.holder(kind); h != tr && (h.host != tr || h.rank != tr.rank || h.kind != kind) {
						t.Errorf("%s: the %s of %s is held by %s", name, kind, tr.Name, h.Name)
					}
				}
			}
		})
	}
}

// speaking returns an experiment whose server and data speak the protocol. Both come from another plugin.
func speaking(trainers, servers int) *config.Experiment {
	e := experiment(trainers, servers, registry.Links{Server: true})
	for _, kind := range []sdk.Kind{sdk.KindServer, sdk.KindData} {
		e.Parts[kind] = config.Part{Key: "a_" + string(kind),
			Plugin: registry.Plugin{Name: "theirs", Command: []string{"theirs"}}, Protocol: true}
	}
	return e
}

// beside returns an experiment with two trainers. Their hook and model speak the protocol and come from the trainers'
// own plugin.
func beside(links registry.Links) *config.Experiment {
	e := experiment(2, 1, links)
	for _, kind := range []sdk.Kind{sdk.KindHook, sdk.KindModel} {
		part := e.Parts[kind]
		part.Protocol = true
		e.Parts[kind] = part
	}
	return e
}

// A trainer cannot call parts by the protocol if its plugin is older than the protocol.
func TestContractsOfTrainers(t *testing.T) {
	for contract, want := range map[string]string{
		"2.1": "", "2.2": "", "3.0": "",
		"2.0": "trainer a_trainer of plugin builtin speaks version 2.0 of psbench's contract with plugins, but hook a_hook of plugin builtin speaks the protocol, which needs 2.1: build the trainer's plugin with the sdk of this psbench",
	} {
		t.Run(contract, func(t *testing.T) {
			for _, e := range []*config.Experiment{beside(registry.Links{}),
				experiment(2, 1, registry.Links{}, sdk.KindHook)} {
				r := laidOut(&run{e: e})
				for _, p := range r.processes.all {
					p.Process = placed{contract: contract}
				}
				if !e.Parts[sdk.KindHook].Protocol {
					want = ""
				}
				got := ""
				if err := r.checkContracts(); err != nil {
					got = err.Error()
				}
				if got != want {
					t.Errorf("%s: %q, want %q", contract, got, want)
				}
			}
		})
	}
}

// A trainer that lays no traffic plans cannot have a hook in another language that plans.
func TestContractsOfPlans(t *testing.T) {
	for contract, want := range map[string]string{
		"2.6": "",
		"2.5": "trainer a_trainer of plugin builtin speaks version 2.5 of psbench's contract with plugins, but hook a_hook of plugin builtin plans its traffic, which needs 2.6: build the trainer's plugin with the sdk of this psbench",
	} {
		t.Run(contract, func(t *testing.T) {
			e := beside(registry.Links{})
			hook := e.Parts[sdk.KindHook]
			hook.Plans = true
			e.Parts[sdk.KindHook] = hook
			r := laidOut(&run{e: e})
			for _, p := range r.processes.all {
				p.Process = placed{contract: contract}
			}
			got := ""
			if err := r.checkContracts(); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// psbench gives numeric targets to no trainer or model whose plugin is too old for them.
func TestContractsOfFloatTargets(t *testing.T) {
	const want = "the targets of data a_data are numbers, but trainer a_trainer of plugin builtin speaks version 2.4 of psbench's contract with plugins, which supports only classes: build it for version 2.5"
	for _, c := range []struct {
		width    int
		contract string
		want     string
	}{{0, "2.4", ""}, {1, "2.5", ""}, {1, "2.4", want}, {3, "2.1", strings.Replace(want, "2.4", "2.1", 1)}} {
		t.Run(c.contract, func(t *testing.T) {
			r := laidOut(&run{e: experiment(2, 1, registry.Links{}, sdk.KindModel),
				shares: []batches.Share{{TargetWidth: c.width}}})
			for _, p := range r.processes.all {
				p.Process = placed{contract: c.contract}
			}
			got := ""
			if err := r.checkFloatTargets(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%+v: %q", c, got)
			}
		})
	}
}

// If a model steps its parameters itself, no other part may step them.
func TestModelsThatStep(t *testing.T) {
	for _, c := range []struct {
		steps    bool
		service  sdk.Service
		contract string
		want     string
	}{
		{true, sdk.ServiceGradients, "2.1", ""},
		{false, sdk.ServiceParameters, "2.0", ""},
		{true, sdk.ServiceParameters, "2.1",
			"model a_model steps its parameters itself, but server a_server does that: choose a server that reduces gradients"},
		{true, sdk.ServiceTables, "2.0",
			"model a_model steps its parameters itself, and trainer a_trainer of plugin builtin, which speaks version 2.0 of psbench's contract with plugins, would step them a second time: build it with the sdk of this psbench"},
	} {
		t.Run(string(c.service), func(t *testing.T) {
			r := laidOut(&run{e: experiment(2, 1, registry.Links{})})
			r.e.Service, r.model.Steps = c.service, c.steps
			r.processes.trainers[0].Process = placed{contract: c.contract}
			got := ""
			if err := r.checkSteps(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%+v: %q", c, got)
			}
		})
	}
}

// If the part of a server or of data speaks the protocol, it runs in a companion of psbench's own process. That process
// knows its companion, and reports show which part the rank runs.
func TestPartsBesideRanks(t *testing.T) {
	r := laidOut(&run{e: speaking(4, 2)})
	r.processes.trainers[0].plan.inputs = &sdk.InputSpec{}
	for _, host := range append(slices.Clone(r.processes.servers), r.processes.data) {
		part := host.companions[host.kind]
		if host.Plugin.Name != registry.Builtin || part.Plugin.Name != "theirs" || part.Host != host.Name {
			t.Errorf("%s is of plugin %s, and %s of %s beside %q", host.Name, host.Plugin.Name, part.Name,
				part.Plugin.Name, part.Host)
		}
		if host.reportedKind() != string(host.kind) || part.reportedKind() != "part" {
			t.Errorf("%s is reported as a %s, and %s as a %s", host.Name, host.reportedKind(), part.Name,
				part.reportedKind())
		}
		own, its := r.configureRequest(host), r.configureRequest(part)
		if !own.GetServer().GetProtocol() && !own.GetData().GetProtocol() {
			t.Errorf("%s is not told that its part is elsewhere: %v", host.Name, own)
		}
		if own.GetPart().GetKey() != its.GetPart().GetKey() || own.GetRank() != its.GetRank() {
			t.Errorf("%s is %v of rank %d, and its part %v of %d", host.Name, own.GetPart(), own.GetRank(),
				its.GetPart(), its.GetRank())
		}
		peer, pushing := r.partitionRequest().GetCompanion(), int32(4)
		if host.kind == sdk.KindServer {
			peer, pushing = r.serverLinks(host).GetCompanion(), 2
		}
		if peer.GetName() != part.Name || peer.GetAddress() != part.Address || !peer.GetProtocol() {
			t.Errorf("%s is told of %v", host.Name, peer)
		}
		if role := its.GetCompanion(); role.GetTrainers() != pushing {
			t.Errorf("%s is told of %d trainers, want %d", part.Name, role.GetTrainers(), pushing)
		}
		if q := r.connectRequest(part).GetCompanion(); q.GetTrainer().GetName() != host.Name {
			t.Errorf("%s is connected with %v", part.Name, q)
		}
	}
	e := experiment(2, 1, registry.Links{Server: true})
	if s := (&run{e: e, processes: layOut(e)}).processes.servers[0]; len(s.companions) > 0 {
		t.Errorf("%s has companions", s.Name)
	}
}

// laidOut creates the processes of a run and gives each of them an address.
func laidOut(r *run) *run {
	r.processes = layOut(r.e)
	for _, s := range r.processes.all {
		s.Address, s.LinkAddress = "unix:"+s.Name, "tcp:"+s.Name
	}
	for len(r.shares) < len(r.processes.trainers) {
		r.shares = append(r.shares, batches.Share{Batches: 2 + len(r.shares)})
	}
	return r
}

// settled fixes the lengths of the passes of a run.
func settled(r *run) *run {
	if r.result == nil {
		r.result = newResult(r.e, r.o)
	}
	r.settle()
	return r
}

// tables makes the run's servers serve tables.
func tables(r *run) *run {
	r.e.Service, r.e.World.EveryServer = sdk.ServiceTables, true
	r.lookup = &comm.LookupSpec{Bags: 1}
	return r
}

// who lists the processes that a process joins or waits for.
type who struct {
	Data, Server           string
	Ring, Trainers         []string
	Tables                 []string
	Position               int32
	Default                bool
	Hook, Criterion, Model string
}

func whoOf(q *proto.ConnectRequest) (w who) {
	hook := q.GetTrainer().GetHook()
	switch r := q.GetRole().(type) {
	case *proto.ConnectRequest_Trainer:
		c := func(kind sdk.Kind) string { return r.Trainer.GetCompanions()[string(kind)].GetName() }
		w.Data, w.Tables = r.Trainer.GetData().GetName(), peers(r.Trainer.GetTableServers())
		w.Hook, w.Criterion, w.Model = c(sdk.KindHook), c(sdk.KindCriterion), c(sdk.KindModel)
	case *proto.ConnectRequest_Server:
		w.Trainers = peers(r.Server.GetTrainers())
	case *proto.ConnectRequest_Table:
		w.Trainers = peers(r.Table.GetTrainers())
	case *proto.ConnectRequest_Data:
		w.Trainers = peers(r.Data.GetTrainers())
	case *proto.ConnectRequest_Companion:
		w.Trainers, hook = peers([]*proto.Peer{r.Companion.GetTrainer()}), r.Companion.GetHook()
	}
	w.Server, w.Default = hook.GetServer().GetName(), hook.GetDefault() != nil
	w.Ring, w.Position = peers(hook.GetGroup().GetMembers()), hook.GetGroup().GetPosition()
	return w
}

func TestConnectRequests(t *testing.T) {
	server, group := registry.Links{Server: true}, registry.Links{Group: true}
	both, hybrid := registry.Links{Server: true, Group: true}, registry.Links{Group: true, Default: true}
	four := []string{"trainer0", "trainer1", "trainer2", "trainer3"}
	for name, c := range map[string]struct {
		run  *run
		want map[string]who
	}{
		"2+1, server": {&run{e: experiment(2, 1, server)}, map[string]who{
			"data":     {Trainers: []string{"trainer0", "trainer1"}},
			"trainer0": {Data: "data", Server: "server2"},
			"trainer1": {Data: "data", Server: "server2"},
			"server2":  {Trainers: []string{"trainer0", "trainer1"}},
		}},
		"4+2, server and group": {&run{e: experiment(4, 2, both)}, map[string]who{
			"trainer1": {Data: "data", Server: "server4", Ring: four, Position: 1},
			"trainer2": {Data: "data", Server: "server5", Ring: four, Position: 2},
			"server4":  {Trainers: four[:2]},
			"server5":  {Trainers: four[2:]},
		}},
		"a server that the hook does not use": {&run{e: experiment(2, 1, group)}, map[string]who{
			"trainer1": {Data: "data", Ring: four[:2], Position: 1},
			"server2":  {},
		}},
		"two groups": {&run{e: experiment(2, 0, hybrid)}, map[string]who{
			"trainer0": {Data: "data", Ring: four[:2], Default: true},
		}},
		"no links": {&run{e: experiment(1, 1, registry.Links{})}, map[string]who{"trainer0": {Data: "data"}}},
		"hooks that speak the protocol": {&run{e: beside(both)}, map[string]who{
			"trainer1": {Data: "data", Hook: "trainer1.hook", Model: "trainer1.model", Server: "server2",
				Ring: four[:2], Position: 1},
			"trainer1.hook": {Trainers: []string{"trainer1"}, Server: "server2", Ring: four[:2], Position: 1},
			"server2":       {Trainers: four[:2]},
		}},
		"isolated hooks": {&run{e: experiment(2, 1, both, sdk.KindHook)}, map[string]who{
			"trainer1": {Data: "data", Hook: "trainer1.hook"},
			"trainer1.hook": {Trainers: []string{"trainer1"}, Server: "server2",
				Ring: []string{"trainer0.hook", "trainer1.hook"}, Position: 1},
			"server2": {Trainers: []string{"trainer0.hook", "trainer1.hook"}},
			"data":    {Trainers: []string{"trainer0", "trainer1"}},
		}},
		"tables, isolated hooks": {tables(&run{e: experiment(2, 3, group, sdk.KindHook)}), map[string]who{
			"trainer1": {Data: "data", Hook: "trainer1.hook", Tables: []string{"server2", "server3", "server4"}},
			"trainer1.hook": {Trainers: []string{"trainer1"}, Ring: []string{"trainer0.hook", "trainer1.hook"},
				Position: 1},
			"server2": {Trainers: four[:2]},
			"server4": {Trainers: four[:2]},
		}},
		"tables without a hook's links": {tables(&run{e: experiment(1, 2, registry.Links{})}), map[string]who{
			"trainer0": {Data: "data", Tables: []string{"server1", "server2"}},
			"server2":  {Trainers: four[:1]},
		}},
		"all isolated": {&run{e: experiment(1, 1, server, registry.Isolable...)}, map[string]who{
			"trainer0": {Data: "data", Hook: "trainer0.hook", Criterion: "trainer0.criterion",
				Model: "trainer0.model"},
			"trainer0.hook":      {Trainers: []string{"trainer0"}, Server: "server1"},
			"trainer0.criterion": {Trainers: []string{"trainer0"}},
			"trainer0.model":     {Trainers: []string{"trainer0"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := laidOut(c.run)
			found := 0
			for _, s := range r.processes.all {
				want, ok := c.want[s.Name]
				if !ok {
					continue
				}
				found++
				if d := cmp.Diff(want, whoOf(r.connectRequest(s))); d != "" {
					t.Errorf("%s, %s: %s", name, s.Name, d)
				}
			}
			if found != len(c.want) {
				t.Errorf("%s: %d of %d processes exist", name, found, len(c.want))
			}
			for _, s := range r.processes.all {
				q := r.connectRequest(s)
				known := q.GetTrainer().GetLookup() != nil || q.GetTable().GetLookup() != nil
				if want := (s.kind == sdk.KindTrainer || s.kind == sdk.KindServer) && r.lookup != nil; known != want {
					t.Errorf("%s, %s knows the lookup: %v", name, s.Name, known)
				}
				requireAddresses(t, s.Name, r.connectRequest(s))
			}
		})
	}
}

// requireAddresses checks that the hook's links use addresses of the run's transport, and that all other connections
// use Unix sockets.
func requireAddresses(t *testing.T, name string, q *proto.ConnectRequest) {
	t.Helper()
	trainer, hook := q.GetTrainer(), q.GetTrainer().GetHook()
	if q.GetCompanion() != nil {
		hook = q.GetCompanion().GetHook()
	}
	links := slices.Concat([]*proto.Peer{hook.GetServer()}, hook.GetGroup().GetMembers(),
		hook.GetDefault().GetMembers(),
		trainer.GetTableServers(), q.GetServer().GetTrainers(), q.GetTable().GetTrainers())
	others := append(slices.Collect(maps.Values(trainer.GetCompanions())), trainer.GetData(),
		q.GetCompanion().GetTrainer())
	others = append(others, q.GetData().GetTrainers()...)
	for prefix, peers := range map[string][]*proto.Peer{"tcp:": links, "unix:": others} {
		for _, p := range peers {
			if p != nil && p.GetAddress() != prefix+p.GetName() {
				t.Errorf("%s is to find %s at %s", name, p.GetName(), p.GetAddress())
			}
		}
	}
}
