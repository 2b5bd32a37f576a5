package micro

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/sdk/proto"
)

// laidOut returns a session whose processes have addresses.
func laidOut(t *testing.T, p *Plan) *session {
	t.Helper()
	s := newSession(p)
	for _, p := range s.all {
		p.Address, p.LinkAddress = "unix:"+p.Name, "link:"+p.Name
	}
	return s
}

func peers(list ...*proto.Peer) string {
	var out []string
	for _, p := range list {
		if p != nil {
			out = append(out, p.GetName()+" at "+p.GetAddress())
		}
	}
	return strings.Join(out, ", ")
}

func TestConnectRequests(t *testing.T) {
	s := laidOut(t, planOf(4, 2, bench.PushPull, bench.AllReduce))
	w := s.ranks[1]
	req := s.connectRequest(w.trainers[3]).GetBench()
	if got := peers(req.GetServer()); got != "server5.tcp at link:server5.tcp" {
		t.Errorf("trainer3 pushes to %s", got)
	}
	if req.GetGroup().GetPosition() != 3 || req.GetSync().GetPosition() != 3 || len(req.GetBuckets()) != 2 {
		t.Errorf("trainer3 joins %v", req)
	}
	if got := peers(req.GetGroup().GetMembers()...); !strings.HasPrefix(got,
		"trainer0.tcp at link:trainer0.tcp, trainer1.tcp at ") || len(req.GetGroup().GetMembers()) != 4 {
		t.Errorf("the group is %s", got)
	}
	if got := peers(req.GetSync().GetMembers()...); !strings.HasPrefix(got, "trainer0.tcp at unix:trainer0.tcp, ") ||
		len(req.GetSync().GetMembers()) != 4 {
		t.Errorf("the group that lines up is %s", got)
	}
	if got := peers(s.connectRequest(w.servers[1]).GetServer().GetTrainers()...); got !=
		"trainer2.tcp at link:trainer2.tcp, trainer3.tcp at link:trainer3.tcp" {
		t.Errorf("server5 serves %s", got)
	}
}

// A hook gets only the links that it declares. Servers run only if the hook declares the server.
func TestConnectRequestsOfAHook(t *testing.T) {
	for links, want := range map[registry.Links][4]bool{ // server, group, second group; servers run
		{}:                           {},
		{Server: true}:               {0: true, 3: true},
		{Group: true}:                {1: true},
		{Group: true, Default: true}: {1: true, 2: true},
		{Server: true, Group: true, Default: true}: {true, true, true, true},
	} {
		p := planOf(2, 1, bench.Hook)
		p.HookLinks, p.Hook = links, config.Part{Key: "mine", Plugin: registry.Plugin{Name: "other"},
			Settings: json.RawMessage(`{"a":1}`)}
		s := laidOut(t, p)
		w := s.ranks[0]
		req, role := s.connectRequest(w.trainers[1]).GetBench(), s.configureRequest(w.trainers[1]).GetBench()
		got := [4]bool{req.GetServer() != nil, req.GetGroup() != nil, req.GetDefault() != nil, len(w.servers) > 0}
		if got != want || role.GetHook().GetKey() != "mine" || string(role.GetHook().GetSettings()) != `{"a":1}` ||
			role.GetTrainers() != 2 || w.trainers[1].Plugin.Name != "other" {
			t.Errorf("a hook with %v: %v, %v", links, got, role)
		}
	}
}

func TestRanksHaveWhatTheyNeed(t *testing.T) {
	p := planOf(2, 1, bench.AllReduce)
	p.Fabrics = fabricsOf("unix")
	s := laidOut(t, p)
	if n := len(s.ranks[0].servers); n != 0 {
		t.Errorf("an all-reduce has %d servers", n)
	}
	if name := s.ranks[0].trainers[1].Name; name != "trainer1" {
		t.Errorf("of one transport a trainer is called %s", name)
	}
	if req := s.connectRequest(s.ranks[0].trainers[0]).GetBench(); req.GetServer() != nil || req.GetGroup() == nil {
		t.Errorf("a trainer joins %v", req)
	}
	p.Operations = []*bench.Operation{bench.PushPull}
	s = laidOut(t, p)
	if req := s.connectRequest(s.ranks[0].trainers[0]).GetBench(); req.GetServer() == nil || req.GetGroup() != nil {
		t.Errorf("a trainer joins %v", req)
	}
}

