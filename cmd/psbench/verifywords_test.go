//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/verify"
	"github.com/psbench/psbench/core/record/result"
)

// Every expected value is compared. If the test changes a value by twice its tolerance, the case fails, and the
// failure names the value.
func TestVerifyComparesEveryValue(t *testing.T) {
	cases, err := verify.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Head().Name, func(t *testing.T) {
			res := runCase(t, c)
			if o := verify.Compare(c, res); len(o.Failures) > 0 {
				t.Fatalf("the case fails as it is: %v", o.Failures)
			}
			nudged := 0
			trainers, tol := c.Head().NTrainer, c.Head().Tolerance
			for _, e := range c.Expected() {
				name, summaries := fmt.Sprintf("trainer%d", e.Rank), res.Parameters
				if e.Rank >= trainers {
					name, summaries = fmt.Sprintf("server%d",
						e.Rank), slices.Concat(make([][]result.ParameterSummary, trainers), res.ServerParameters)
				}
				relative := func(v *float64, tolerance float64, field string) {
					nudge(t, c, res, v, 2*tolerance**v, name, field)
					nudged++
				}
				for i := range e.Losses {
					relative(&e.Losses[i], tol.LossRel, fmt.Sprintf("the loss of iteration %d", i))
				}
				for k := range e.Params {
					p, got := &e.Params[k], summaries[e.Rank][k]
					relative(&p.DeltaSumSq, tol.DeltaSumSqRel, got.Name+": delta_sumsq")
					nudge(t, c, res, &p.DeltaSum, 2*tol.Sum(got.Elements), name, got.Name+": delta_sum")
					for i := range p.DeltaHead {
						nudge(t, c, res, &p.DeltaHead[i], 2*tol.DeltaHeadAbs, name,
							fmt.Sprintf("%s: delta_head[%d]", got.Name, i))
						nudge(t, c, res, &p.Head[i], 2*tol.DeltaHeadAbs, name, fmt.Sprintf("%s: head[%d]", got.Name, i))
					}
				}
			}
			if nudged == 0 {
				t.Error("no value was nudged")
			}
		})
	}
}

// nudge moves one expected value up and down. It expects exactly one failure, which names this value.
func nudge(t *testing.T, c verify.Case, res *result.Result, v *float64, by float64, trainer, field string) {
	t.Helper()
	was := *v
	defer func() { *v = was }()
	for _, d := range []float64{by, -by} {
		*v = was + d
		o := verify.Compare(c, res)
		if len(o.Failures) != 1 ||
			!strings.HasPrefix(o.Failures[0].String(), trainer+", "+field) &&
				!strings.HasPrefix(o.Failures[0].String(), trainer+": "+field) {
			t.Errorf("%s, %s nudged by %g: failures %q", trainer, field, d, o.Failures)
		}
	}
}

// caseFile writes an embedded case to a file after a change.
func caseFile(t *testing.T, name string, change func(*verify.DDP)) string {
	t.Helper()
	cases, err := verify.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		ddp, ok := c.(*verify.DDP)
		if !ok || ddp.Name != name {
			continue
		}
		change(ddp)
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "case.json")
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Fatalf("there is no case %s", name)
	return ""
}

func TestVerifyFailsInWords(t *testing.T) {
	file := caseFile(t, "sparse_rpc_average_t4_s2", func(c *verify.DDP) {
		c.Expect.Params[3][2].DeltaHead[1] += 1e-5
	})
	status, stdout, stderr := psbenchMain(t, "verify", file)
	for _, want := range []string{"FAIL", "trainer3, bias_0: delta_head[1] is", "0 of 1 cases agree, 1 disagrees"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(stdout, want) {
				t.Errorf("the output does not say %q:\n%s", want, stdout)
			}
		})
	}
	if status != 1 || !strings.HasPrefix(stderr, "psbench: not every reference case agrees") {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
}

// A chosen part replaces the part of every case where it fits. For the other cases psbench states the reason.
func TestVerifyOfAPart(t *testing.T) {
	for args, want := range map[string]string{
		"--ddp-hook rpc":                        "skip  sparse_rpc_average_t4_s2: its hook has other links, and several servers\n      reduce among them\n6 of 6 cases agree, 7 skipped",
		"--model mlp":                           "4 of 4 cases agree, 9 skipped",
		"--model mlp --server average":          "no reference case could run",
		"--server averag":                       `--server: unknown server "averag"; did you mean "average"?`,
		"--ddp-hook allreduce --server average": "skip  rpc_average_dense_t2_s1: its hook allreduce does not use the servers\n",
	} {
		t.Run(args, func(t *testing.T) {
			status, stdout, stderr := psbenchMain(t, append([]string{"verify"}, strings.Fields(args)...)...)
			if failed := status != 0; failed != (strings.Count(args, "--") > 1 || args == "--server averag") ||
				!strings.Contains(stdout+stderr, want) {
				t.Errorf("%s: exit status %d, without %q\n%s%s", args, status, want, stdout, stderr)
			}
		})
	}
}

// The result of a run can be recorded as a case. The case then fails with a different configuration.
func TestVerifyRecords(t *testing.T) {
	dir := t.TempDir()
	config, file := filepath.Join(dir, "run.json"), filepath.Join(dir, "mine.json")
	if err := os.WriteFile(config,
		[]byte(`{"ntrainer": 1, "epochs": 1, "model": "mlp", "data": "dense", "set": {"model": {"sizes": [4, 2]}, "data": {"features": 4}}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := psbenchMain(t, "verify", "--record", file, "--config", config)
	if status != 0 || !strings.Contains(stdout, "mine.json is a case of ") {
		t.Fatalf("exit status %d\n%s%s", status, stdout, stderr)
	}
	if status, stdout, _ := psbenchMain(t, "verify", file, "--server", "average_batch"); status != 0 ||
		!strings.Contains(stdout, "1 of 1 cases agree") {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	if status, stdout, _ := psbenchMain(t, "verify", file, "--set", "trainer.lr=7"); status != 1 ||
		!strings.Contains(stdout, "0 of 1 cases agree, 1 disagrees") {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	for want, args := range map[string][]string{
		"--record writes the case of a run, so it takes no files": {"--record", file, file},
		"a case is not compressed":                                {"--record", file + ".gz"},
		"--config needs --record":                                 {"--config", config},
		"no/such/folder": {"--record",
			filepath.Join(dir, "no/such/folder/case.json"), "--config", config},
	} {
		t.Run(want, func(t *testing.T) {
			if status, _, stderr := psbenchMain(t, append([]string{"verify"}, args...)...); status == 0 ||
				!strings.Contains(stderr, want) {
				t.Errorf("%v: exit status %d, %s", args, status, stderr)
			}
		})
	}
}

// psbench skips cases whose parts lack the given setting, and states that.
func TestVerifySkipsCasesWithoutTheSetting(t *testing.T) {
	status, stdout, _ := psbenchMain(t, "verify", "--set", "model.engine=gorgonia")
	if status != 0 || !strings.Contains(stdout, "9 of 9 cases agree, 4 skipped") ||
		!strings.Contains(stdout, `skip  hybrid_t1_s2: `) {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	status, _, stderr := psbenchMain(t, "verify", "--set", "model.enginee=gorgonia")
	if status != 1 || !strings.Contains(stderr, "no reference case could run") {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
}
