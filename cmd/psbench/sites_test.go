package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// clockBase is the origin of the clock comm.Now. Only tests may move this clock, so comm does not export clockBase.
//
//go:linkname clockBase github.com/psbench/psbench/comm.clockBase
var clockBase int64

// clockVariable is an environment variable that states how far the clock of a process is ahead of its host's clock.
const clockVariable = "PSBENCH_TEST_CLOCK"

// moveClock moves the clock of this process. It must run before the process takes any timestamp.
func moveClock() {
	if ahead, err := time.ParseDuration(os.Getenv(clockVariable)); err == nil {
		clockBase += int64(ahead)
	}
}

// apart starts every process with its own folder and its own clock, as if each ran on a separate host. All of them
// share memory and file system.
type apart struct {
	hidden bool // the starter does not provide the clocks
	asked  bool // the starter provides the clocks' readings, but not their offsets

	mu        sync.Mutex
	launchers []*launch.Launcher
	folders   map[string]bool
}

// Site implements cluster.Starter.
func (a *apart) Site(string) cluster.Site { return cluster.Site{Host: cluster.CoreHost, Cores: 1} }

// Start implements cluster.Starter.
func (a *apart) Start(ctx context.Context, spec launch.Spec) (cluster.Process, error) {
	l, err := launch.New(patience, launch.Output{})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.launchers = append(a.launchers, l)
	a.folders[l.Directory()] = true
	ahead := time.Duration(len(a.launchers)) * time.Hour
	site := cluster.Site{Host: cluster.CoreHost, Directory: l.Directory(), Clock: clocks.Known(clocks.Of(ahead))}
	a.mu.Unlock()
	spec.Env = append(spec.Env, clockVariable+"="+ahead.String())
	p, err := l.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	switch {
	case a.hidden:
		site.Clock = nil
	case a.asked:
		site.Clock = clocks.New(func(context.Context) (int64, error) { return comm.Now() + int64(ahead), nil })
	}
	return sited{p, site}, nil
}

// Close implements cluster.Starter.
func (a *apart) Close(gently bool) error {
	var err error
	for _, l := range a.launchers {
		err = errors.Join(err, l.Close(gently))
	}
	return err
}

type sited struct {
	*launch.Process
	site cluster.Site
}

func (s sited) Site() cluster.Site { return s.site }

func newApart() *apart { return &apart{folders: map[string]bool{}} }

func (a *apart) options() cluster.Options {
	return cluster.Options{Open: func(*placement.Layout, time.Duration, launch.Output) (cluster.Starter, error) {
		return a, nil
	}}
}

// farApart are flags of a short run in which many processes exchange data.
const farApart = "--ntrainer 2 --nserver 1 --isolate all --epochs 2 --set model.num_embeddings=100 " +
	"--set model.embedding_dim=100 --set model.dense_input_size=100 --set model.dense_output_size=100"

// Processes with separate folders and clocks give the same timeline as others. Every sample lies between the start
// and the end of the run, and times across processes are right. As a control, samples lie outside the run if the core
// does not know the clocks.
func TestProcessesHaveFoldersAndClocksOfTheirOwn(t *testing.T) {
	for name, flags := range map[string]string{
		"tcp":    farApart + " --transport tcp",
		"unix":   farApart + " --transport unix",
		"tables": "--trainer hybrid --ntrainer 2 --nserver 2 --epochs 2 --transport grpc --set server.embedding_dim=256",
	} {
		t.Run(name, func(t *testing.T) {
			if out := outside(t, newApart(), flags); out != 0 {
				t.Errorf("%d samples lie outside of the run", out)
			}
		})
	}
	t.Run("clocks that are asked", func(t *testing.T) {
		a := newApart()
		a.asked = true
		if out := outside(t, a, farApart+" --transport tcp"); out != 0 {
			t.Errorf("%d samples lie outside of the run", out)
		}
	})
	t.Run("hidden clocks", func(t *testing.T) {
		a := newApart()
		a.hidden = true
		if out := outside(t, a, farApart+" --transport tcp"); out == 0 {
			t.Error("the clocks of the processes are not apart")
		}
	})
}

// outside runs an experiment and counts the measurements outside the run's time.
func outside(t *testing.T, a *apart, flags string) (count int) {
	t.Helper()
	began := comm.Now()
	res, err := run.Run(context.Background(), resolved(t, strings.Fields(flags)...), run.Options{
		Options: a.options(), Progress: run.Silent, StartedNS: began,
	})
	took := comm.Now() - began
	if err != nil {
		t.Fatal(err)
	}
	if len(a.folders) != len(res.Processes) || len(res.Processes) < 5 {
		t.Fatalf("%d processes have %d folders", len(res.Processes), len(a.folders))
	}
	ranks := map[int]bool{}
	for _, s := range res.Series {
		for m := range s.All() {
			ranks[s.Rank] = true
			if m.StartNS < began || m.StartNS+m.DurationNS > began+took {
				count++
			}
		}
	}
	if len(ranks) < 3 {
		t.Errorf("only ranks %v have samples", ranks)
	}
	if res.StartMS <= 0 || res.StartMS > float64(took)/1e6 {
		count++
	}
	if s := res.Throughput.Seconds; s <= 0 || s > float64(took)/1e9 {
		count++
	}
	return count
}

// Shared memory contains timestamps, so all its processes need the same clock.
func TestSharedMemoryNeedsOneClock(t *testing.T) {
	e := resolved(t, strings.Fields(farApart+" --transport shm")...)
	_, err := run.Run(context.Background(), e, run.Options{Options: newApart().options(), Progress: run.Silent})
	if err == nil || !strings.Contains(err.Error(), " ahead of the clock of trainer0, but what shm joins needs one clock") {
		t.Errorf("the error is %v", err)
	}
}

// psbench comm also measures between such processes.
func TestCommBetweenProcessesApart(t *testing.T) {
	e := resolved(t, "--ntrainer", "2")
	p := &micro.Plan{
		Operations: bench.Operations, Fabrics: []*fabric.Fabric{fabricOf(t, "unix"), fabricOf(t, "tcp")},
		Modes: []micro.Mode{micro.Fresh}, Places: []micro.Place{micro.InPlace},
		Sizes: []int{4096}, Width: 4, Density: 1, World: config.World{Trainers: 2, Servers: 1},
		Server: e.Parts[sdk.KindServer], Hook: e.Parts[sdk.KindHook],
		Expect: micro.Mean, Rounds: 3, Seconds: 1, Repeat: 1, Timeout: patience, Listen: "127.0.0.1",
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	res, err := micro.Run(context.Background(), p, micro.Options{Options: newApart().options(), Progress: micro.Silent})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * len(bench.Operations); len(res.Rows) != want {
		t.Errorf("there are %d rows, want %d", len(res.Rows), want)
	}
}

// fabricOf returns the fabric with the given name.
func fabricOf(t *testing.T, name string) *fabric.Fabric {
	t.Helper()
	f, err := fabric.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
