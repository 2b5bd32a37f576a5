package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// The test binary is also the plugin, because launchers start /proc/self/exe.
func TestMain(m *testing.M) {
	if launch.Child(func() []sdk.Part { return []sdk.Part{sdk.InTrainer(sdk.KindHookState, "toy")} }) {
		return
	}
	goleak.VerifyTestMain(m)
}

func identityOf(t *testing.T, secret string) *identity.Identity {
	t.Helper()
	id, err := identity.Of([]byte(secret), Purpose)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

const (
	ours     = "a secret of the right length"
	theirs   = "another secret of that length"
	patience = 20 * time.Second
)

// builtin is a registry that knows only the built-in plugin.
func builtin(name string) (registry.Plugin, error) {
	if name == registry.Builtin {
		return registry.Plugin{Name: name}, nil
	}
	return registry.Plugin{}, fmt.Errorf("there is no plugin %s", name)
}

// served is an agent that runs in the test's process.
type served struct {
	address string
	cancel  context.CancelFunc
	gone    chan struct{} // closing it simulates the loss of the core
	ended   chan error
}

func serve(t *testing.T, timeout time.Duration) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{l.Addr().String(), cancel, make(chan struct{}), make(chan error, 1)}
	o := Options{Identity: identityOf(t, ours), Host: placement.Host{Name: "its own name", GPUs: 3},
		Listen: "127.0.0.2", Plugin: builtin, Timeout: timeout, Gone: s.gone}
	go func() { s.ended <- Serve(ctx, l, o, 10*time.Millisecond) }()
	t.Cleanup(cancel)
	return s
}

func dial(t *testing.T, s *served, timeout time.Duration) *Host {
	t.Helper()
	h, err := Dial(t.Context(), "node1", "node2", s.address, identityOf(t, ours), timeout)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// end waits until the agent has ended, and returns its error.
func (s *served) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(patience):
		t.Fatal("the agent does not end")
		return nil
	}
}

// layoutOf returns a layout with trainer0 on the core's host and the other processes on node2.
func layoutOf(names ...string) *placement.Layout {
	l := &placement.Layout{Hosts: []placement.Host{{Name: "node1"}, {Name: "node2"}}}
	for i, name := range names {
		l.Processes = append(l.Processes, placement.Placed{Name: name, Host: min(i, 1)})
	}
	return l
}

