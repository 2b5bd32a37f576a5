package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	identities "github.com/psbench/psbench/internal/identity"
)

// agentArgument makes the test executable act as an agent. The agent prints its address, and ends when its core tells
// it to.
const agentArgument = "serve-test-agent"

const agentSecret = "a secret of agents in a test"

func serveAgent() {
	id, err := identities.Of([]byte(agentSecret), agent.Purpose)
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	err = agent.Serve(context.Background(), l, agent.Options{
		Identity: id, Host: placement.Here("another", 0), Listen: "127.0.0.1", Timeout: patience,
		Plugin: func(name string) (registry.Plugin, error) { return registry.Plugin{Name: name}, nil },
	}, time.Second)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inTimeNamespace starts an agent in a time namespace. The clock of the agent and of its processes is ahead of the
// core's clock by the given time.
func inTimeNamespace(t *testing.T, ahead time.Duration) *agent.Host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--map-root-user", "--time", "--monotonic", strconv.Itoa(int(ahead.Seconds())), "--fork", "--kill-child", self, agentArgument) // #nosec G204 -- the test itself
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		err = errors.Join(err, cmd.Wait())
		t.Skipf("there is no time namespace: %v, %s", err, &complaint)
	}
	t.Cleanup(func() {
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the agent ended with %v: %s", err, &complaint)
		}
	})
	id, err := identities.Of([]byte(agentSecret), agent.Purpose)
	if err != nil {
		t.Fatal(err)
	}
	h, err := agent.Dial(t.Context(), "node1", "node2", strings.TrimSpace(address), id, patience)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The server of a run is on a host with another clock. All timestamps lie within the run. The result states the
// clock's offset, which equals the kernel's within the error bound.
func TestServerOnAHostWithAnotherClock(t *testing.T) {
	const ahead = 1000 * time.Second
	h := inTimeNamespace(t, ahead)
	e := resolved(t,
		strings.Fields("--transport tcp --place apart --ntrainer 2 --nserver 1 --epochs 2 --warmup none --set model.num_embeddings=100 --set model.embedding_dim=100 --set model.dense_input_size=100 --set model.dense_output_size=100")...)
	began := comm.Now()
	res, err := run.Run(t.Context(), e, run.Options{Progress: run.Silent, StartedNS: began, Options: cluster.Options{
		Hosts: []placement.Host{placement.Here("node1", 0), h.Host},
		Open: func(l *placement.Layout, timeout time.Duration, output launch.Output) (cluster.Starter, error) {
			return agent.Starter([]*agent.Host{h}, "127.0.0.1", l, timeout, output)
		},
	}})
	ended := comm.Now()
	if lerr := h.Leave(err != nil); err == nil {
		err = lerr
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Clocks) != 1 || len(res.HostLinks) != 1 || res.Placement == nil {
		t.Fatalf("clocks %+v, links %+v, placement %+v", res.Clocks, res.HostLinks, res.Placement)
	}
	c := res.Clocks[0]
	t.Logf("%+v, link %+v", c, res.HostLinks[0])
	if off := c.Ahead(ended+int64(ahead)) - int64(ahead); c.Host != "node2" || max(off, -off) > c.BoundNS ||
		c.BoundNS > int64(time.Second) {
		t.Errorf("the clock of %s is %+v, off by %d ns", c.Host, c, off)
	}
	hosts := map[string]string{}
	for _, p := range res.Processes {
		hosts[p.Name] = p.Host
	}
	if hosts["data"] != "node1" || hosts["trainer0"] != "node1" || hosts["trainer1"] != "node1" ||
		hosts["server2"] != "node2" {
		t.Errorf("processes ran on %v", hosts)
	}
	stamps := 0
	for _, s := range res.Series {
		for m := range s.All() {
			if stamps++; m.StartNS < began || m.StartNS+m.DurationNS > ended {
				t.Fatalf("rank %d was at %d, which is not within %d and %d", s.Rank, m.StartNS, began, ended)
			}
		}
	}
	if stamps < 100 {
		t.Errorf("there are %d stamps", stamps)
	}
	if res.Throughput.SecondsBound != 0 || res.StartBoundMS != 0 { // both trainers are on the core's host
		t.Errorf("throughput %+v, start ± %g ms", res.Throughput, res.StartBoundMS)
	}
}
