package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/measure/verify"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/show/comm"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// twoHosts starts processes as if they ran on two hosts, each with its own folder and IP address. In fact they share
// memory, clock and file system. A process that believes in two hosts uses none of these.
type twoHosts struct {
	launchers [2]*launch.Launcher
	on        func(name string) int // returns the index of a process's host
	pids      sync.Map              // by name
}

// pid returns the ID of a running process.
func (h *twoHosts) pid(name string) int {
	pid, _ := h.pids.Load(name)
	return pid.(int)
}

func openTwoHosts(*placement.Layout, time.Duration, launch.Output) (cluster.Starter, error) {
	return openOn(hostOf)
}

// openOn returns a starter that places each process on the host that on returns.
func openOn(on func(name string) int) (cluster.Starter, error) {
	h := &twoHosts{on: on}
	for i := range h.launchers {
		var err error
		if h.launchers[i], err = launch.New(patience, launch.Output{}); err != nil {
			return nil, errors.Join(err, h.Close(false))
		}
	}
	return h, nil
}

// hostOf places the data, the even trainers and the even servers on host 0. The helper processes of a rank are on the
// rank's host.
func hostOf(name string) int {
	rank, _, _ := strings.Cut(name, ".")
	number, _ := strconv.Atoi(strings.TrimLeft(rank, "abcdefghijklmnopqrstuvwxyz"))
	return number % 2
}

// Site implements cluster.Starter.
func (h *twoHosts) Site(name string) cluster.Site {
	i := h.on(name)
	return cluster.Site{Host: []string{cluster.CoreHost, "node1"}[i], Directory: h.launchers[i].Directory(),
		Listen: fmt.Sprintf("127.0.0.%d", 1+i), Cores: 1}
}

// Start implements cluster.Starter.
func (h *twoHosts) Start(ctx context.Context, spec launch.Spec) (cluster.Process, error) {
	p, err := h.launchers[h.on(spec.Name)].Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	h.pids.Store(spec.Name, p.PID())
	return sited{p, h.Site(spec.Name)}, nil
}

// Close implements cluster.Starter.
func (h *twoHosts) Close(gently bool) (err error) {
	for _, l := range h.launchers {
		if l != nil {
			err = errors.Join(err, l.Close(gently))
		}
	}
	return err
}

func acrossHosts() run.Options {
	return run.Options{Options: cluster.Options{Open: openTwoHosts}, Progress: run.Silent}
}