func starterOf(t *testing.T, h *Host, o launch.Output) cluster.Starter {
	t.Helper()
	s, err := Starter([]*Host{h}, "127.0.0.1", layoutOf("trainer0", "trainer1", "trainer2"), patience, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(t *testing.T, s cluster.Starter, name string) cluster.Process {
	t.Helper()
	p, err := s.Start(t.Context(), launch.Spec{Name: name, Plugin: registry.Plugin{Name: registry.Builtin}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A remote process uses the kernels that its own host supports, whatever the core's host supports.
func TestKernelsOfAHost(t *testing.T) {
	h := dial(t, serve(t, patience), patience)
	defer func() { _ = h.Leave(false) }()
	s := starterOf(t, h, launch.Output{})
	defer func() { _ = s.Close(true) }()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", start(t, s, "trainer1").PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range machine.Kernels() {
		if !slices.Contains(strings.Split(string(environ), "\x00"), pair) {
			t.Errorf("it has no %s", pair)
		}
	}
}

// The core reads another host's clock through that host's agent, and uses this clock for all processes there. In this
// test the other host is this machine.
func TestClockOfAHost(t *testing.T) {
	h := dial(t, serve(t, patience), patience)
	defer func() { _ = h.Leave(false) }()
	s := starterOf(t, h, launch.Output{})
	defer func() { _ = s.Close(true) }()
	here, clock := s.Site("trainer0").Clock, s.Site("trainer1").Clock
	if here != nil || clock == nil || clock != s.Site("trainer2").Clock {
		t.Fatalf("the clocks are %v and %v", here, clock)
	}
	if err := clock.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := clock.Estimate(); max(e.OffsetNS, -e.OffsetNS) > e.BoundNS || e.BoundNS > int64(patience) {
		t.Errorf("it is %+v", e)
	}
}

// Links are measured between each pair of hosts. The measured pairs include pairs of hosts that both have agents.
func TestLinksOfHosts(t *testing.T) {
	first, second := serve(t, patience), serve(t, patience)
	hosts := []*Host{dial(t, first, patience), dial(t, second, patience)}
	defer func() { _ = Leave(hosts, false) }()
	l := &placement.Layout{Hosts: []placement.Host{{Name: "node1"}, {Name: "node2"}, {Name: "node3"}}}
	s, err := Starter(hosts, "127.0.0.1", l, patience, launch.Output{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(true) }()
	measurer := s.(cluster.LinkMeasurer)
	links, err := measurer.MeasureLinks(t.Context(), 30*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string]bool{}
	for _, link := range links {
		pairs[link.From+" "+link.To] = true
		if link.OutGBps <= 0 || link.BackGBps <= 0 || link.RoundTripUS <= 0 {
			t.Errorf("a link is %+v", link)
		}
	}
	if len(links) != 3 || !pairs["node1 node2"] || !pairs["node1 node3"] || !pairs["node2 node3"] {
		t.Errorf("the links are %+v", links)
	}
	second.cancel() // the agent ends without notice
	if err := second.end(t); err == nil {
		t.Error("the agent ended well")
	}
	if _, err := measurer.MeasureLinks(t.Context(), 30*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "node3") {
		t.Errorf("to a host that is gone: %v", err)
	}
}

// If the core's host runs no processes, all hosts have agents. Processes run and links are measured only there.
func TestHostsApartFromTheCore(t *testing.T) {
	hosts := []*Host{dial(t, serve(t, patience), patience), dial(t, serve(t, patience), patience)}
	hosts[0].Name = "node1"
	defer func() { _ = Leave(hosts, false) }()
	s, err := Starter(hosts, "127.0.0.1", layoutOf("trainer0", "trainer1"), patience, launch.Output{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(true) }()
	for name, host := range map[string]string{"trainer0": "node1", "trainer1": "node2"} {
		t.Run(name, func(t *testing.T) {
			if p := start(t, s, name); p.Site().Host != host || p.Site().Clock == nil ||
				p.Site().Listen != "127.0.0.2" {
				t.Errorf("%s is on %+v", name, p.Site())
			}
		})
	}
	links, err := s.(cluster.LinkMeasurer).MeasureLinks(t.Context(), 30*time.Millisecond)
	if err != nil || len(links) != 1 || links[0].From != "node1" || links[0].To != "node2" || links[0].OutGBps <= 0 {
		t.Errorf("the links are %+v, %v", links, err)
	}
}

// A stranger cannot measure links.
func TestLinkOfAStranger(t *testing.T) {
	s := serve(t, patience)
	defer func() { _ = dial(t, s, patience).Leave(false) }()
	if _, err := measureLink(t.Context(), identityOf(t, theirs), s.address, time.Millisecond); err == nil {
		t.Error("it is served")
	}
}

func exited(t *testing.T, p cluster.Process) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(patience):
		t.Fatal("the process does not end")
	}
}

// Processes run on the hosts that the layout gives. The core calls local and remote processes in the same way.
func TestProcessesOfTwoHosts(t *testing.T) {
	logs := t.TempDir()
	var mu sync.Mutex
	said := map[string]string{}
	agent := serve(t, patience)
	h := dial(t, agent, patience)
	if h.Name != "node2" || h.GPUs != 3 || h.CPUs < 1 || h.Listen != "127.0.0.2" {
		t.Errorf("the host is %+v", h)
	}
	for range 2 { // one agent serves one run after another
		s := starterOf(t, h, launch.Output{Folder: logs, Line: func(process, text string) {
			mu.Lock()
			defer mu.Unlock()
			said[process] += text
		}})
		here, there := start(t, s, "trainer0"), start(t, s, "trainer1")
		for p, host := range map[cluster.Process]string{here: cluster.CoreHost, there: "node2"} {
			reply, err := p.Describe(t.Context(), &proto.DescribeRequest{})
			if err != nil || len(reply.GetParts()) != 1 || reply.GetParts()[0].GetKey() != "toy" {
				t.Errorf("on %s it provides %v, %v", host, reply, err)
			}
			if p.Site().Host != host || p.PID() == 0 || p.StartTook() <= 0 || p.Contract() == "" {
				t.Errorf("on %s: %+v, process %d, %v, contract %q", host, p.Site(), p.PID(), p.StartTook(),
					p.Contract())
			}
			if _, err := os.Stat(p.Site().Directory); err != nil {
				t.Error(err)
			}
		}
		if here.Site().Listen != "127.0.0.1" || there.Site().Listen != "127.0.0.2" ||
			here.Site().Directory == there.Site().Directory {
			t.Errorf("the sites are %+v and %+v", here.Site(), there.Site())
		}
		if err := syscall.Kill(there.PID(), syscall.SIGSEGV); err != nil {
			t.Fatal(err)
		}
		exited(t, there)
		want :=
			fmt.Sprintf("on node2 trainer1 (process %d) ended with exit status 2 during a test; its last words: SIGSEGV: segmentation violation",
				there.PID())
		if err := there.Death("a test"); !strings.HasPrefix(err.Error(), want) ||
			!errors.As(err, new(*launch.DeathError)) {
			t.Errorf("it died so: %v, want %s", err, want)
		}
		if err := syscall.Kill(here.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		exited(t, here)
		want = fmt.Sprintf("on node1 trainer0 (process %d) was killed by signal 9 during a test", here.PID())
		if err := here.Death("a test"); !strings.HasPrefix(err.Error(), want) ||
			!errors.As(err, new(*launch.DeathError)) {
			t.Errorf("it died so: %v, want %s", err, want)
		}
		if err := s.Close(true); err != nil {
			t.Error(err)
		}
		for _, p := range []cluster.Process{here, there} {
			exited(t, p)
			if _, err := os.Stat(p.Site().Directory); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", p.Site().Directory, err)
			}
		}
		if text, err := os.ReadFile(filepath.Join(logs, "trainer1.log")); err != nil ||
			!strings.Contains(string(text), "SIGSEGV") {
			t.Errorf("the log is %q, %v", text, err)
		}
	}
	if err := h.Leave(false); err != nil {
		t.Error(err)
	}
	if err := agent.end(t); err != nil {
		t.Error(err)
	}
}

// If an agent refuses a call, the core's error names the agent's host.
func TestRefusals(t *testing.T) {
	agent := serve(t, patience)
	h := dial(t, agent, patience)
	s := starterOf(t, h, launch.Output{})
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	for i, c := range []struct {
		spec launch.Spec
		want string
	}{
		{launch.Spec{Name: "trainer1", Plugin: registry.Plugin{Name: "mine", Command: []string{script}}},
			"on node2 there is no plugin mine"},
		{launch.Spec{Name: "trainer1", Plugin: registry.Plugin{Name: registry.Builtin, Command: []string{script}}},
			"differs from the one on the core's host: SHA-256 none and "},
		{launch.Spec{Name: "trainer1", Plugin: registry.Plugin{Name: registry.Builtin},
			Env: []string{"LD_PRELOAD=/tmp/x.so"}},
			`on node2 the variable "LD_PRELOAD" is not one that a core gives to a process`},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, err := s.Start(t.Context(), c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it said %v, want %s", err, c.want)
			}
		})
	}
	if err := s.Close(true); err != nil {
		t.Error(err)
	}
	if err := h.Leave(true); err != nil {
		t.Error(err)
	}
	if err := agent.end(t); !errors.Is(err, ErrFailed) {
		t.Errorf("the agent ended with %v", err)
	}
}

// A caller without the secret is refused and delays no one else.
func TestStrangers(t *testing.T) {
	agent := serve(t, patience)
	if _, err := Dial(t.Context(), "node1", "node2", agent.address, identityOf(t, theirs), time.Second); err == nil ||
		!strings.HasPrefix(err.Error(), "the agent on node2 does not say what its host is: ") ||
		strings.Contains(err.Error(), "transport") {
		t.Errorf("a stranger is told %v", err)
	}
	var silent []net.Conn
	for range 2 * mostStrangers { // strangers that connect and stay silent
		conn, err := net.Dial("tcp", agent.address)
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, conn)
	}
	h := dial(t, agent, patience)
	if err := h.Leave(false); err != nil {
		t.Error(err)
	}
	if err := agent.end(t); err != nil {
		t.Error(err)
	}
	for _, conn := range silent {
		_ = conn.Close()
	}
}

// If an agent is lost, the core treats the agent's processes as ended. If the core is lost, the agent ends its
// processes.
func TestLoss(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(*served, *Host)
		says string // the agent's error
	}{
		"the agent ends": {func(s *served, _ *Host) { s.cancel() }, "context canceled"},
		"the connection breaks": {func(_ *served, h *Host) { _ = h.conn.Close() },
			"the connection to the core, rank 0 on node1, has ended"},
		"the core is not heard": {func(_ *served, h *Host) { h.stop() },
			"the core, rank 0 on node1, has sent nothing for 1 s"},
		"the core is gone": {func(s *served, _ *Host) { close(s.gone) }, "the core, rank 0 on node1, is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			agent := serve(t, time.Second)
			h := dial(t, agent, patience)
			s := starterOf(t, h, launch.Output{})
			p := start(t, s, "trainer1")
			c.lose(agent, h)
			exited(t, p)
			if err := p.Death("a test"); !strings.Contains(err.Error(),
				fmt.Sprintf("on node2 trainer1 (process %d) was lost during a test: %s", p.PID(),
					"the agent on node2 is gone")) || !errors.As(err, new(*cluster.LostError)) {
				t.Errorf("it said %v", err)
			}
			if err := agent.end(t); err == nil || err.Error() != c.says {
				t.Errorf("the agent says %v, want %s", err, c.says)
			}
			if err := syscall.Kill(p.PID(), 0); err == nil {
				t.Error("the process is left")
			}
			if _, err := os.Stat(p.Site().Directory); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", p.Site().Directory, err)
			}
			if err := s.Close(false); err != nil {
				t.Error(err)
			}
			if err := h.Leave(true); err != nil {
				t.Error(err)
			}
		})
	}
}
