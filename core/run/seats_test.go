package run

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

func TestPlace(t *testing.T) {
	foreign := experiment(1, 1, registry.Links{})
	hook := foreign.Parts[sdk.KindHook]
	hook.Plugin.Name = "theirs"
	foreign.Parts[sdk.KindHook] = hook
	foreignTrainer := experiment(1, 0, registry.Links{})
	trainer := foreignTrainer.Parts[sdk.KindTrainer]
	trainer.Plugin.Name = "theirs"
	foreignTrainer.Parts[sdk.KindTrainer] = trainer

	for name, c := range map[string]struct {
		seats seats
		want  []string
	}{
		"together":        {place(experiment(2, 1, registry.Links{})), []string{"data", "trainer0", "trainer1", "server2"}},
		"hook":            {place(experiment(1, 1, registry.Links{}, sdk.KindHook)), []string{"data", "trainer0", "trainer0.hook", "server1"}},
		"criterion":       {place(experiment(1, 0, registry.Links{}, sdk.KindCriterion)), []string{"data", "trainer0", "trainer0.criterion"}},
		"model":           {place(experiment(2, 0, registry.Links{}, sdk.KindModel)), []string{"data", "trainer0", "trainer0.model", "trainer1", "trainer1.model"}},
		"all":             {place(experiment(1, 1, registry.Links{}, sdk.Isolable...)), []string{"data", "trainer0", "trainer0.hook", "trainer0.criterion", "trainer0.model", "server1"}},
		"foreign hook":    {place(foreign), []string{"data", "trainer0", "trainer0.hook", "server1"}},
		"foreign trainer": {place(foreignTrainer), []string{"data", "trainer0", "trainer0.hook", "trainer0.criterion", "trainer0.model"}},
	} {
		if d := cmp.Diff(c.want, names(c.seats.all)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, tr := range c.seats.trainers {
			for _, kind := range sdk.Isolable {
				if h := tr.holder(kind); h != tr && (h.trainer != tr || h.rank != tr.rank || h.kind != kind) {
					t.Errorf("%s: the %s of %s is held by %s", name, kind, tr.name, h.name)
				}
			}
		}
	}
}

// seated places e and gives every process an address.
func seated(r *run) *run {
	r.seats = place(r.e)
	for _, s := range r.seats.all {
		s.address, s.link = "unix:"+s.name, "tcp:"+s.name
	}
	return r
}

// who is whom a process is told to join or to wait for.
type who struct {
	Data, Server           string
	Ring, Trainers         []string
	Position               int32
	Default                bool
	Hook, Criterion, Model string
}

func whoOf(q *proto.ConnectRequest) who {
	c := func(kind sdk.Kind) string { return q.GetCompanions()[string(kind)].GetName() }
	return who{
		Data: q.GetData().GetName(), Server: q.GetServer().GetName(), Ring: peers(q.GetRing()), Trainers: peers(q.GetTrainers()),
		Position: q.GetPosition(), Default: q.GetDefaultGroup(), Hook: c(sdk.KindHook), Criterion: c(sdk.KindCriterion), Model: c(sdk.KindModel),
	}
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
		"isolated hooks": {&run{e: experiment(2, 1, both, sdk.KindHook)}, map[string]who{
			"trainer1":      {Data: "data", Hook: "trainer1.hook"},
			"trainer1.hook": {Trainers: []string{"trainer1"}, Server: "server2", Ring: []string{"trainer0.hook", "trainer1.hook"}, Position: 1},
			"server2":       {Trainers: []string{"trainer0.hook", "trainer1.hook"}},
			"data":          {Trainers: []string{"trainer0", "trainer1"}},
		}},
		"all isolated": {&run{e: experiment(1, 1, server, sdk.Isolable...)}, map[string]who{
			"trainer0":           {Data: "data", Hook: "trainer0.hook", Criterion: "trainer0.criterion", Model: "trainer0.model"},
			"trainer0.hook":      {Trainers: []string{"trainer0"}, Server: "server1"},
			"trainer0.criterion": {Trainers: []string{"trainer0"}},
			"trainer0.model":     {Trainers: []string{"trainer0"}},
		}},
	} {
		r := seated(c.run)
		found := 0
		for _, s := range r.seats.all {
			want, ok := c.want[s.name]
			if !ok {
				continue
			}
			found++
			if d := cmp.Diff(want, whoOf(r.connectRequest(s))); d != "" {
				t.Errorf("%s, %s: %s", name, s.name, d)
			}
		}
		if found != len(c.want) {
			t.Errorf("%s: %d of %d processes exist", name, found, len(c.want))
		}
		for _, s := range r.seats.all {
			requireAddresses(t, s.name, r.connectRequest(s))
		}
	}
}

// requireAddresses requires that the hook's links lead to the addresses of the
// run's transport and everything else to the Unix sockets.
func requireAddresses(t *testing.T, name string, q *proto.ConnectRequest) {
	t.Helper()
	links := append([]*proto.Peer{q.GetServer()}, q.GetRing()...)
	others := append(slices.Collect(maps.Values(q.GetCompanions())), q.GetData())
	if strings.HasPrefix(name, "server") {
		links = append(links, q.GetTrainers()...)
	} else {
		others = append(others, q.GetTrainers()...)
	}
	for prefix, peers := range map[string][]*proto.Peer{"tcp:": links, "unix:": others} {
		for _, p := range peers {
			if p != nil && p.GetAddress() != prefix+p.GetName() {
				t.Errorf("%s is to find %s at %s", name, p.GetName(), p.GetAddress())
			}
		}
	}
}

// The capacity of a sparse bucket is what the batches of connected trainers
// touch at most, in the largest set of them.
func TestAgreeOnBuckets(t *testing.T) {
	plan := func(rows int64) []*proto.Bucket {
		return []*proto.Bucket{{Elements: 4}, {Sparse: true, TableRows: rows, Width: 2, Elements: 2 * rows}}
	}
	shares := []*proto.Share{{DistinctRows: 10}, {DistinctRows: 20}, {DistinctRows: 5}, {DistinctRows: 7}}
	for name, c := range map[string]struct {
		links registry.Links
		rows  int64
		want  int
	}{
		"all trainers":    {registry.Links{Group: true}, 100, 42},
		"by server":       {registry.Links{Server: true}, 100, 30},
		"alone":           {registry.Links{}, 100, 20},
		"the whole table": {registry.Links{Group: true}, 16, 16},
	} {
		r := seated(&run{e: experiment(4, 2, c.links), shares: shares})
		r.result = newResult(r.e, Options{})
		for _, s := range r.seats.trainers {
			s.buckets = plan(c.rows)
		}
		if err := r.agreeOnBuckets(); err != nil {
			t.Fatal(err)
		}
		if b := r.result.Buckets; b[0].Capacity != 0 || b[1].Capacity != c.want {
			t.Errorf("%s: the capacities are %d and %d, want 0 and %d", name, b[0].Capacity, b[1].Capacity, c.want)
		}
	}
	r := seated(&run{e: experiment(2, 0, registry.Links{}), shares: shares})
	r.seats.trainers[0].buckets, r.seats.trainers[1].buckets = plan(3), plan(4)
	if err := r.agreeOnBuckets(); err == nil || err.Error() != "trainer0 and trainer1 plan different buckets: the plan must depend on the model alone" {
		t.Errorf("different plans gave %v", err)
	}
}