// Reference cases agree with trainers and servers on two hosts over every kind of link. The cases cover servers that
// reduce dense and sparse gradients, groups, tables, and parameters.
func TestReferenceCasesAgreeAcrossHosts(t *testing.T) {
	cases, err := verify.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	a := &app{environ: os.Environ()}
	cmd := a.verifyCommand()
	cmd.SetContext(t.Context())
	resolve := func(l config.Layer) (*config.Experiment, error) {
		e, _, err := a.resolve(cmd, l)
		return e, err
	}
	var out bytes.Buffer
	if err := verify.Run(t.Context(), cases, verify.Substitutes{}, resolve, acrossHosts(), &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}

const smallModel = "--set model.num_embeddings=100 --set model.embedding_dim=100 --set model.dense_input_size=100 --set model.dense_output_size=100"

// If the user does not choose a transport for several hosts, psbench chooses one for each link. The result names it,
// as text and as JSON.
func TestLinksAcrossHostsAreShown(t *testing.T) {
	for _, c := range []struct{ flags, transport, text, json string }{
		{"--ntrainer 4 --nserver 1 --epochs 1", "shm+tcp",
			"transport   shm+tcp\nlinks       shm trainer0-server4, trainer2-server4; tcp trainer1-server4, trainer3-server4\n",
			`"transport": "tcp", "pairs": [["trainer1", "server4"], ["trainer3", "server4"]]`},
		{"--ntrainer 4 --nserver 0 --ddp-hook allreduce --epochs 1", "shm+tcp",
			"links       shm trainer0-trainer2, trainer1-trainer3; tcp trainer0-trainer1, trainer2-trainer3\n",
			`"transport": "shm", "pairs": [["trainer0", "trainer2"], ["trainer1", "trainer3"]]`},
		{"--ntrainer 4 --nserver 1 --epochs 1 --transport tcp", "tcp", "transport   tcp\ndata ", ""},
		{"--ntrainer 4 --nserver 1 --epochs 1 --aggregate host", "shm+tcp",
			"links       shm trainer0-server4, trainer1-trainer3, trainer2-server4; tcp trainer1-server4\n",
			`"transport": "tcp", "pairs": [["trainer1", "server4"]]`},
	} {
		t.Run(c.flags, func(t *testing.T) {
			res, err := run.Run(t.Context(), resolved(t, strings.Fields(c.flags+" "+smallModel)...), acrossHosts())
			if err != nil {
				t.Errorf("%s: %v", c.flags, err)
				return
			}
			var text bytes.Buffer
			if err := report.Text(&text, res, report.Options{Report: report.Full}); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(res.Links)
			if err != nil {
				t.Fatal(err)
			}
			plain := strings.NewReplacer(" ", "").Replace
			if res.Transport != c.transport || !strings.Contains(text.String(), c.text) ||
				!strings.Contains(plain(string(raw)), plain(c.json)) {
				t.Errorf("%s: transport %s, links %s\n%s", c.flags, res.Transport, raw, text.String())
			}
		})
	}
}

// Losses equal those on one host except for the order of additions, and the links transferred the right data.
func TestTrainingAcrossHostsIsThatOfOne(t *testing.T) {
	for _, flags := range []string{
		"--ntrainer 4 --nserver 0 --ddp-hook allreduce " + smallModel,
		"--ntrainer 3 --nserver 0 --ddp-hook allreduce --set model.sparse=true " + smallModel,
		"--ntrainer 4 --nserver 2 --isolate hook " + smallModel,
		"--trainer hybrid --ntrainer 4 --nserver 2 --set server.embedding_dim=256",
	} {
		t.Run(fmt.Sprintf("%.60s", flags), func(t *testing.T) {
			e := resolved(t, strings.Fields(flags+" --epochs 2 --check")...)
			two, err := run.Run(t.Context(), e, acrossHosts())
			if err != nil {
				t.Errorf("%s: %v", flags, err)
				return
			}
			one, err := run.Run(t.Context(), e, run.Options{Progress: run.Silent})
			if err != nil {
				t.Fatal(err)
			}
			if two.Transport != "shm+tcp" || one.Transport != "shm" {
				t.Errorf("%s: the transports are %s and %s", flags, two.Transport, one.Transport)
			}
			for i, losses := range two.Losses {
				for k, loss := range losses {
					if want := one.Losses[i][k]; math.Abs(loss-want) > 1e-5*math.Abs(want) {
						t.Errorf("%s: loss %d of trainer%d is %v instead of %v", flags, k, i, loss, want)
					}
				}
			}
		})
	}
}

// psbench comm verifies every operation across hosts, over one kind of link and over two.
func TestOperationsAcrossHostsAreVerified(t *testing.T) {
	e := resolved(t, "--ntrainer", "4")
	p := &micro.Plan{
		Operations: bench.Operations, Fabrics: []*fabric.Fabric{fabricOf(t, "shm+tcp"), fabricOf(t, "tcp")},
		Modes: []micro.Mode{micro.Fresh}, Places: micro.Places, Sizes: []int{4, 3 << 20}, Width: 1, Density: 1,
		World:  config.World{Trainers: 4, Servers: 1},
		Server: e.Parts[sdk.KindServer], Hook: e.Parts[sdk.KindHook], HookLinks: e.Links, HookExpect: micro.Mean,
		Expect: micro.Mean, Rounds: 3, Seconds: 1, Repeat: 1, Timeout: patience, Listen: "127.0.0.1",
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	res, err := micro.Run(t.Context(), p, micro.Options{Options: acrossHosts().Options, Progress: micro.Silent})
	if err != nil {
		t.Fatal(err)
	}
	const links = "links: shm trainer0.shm+tcp-server4.shm+tcp, trainer2.shm+tcp-server4.shm+tcp, trainer0.shm+tcp-trainer2.shm+tcp, trainer1.shm+tcp-trainer3.shm+tcp; " +
		"tcp trainer1.shm+tcp-server4.shm+tcp, trainer3.shm+tcp-server4.shm+tcp, trainer0.shm+tcp-trainer1.shm+tcp, trainer2.shm+tcp-trainer3.shm+tcp\n"
	var text bytes.Buffer
	if err := comm.Text(&text, res, report.Options{}); err != nil || !strings.Contains(text.String(), links) {
		t.Errorf("%v, the links are not %s in\n%s", err, links, text.String())
	}
	// A barrier has neither size nor place.
	if want := 2 * (4*(len(bench.Operations)-1) + 1); len(res.Rows) != want {
		t.Errorf("there are %d rows, want %d", len(res.Rows), want)
	}
}

// If the user does not choose a transport, comm measures the fastest one between the hosts.
func TestCommChoosesTheTransport(t *testing.T) {
	e := resolved(t, "--ntrainer", "2")
	p := &micro.Plan{
		Operations: []*bench.Operation{bench.PushPull}, Modes: []micro.Mode{micro.Fresh},
		Places: []micro.Place{micro.InPlace}, Sizes: []int{4096}, Width: 1, Density: 1,
		World: config.World{Trainers: 2, Servers: 1}, Server: e.Parts[sdk.KindServer], Expect: micro.Mean, Rounds: 1,
		Seconds: 1, Repeat: 1, Timeout: patience, Listen: "127.0.0.1",
	}
	for want, o := range map[string]cluster.Options{"shm": {}, "shm+tcp": acrossHosts().Options} {
		t.Run(want, func(t *testing.T) {
			res, err := micro.Run(t.Context(), p, micro.Options{Options: o, Progress: micro.Silent})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Rows) != 1 || res.Rows[0].Transport != want || (len(res.Links) > 0) != (want == "shm+tcp") {
				t.Errorf("%d rows, the first of %s with links %v, want %s", len(res.Rows), res.Rows[0].Transport,
					res.Links, want)
			}
		})
	}
}

// killer kills a process soon after the measured pass of its run begins.
type killer struct {
	run.Progress
	victim string
	hosts  *twoHosts
}

func (k *killer) Phase(name string) {
	if name == "measured pass" {
		time.AfterFunc(50*time.Millisecond, func() { _ = syscall.Kill(k.hosts.pid(k.victim), syscall.SIGKILL) })
	}
}

// The error names any killed process, with or without a direct link to the other host. Nothing of the run remains on
// either host.
func TestDeathsAcrossHostsAreNamed(t *testing.T) {
	for _, c := range []struct{ victim, flags string }{
		{"trainer0", "--ntrainer 3 --nserver 0 --ddp-hook allreduce"},
		{"trainer1", "--ntrainer 3 --nserver 0 --ddp-hook allreduce"},
		{"trainer2", "--ntrainer 3 --nserver 0 --ddp-hook allreduce"},
		{"trainer1", "--ntrainer 2 --nserver 1"},
		{"server2", "--ntrainer 2 --nserver 1"},
		{"trainer1", "--ntrainer 4 --nserver 1 --aggregate host"},
		{"trainer3", "--ntrainer 4 --nserver 1 --aggregate host"},
		{"server4", "--ntrainer 4 --nserver 1 --aggregate host"},
	} {
		t.Run(c.victim, func(t *testing.T) {
			k := &killer{Progress: run.Silent, victim: c.victim}
			o := run.Options{Progress: k,
				Options: cluster.Options{Open: func(l *placement.Layout, timeout time.Duration,
					output launch.Output) (cluster.Starter, error) {
					s, err := openTwoHosts(l, timeout, output)
					k.hosts, _ = s.(*twoHosts)
					return s, err
				}}}
			e := resolved(t, strings.Fields(c.flags+" --seconds 60 --warmup 1 "+smallModel)...)
			began := time.Now()
			_, err := run.Run(t.Context(), e, o)
			if err == nil || !strings.HasPrefix(err.Error(), c.victim+" ") ||
				!strings.Contains(err.Error(), "signal 9") {
				t.Errorf("%s without %s: %v", c.flags, c.victim, err)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%s without %s: it took %v to end", c.flags, c.victim, took)
			}
			for _, l := range k.hosts.launchers {
				if _, err := os.Stat(l.Directory()); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left: %v", l.Directory(), err)
				}
			}
		})
	}
}
