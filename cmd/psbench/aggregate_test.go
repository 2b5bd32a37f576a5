package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/measure/verify"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/sdk"
)

// serversApart places all trainers on one host, and the servers and the data on the other.
func serversApart() run.Options {
	o := acrossHosts()
	o.Open = func(*placement.Layout, time.Duration, launch.Output) (cluster.Starter, error) {
		return openOn(func(name string) int {
			if strings.HasPrefix(name, "trainer") {
				return 1
			}
			return 0
		})
	}
	return o
}

// Reference cases with summing servers also agree if all trainers of a host push as one.
func TestReferenceCasesAgreeAggregated(t *testing.T) {
	cases, err := verify.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases,
		func(c verify.Case) bool { return !strings.Contains(c.Head().Name, "rpc_average") })
	if len(cases) != 3 {
		t.Fatalf("there are %d such cases", len(cases))
	}
	a := &app{environ: append(os.Environ(), "PSBENCH_AGGREGATE=host")}
	cmd := a.verifyCommand()
	cmd.SetContext(t.Context())
	resolve := func(l config.Layer) (*config.Experiment, error) {
		e, _, err := a.resolve(cmd, l)
		if err == nil && !e.Aggregate {
			t.Error("a case does not aggregate")
		}
		return e, err
	}
	var out bytes.Buffer
	if err := verify.Run(t.Context(), cases, verify.Substitutes{}, resolve, serversApart(), &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Losses equal those on one host except for the order of additions, and the links transferred the right data. Both
// hold for any distribution of trainers and hooks over the hosts.
func TestAggregatedTrainingIsThatOfOneHost(t *testing.T) {
	for _, c := range []struct {
		flags string
		hosts run.Options
	}{
		{"--ntrainer 4 --nserver 1 " + smallModel, acrossHosts()},
		{"--ntrainer 4 --nserver 2 --isolate hook --server average_batch " + smallModel, serversApart()},
		{"--ntrainer 3 --nserver 1 --ddp-hook sparse_rpc --set model.sparse=true " + smallModel, serversApart()},
	} {
		t.Run(fmt.Sprintf("%.60s", c.flags), func(t *testing.T) {
			flags := strings.Fields(c.flags + " --epochs 2 --check")
			two, err := run.Run(t.Context(), resolved(t, append(flags, "--aggregate", "host")...), c.hosts)
			if err != nil {
				t.Errorf("%s: %v", c.flags, err)
				return
			}
			one, err := run.Run(t.Context(), resolved(t, flags...), run.Options{Progress: run.Silent})
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(two.Warnings, cluster.NothingTogether) {
				t.Errorf("%s: %v", c.flags, two.Warnings)
			}
			for i, losses := range two.Losses {
				for k, loss := range losses {
					if want := one.Losses[i][k]; math.Abs(loss-want) > 1e-5*math.Abs(want) {
						t.Errorf("%s: loss %d of trainer%d is %v instead of %v", c.flags, k, i, loss, want)
					}
				}
			}
		})
	}
}

// If aggregation is impossible, psbench refuses the run before it starts. If there is nothing to aggregate, the
// result has a warning.
func TestAggregateOverHosts(t *testing.T) {
	for _, c := range []struct {
		flags string
		hosts run.Options
		want  string
	}{
		{"", run.Options{Progress: run.Silent}, cluster.ErrAggregateOnOneHost.Error()},
		{"--transport shm+tcp", run.Options{Progress: run.Silent}, cluster.ErrAggregateOnOneHost.Error()},
		{"--ddp-hook allreduce", acrossHosts(),
			"aggregate is host but hook allreduce pushes to no server: leave it out"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			e := resolved(t, strings.Fields("--aggregate host --epochs 1 "+c.flags+" "+smallModel)...)
			if _, err := run.Run(t.Context(), e, c.hosts); err == nil || err.Error() != c.want {
				t.Errorf("%s: %v, want %s", c.flags, err, c.want)
			}
		})
	}
	res, err := run.Run(t.Context(), resolved(t, strings.Fields("--aggregate host --epochs 1 "+smallModel)...),
		acrossHosts())
	if err != nil || !slices.Contains(res.Warnings, cluster.NothingTogether) {
		t.Errorf("%v, the warnings are %v", err, res.Warnings)
	}
}

// psbench comm verifies the answers to trainers that push as one, for dense, sparse and copied payloads. The row
// states the aggregation.
func TestCommAggregates(t *testing.T) {
	e := resolved(t, "--ntrainer", "4")
	p := &micro.Plan{
		Operations: []*bench.Operation{bench.PushPull, bench.Hook}, Modes: []micro.Mode{micro.Fresh, micro.Warm},
		Places: micro.Places, Sizes: []int{4, 3 << 20}, Width: 1, Density: 0.5,
		World: config.World{Trainers: 4, Servers: 2}, Aggregate: true,
		Server: e.Parts[sdk.KindServer], Hook: e.Parts[sdk.KindHook], HookLinks: e.Links, HookExpect: micro.Mean,
		Expect: micro.Mean, Rounds: 5, Seconds: 1, Repeat: 1, Timeout: patience, Listen: "127.0.0.1",
	}
	for _, sparse := range []bool{false, true} {
		p.Sparse = sparse
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		res, err := micro.Run(t.Context(), p, micro.Options{Options: serversApart().Options, Progress: micro.Silent})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Rows) != 16 || slices.Contains(res.Warnings, cluster.NothingTogether) {
			t.Errorf("there are %d rows and the warnings %v", len(res.Rows), res.Warnings)
		}
		for _, row := range res.Rows {
			if row.Aggregate != "host" || row.Verified == micro.NoRound {
				t.Errorf("%s of %d bytes: aggregate %q, verified %s", row.Operation, row.Bytes, row.Aggregate,
					row.Verified)
			}
		}
	}
	if _, err := micro.Run(t.Context(), p, micro.Options{Progress: micro.Silent}); err == nil ||
		err.Error() != cluster.ErrAggregateOnOneHost.Error() {
		t.Errorf("on one host: %v", err)
	}
}
