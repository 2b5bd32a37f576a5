package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a process that records the calls it gets.
type fake struct {
	Process
	site       Site
	configured *proto.ConfigureRequest
	reset      error
	close      error // result of closing the parts
}

func (f *fake) Site() Site              { return f.site }
func (f *fake) Exited() <-chan struct{} { return nil }

func (f *fake) Watch(context.Context, *proto.WatchRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[proto.Event], error) {
	return nil, errors.New("nobody watches")
}

func (f *fake) Configure(_ context.Context, req *proto.ConfigureRequest,
	_ ...grpc.CallOption) (*proto.ConfigureReply, error) {
	f.configured = req
	return &proto.ConfigureReply{Address: "unix:" + req.GetName(), LinkAddress: "tcp:" + req.GetName()}, nil
}

func (f *fake) Reset(context.Context, *proto.ResetRequest, ...grpc.CallOption) (*proto.ResetReply, error) {
	return nil, f.reset
}

func (f *fake) Close(context.Context, *proto.CloseRequest, ...grpc.CallOption) (*proto.CloseReply, error) {
	return nil, f.close
}

// fakes is a Starter that starts a fake for each name.
type fakes struct {
	mu     sync.Mutex
	made   map[string]*fake
	sites  map[string]Site
	closed []bool // argument gently of each call of Close
	fail   error  // error of every start
}

func (s *fakes) Site(name string) Site { return s.sites[name] }

func (s *fakes) Start(_ context.Context, spec launch.Spec) (Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &fake{site: s.sites[spec.Name]}
	s.made[spec.Name] = f
	return f, s.fail
}

func (s *fakes) Close(gently bool) error {
	s.closed = append(s.closed, gently)
	return nil
}

// clusterOf returns a cluster of fakes with the given names and sites.
func clusterOf(o Options, sites map[string]Site, names ...string) (*Cluster, *fakes, []*Member) {
	s := &fakes{made: map[string]*fake{}, sites: sites}
	var members []*Member
	for _, name := range names {
		members = append(members, &Member{Name: name, Env: func() []string { return nil }})
	}
	o.Open = func(*placement.Layout, time.Duration, launch.Output) (Starter, error) { return s, nil }
	return New(time.Minute, members, o), s, members
}