func TestConfigureRequest(t *testing.T) {
	p := planOf(2, 1, bench.PushPull)
	p.Listen, p.Server.Settings, p.Server.Plugin = "::1", json.RawMessage(`{"a":1}`), registry.Plugin{Name: "other"}
	p.InsecureNetwork = true
	s := laidOut(t, p)
	w := s.ranks[0]
	got := s.configureRequest(w.servers[0])
	want := &proto.ConfigureRequest{
		Rank: 2, Part: &proto.PartChoice{Kind: "server", Key: "average", Settings: []byte(`{"a":1}`)},
		Transport: "shm", Listen: "::1", InsecureNetwork: true,
		Role: &proto.ConfigureRequest_Server{Server: &proto.ServerRole{}},
	}
	if got.String() != want.String() {
		t.Errorf("the request is %v, want %v", got, want)
	}
	if w.servers[0].Plugin.Name != "other" || w.trainers[0].Plugin.Name != registry.Builtin {
		t.Errorf("the plugins are %v and %v", w.servers[0].Plugin, w.trainers[0].Plugin)
	}
}

// sited is a process at a given site.
type sited struct {
	cluster.Process
	site cluster.Site
}

func (s sited) Site() cluster.Site { return s.site }

func TestCheckSites(t *testing.T) {
	for name, c := range map[string]struct {
		elsewhere, want string
	}{
		"one host": {"", ""},
		"a trainer": {"trainer1.shm",
			"trainer0.shm runs on the core's host and trainer1.shm on node7, but transport shm (flag --transport) reaches no other host: leave it out, or give tcp"},
		"another":  {"trainer1.tcp", ""},
		"over TCP": {"server2.tcp", ""},
		"a server": {"server2.shm",
			"trainer0.shm runs on the core's host and server2.shm on node7, but transport shm (flag --transport) reaches no other host: leave it out, or give tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			s := laidOut(t, planOf(2, 1, bench.PushPull))
			for _, p := range s.all {
				site := cluster.Site{Host: cluster.CoreHost}
				if p.Name == c.elsewhere {
					site.Host = "node7"
				}
				p.Process = sited{site: site}
			}
			got := ""
			if err := s.checkSites(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	if _, set := os.LookupEnv("GOMAXPROCS"); set {
		t.Skip("GOMAXPROCS is set")
	}
	environment := func(trainers int) (trainer, server []string) {
		s := laidOut(t, planOf(trainers, 1, bench.PushPull))
		for _, p := range s.all {
			p.Process = sited{site: cluster.Site{Host: cluster.CoreHost, Cores: 6}}
		}
		return s.ranks[0].trainers[0].Env(), s.ranks[0].servers[0].Env()
	}
	for trainers, want := range map[int]int{1: 6, 2: 3, 1000: 1} {
		trainer, server := environment(trainers)
		if d := cmp.Diff([]string{fmt.Sprint("GOMAXPROCS=", want)}, trainer); d != "" {
			t.Error(d)
		}
		if server != nil {
			t.Errorf("a server gets %v", server)
		}
	}
	t.Setenv("GOMAXPROCS", "1")
	if trainer, _ := environment(2); trainer != nil {
		t.Errorf("beside the user's GOMAXPROCS a trainer gets %v", trainer)
	}
}

func TestMeasureRequest(t *testing.T) {
	s := laidOut(t, planOf(4, 2, measured...))
	w := s.ranks[0]
	w.round = 12
	c := cell{operation: bench.PushPull, mode: Fresh, place: Copied, bucket: 1, size: 1 << 20}
	want := &proto.MeasureRequest{
		Operation: "pushpull", Expect: proto.MeasureRequest_EXPECT_MEAN,
		Bucket: 1, First: 12, Rounds: 7, Fresh: true, Copy: true, Partners: []int32{2, 3}, Density: 0.5,
	}
	if got := s.measureRequest(w.trainers[3], c, 7); got.String() != want.String() {
		t.Errorf("the request is %v, want %v", got, want)
	}
}

// placed is a process on a given host.
type placed struct {
	cluster.Process
	host string
}

func (p placed) Site() cluster.Site { return cluster.Site{Host: p.host} }

// Limits are measured only if all ranks run on the core's host. Rows that involve other hosts have no limits.
func TestLimitsAreOfTheCoresHost(t *testing.T) {
	p := planOf(2, 0, bench.Barrier)
	for _, host := range []string{cluster.CoreHost, "node7"} {
		t.Run(host, func(t *testing.T) {
			s := newSession(p)
			for _, process := range s.all {
				process.Process = placed{host: cluster.CoreHost}
			}
			s.ranks[0].trainers[1].Process = placed{host: host}
			if err := s.measureLimits(t.Context()); err != nil {
				t.Fatal(err)
			}
			if measured := len(s.limits) > 0; measured != (host == cluster.CoreHost) {
				t.Errorf("with a trainer on %s there are %d limits", host, len(s.limits))
			}
		})
	}
}