// Configure sends each process its name, its place, the facts of its run and the requested part, but no other part.
func TestConfigure(t *testing.T) {
	sites := map[string]Site{"trainer0": {Directory: "/a"}, "trainer1": {Directory: "/b", Listen: "::1"}}
	c, s, members := clusterOf(Options{}, sites, "trainer0", "trainer1")
	var told []string
	err := c.Run(t.Context(), Life{
		Phases: []Phase{{"launch", c.Start}, {"set-up", func(ctx context.Context) error {
			return Configure(ctx, c, members, func(m *Member) *proto.ConfigureRequest {
				return &proto.ConfigureRequest{Rank: 7, Listen: "127.0.0.1"}
			}, func(*Member, *proto.ConfigureReply) {})
		}}},
		Tell:   func(phase string) { told = append(told, phase) },
		Report: func(err error) { told = append(told, "report") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"launch", "set-up", "report"}, told); d != "" {
		t.Error(d)
	}
	for name, listen := range map[string]string{"trainer0": "127.0.0.1", "trainer1": "::1"} {
		t.Run(name, func(t *testing.T) {
			want := &proto.ConfigureRequest{
				Name: name, Rank: 7, Directory: sites[name].Directory, Listen: listen, TimeoutNs: int64(time.Minute),
				Secret: c.secret,
			}
			if got := s.made[name].configured; got.String() != want.String() {
				t.Errorf("%s is told %v, want %v", name, got, want)
			}
		})
	}
	if len(c.secret) != wire.SecretSize || slices.Max(c.secret) == 0 {
		t.Errorf("the secret is %x", c.secret)
	}
	if got := members[1].Peer().Address; got != "unix:trainer1" {
		t.Errorf("trainer1 is at %s", got)
	}
}

// The fabric and the two processes' hosts determine at which address the processes meet.
func TestPeers(t *testing.T) {
	member := func(name, host string) *Member {
		m := at(name, Site{Host: host})
		m.Address, m.LinkAddress = "unix:"+name, "tcp:"+name
		return m
	}
	a, b, c := member("a", CoreHost), member("b", CoreHost), member("c", "node7")
	for _, want := range []struct {
		fabric, beside, elsewhere string
	}{
		{"shm", "tcp:a", "tcp:a"}, // with shm, the link address is the Unix socket
		{"tcp", "tcp:a", "tcp:a"},
		{"shm+tcp", "unix:a", "tcp:a"},
	} {
		t.Run(want.fabric, func(t *testing.T) {
			f := fabricOf(t, want.fabric)
			if beside, elsewhere := a.LinkPeer(f, b).Address, a.LinkPeer(f, c).Address; beside != want.beside ||
				elsewhere != want.elsewhere {
				t.Errorf("over %s a is at %s for b and at %s for c", want.fabric, beside, elsewhere)
			}
		})
	}
	if near, far := a.NearPeer(b).Address, a.NearPeer(c).Address; near != "unix:a" || far != "tcp:a" {
		t.Errorf("what is not measured finds a at %s and %s", near, far)
	}
	if got := Hosts([]*Member{c, a, b, c}); !slices.Equal(got, []int{0, 1, 1, 0}) {
		t.Errorf("the hosts are %v", got)
	}
}

// After a failure, Salvage runs while there are still processes. Report runs after all processes have ended.
func TestLifeAfterAFailure(t *testing.T) {
	var order []string
	note := func(what string) { order = append(order, what) }
	o := Options{Ending: func() func() {
		note("ending")
		return func() { note("done") }
	}}
	c, s, members := clusterOf(o, nil, "trainer0", "trainer1")
	err := c.Run(t.Context(), Life{
		Phases: []Phase{{"launch", c.Start}, {"reset", func(ctx context.Context) error {
			s.made["trainer1"].reset = errors.New("it is broken")
			return Reset(ctx, c, members, record.Measured)
		}}, {"never", func(context.Context) error { t.Error("the run went on"); return nil }}},
		Tell: note,
		Salvage: func() {
			note("salvage")
			if len(s.closed) > 0 {
				t.Error("the processes are gone too early")
			}
		},
		Report: func(err error) {
			note("report: " + err.Error())
			if d := cmp.Diff([]bool{false}, s.closed); d != "" {
				t.Errorf("the processes were ended wrongly: %s", d)
			}
		},
	})
	if err == nil || err.Error() != "it is broken" {
		t.Errorf("the error is %v", err)
	}
	if d := cmp.Diff([]string{"launch", "reset", "ending", "salvage", "report: it is broken", "done"}, order); d != "" {
		t.Error(d)
	}
}

// A failure that is reported at the very end of a run still fails the run.
func TestFailureThatIsToldLate(t *testing.T) {
	c, s, _ := clusterOf(Options{}, nil, "trainer0")
	salvaged := false
	err := c.Run(t.Context(), Life{
		Phases: []Phase{{"launch", c.Start}, {"last", func(context.Context) error {
			c.monitor.Report("trainer0", errors.New("it is broken"))
			return nil
		}}},
		Tell: func(string) {}, Salvage: func() { salvaged = true }, Report: func(error) {},
	})
	if err == nil || err.Error() != "it is broken" || !salvaged || !slices.Equal(s.closed, []bool{false}) {
		t.Errorf("the error is %v, salvaged %v, closed %v", err, salvaged, s.closed)
	}
}

func TestNothingStarts(t *testing.T) {
	why := errors.New("there is no host")
	layout := &placement.Layout{}
	c := New(time.Minute, []*Member{{Name: "trainer0"}},
		Options{Layout: layout, Open: func(l *placement.Layout, _ time.Duration, _ launch.Output) (Starter, error) {
			if l != layout {
				t.Errorf("the layout is %v", l)
			}
			return nil, why
		}})
	if err := c.Run(t.Context(), Life{Report: func(error) { t.Error("there is nothing to report") }}); !errors.Is(err,
		why) {
		t.Errorf("the error is %v", err)
	}
}

// at returns a member at a site.
func at(name string, s Site) *Member { return &Member{Name: name, Process: &fake{site: s}} }

// fabricOf opens the fabric with the given name.
func fabricOf(t *testing.T, name string) *fabric.Fabric {
	t.Helper()
	f, err := fabric.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCheckLinks(t *testing.T) {
	here, elsewhere := Site{Host: CoreHost}, Site{Host: "node7"}
	ahead := Site{Host: CoreHost, Clock: clocks.Known(clocks.Of(time.Hour))}
	const hosts = "trainer0 runs on the core's host and server1 on node7, but transport"
	const clocks = "the clock of server1 is 1h0m0s ahead of the clock of trainer0, but what shm joins needs one clock"
	for _, c := range []struct {
		transport string
		site      Site
		want      string
	}{
		{"shm", here, ""},
		{"shm", elsewhere, hosts + " shm (c.json) reaches no other host: leave it out, or give tcp"},
		{"shm", ahead, clocks},
		{"unix", elsewhere, hosts + " unix (c.json) reaches no other host: leave it out, or give tcp"},
		{"unix", ahead, ""},
		{"tcp", ahead, ""},
		{"tcp", elsewhere, ""},
		{"shm+tcp", here, ""},
		{"shm+tcp", elsewhere, ""},
		{"shm+tcp", Site{Host: "node7", Clock: ahead.Clock}, ""},
		{"shm+tcp", ahead, strings.Replace(clocks, "shm", "shm+tcp", 1)},
	} {
		t.Run(c.transport, func(t *testing.T) {
			got := ""
			if err := CheckLinks(fabricOf(t, c.transport), "c.json",
				[]*Member{at("trainer0", here), at("server1", c.site)}); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s to %+v: %q, want %q", c.transport, c.site, got, c.want)
			}
		})
	}
}

func TestAtCore(t *testing.T) {
	all := []*Member{at("a", Site{Host: "node7"}), at("b", Site{Host: CoreHost, Clock: clocks.Known(clocks.Of(1))}),
		at("c", Site{Host: CoreHost})}
	if got := strings.Join(Names(AtCore(all)), " "); got != "b c" {
		t.Errorf("at the core are %s", got)
	}
}

// Processes on the same host share that host's cores. Processes on different hosts do not.
func TestShare(t *testing.T) {
	a, b, c := at("a", Site{Host: "node7", Cores: 12}), at("b", Site{Host: "node7", Cores: 12}), at("c",
		Site{Host: CoreHost, Cores: 3})
	planned := &Member{Name: "d", site: Site{Host: CoreHost, Cores: 3}}
	all := []*Member{a, b, c, planned}
	for of, want := range map[*Member]int{a: 6, b: 6, c: 1, planned: 1} {
		if got := Share(of, all); got != want {
			t.Errorf("%s gets %d cores, want %d", of.Name, got, want)
		}
	}
	if got := Share(a, []*Member{c}); got != 12 {
		t.Errorf("alone on its host a process gets %d cores, want 12", got)
	}
	pinned := func(name string, cpus ...int) *Member { return at(name, Site{Host: "node7", Cores: 12, CPUs: cpus}) }
	node, beside, other := pinned("e", 0, 1, 2, 3, 4, 5), pinned("f", 0, 1, 2, 3, 4, 5), pinned("g", 6, 7)
	for of, want := range map[*Member]int{node: 3, other: 2, pinned("h", 6, 7): 2, a: 12} {
		if got := Share(of, []*Member{node, beside, other}); got != want {
			t.Errorf("pinned to %s, %s gets %d cores, want %d", of.Site().CPUs, of.Name, got, want)
		}
	}
}

// Each host's clock is read once before processes start and once more at the end. Afterwards the estimate no longer
// changes. If a clock cannot be read, the run ends with an error that names the host.
func TestClocksOfHosts(t *testing.T) {
	asked := map[string]int{}
	var mu sync.Mutex
	var gone error
	clockOf := func(host string) *clocks.Clock {
		return clocks.New(func(context.Context) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[host]++
			return comm.Now() + 1e9, gone
		})
	}
	for name, why := range map[string]error{"all answer": nil, "none answers": errors.New("no route to host")} {
		gone, asked = why, map[string]int{}
		one, two := clockOf("node1"), clockOf("node2")
		sites := map[string]Site{"trainer0": {Host: "node1", Clock: one}, "trainer1": {Host: "node1", Clock: one},
			"server2": {Host: "node2", Clock: two}}
		c, s, _ := clusterOf(Options{}, sites, "trainer0", "trainer1", "server2", "data")
		began := 0
		err := c.Run(t.Context(), Life{
			Phases: []Phase{{"launch", c.Start}, {"work", func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				began = asked["node1"]
				return nil
			}}},
			Tell: func(string) {}, Report: func(error) {},
		})
		if why != nil {
			if err == nil || !strings.HasSuffix(err.Error(), "cannot be read: no route to host") ||
				!strings.HasPrefix(err.Error(), "the clock of node") || len(s.made) > 0 {
				t.Errorf("%s: %v, with %d processes", name, err, len(s.made))
			}
			continue
		}
		if err != nil || began == 0 || asked["node1"] <= began || asked["node2"] != asked["node1"] {
			t.Errorf("%s: %v, %d questions before the work, %v in all", name, err, began, asked)
		}
		if e := one.Estimate(); e != one.Estimate() || e.BoundNS > 1e9 || e.OffsetNS < 1e9-e.BoundNS ||
			e.OffsetNS > 1e9+e.BoundNS {
			t.Errorf("%s: the clock of node1 is %+v, and a moment later %+v", name, e, one.Estimate())
		}
	}
}
