package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/run"
	"github.com/psbench/psbench/core/verify"
	"github.com/psbench/psbench/sdk"
)

// psbenchMain runs a command line in this process; plugin processes are real.
func psbenchMain(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, environ: os.Environ()}
	status = a.run(context.Background(), args)
	return status, out.String(), errs.String()
}

// Every case in every form on shm, the default; the others carry the same
// operations, so three forms are enough there. A short run takes each form and each
// transport.
func TestVerifyEveryCase(t *testing.T) {
	forms := []string{
		"",
		"--set trainer.bucket_bytes=512",
		"--isolate all",
		"--set trainer.bucket_bytes=1024",
		"--isolate hook",
		"--isolate criterion",
		"--isolate model",
		"--isolate all --set trainer.bucket_bytes=512",
	}
	onSHM, elsewhere := len(forms), 3
	if raceDetector {
		onSHM, elsewhere = len(fabric.Names()), 1
	}
	for i, transport := range fabric.Names() {
		some := elsewhere
		if transport == fabric.Default().Name || testing.Short() {
			some = onSHM
		}
		for j, form := range forms[:some] {
			if !leftOut(j, i, len(fabric.Names())) {
				verifyAll(t, "--transport "+transport+" "+form)
			}
		}
	}
	if raceDetector {
		return // another engine and another address race with nothing more
	}
	verifyAll(t, "--set model.blas=gonum")
	verifyAll(t, "--transport tcp --listen ::1")
}

func verifyAll(t *testing.T, args string) {
	t.Run(args, func(t *testing.T) {
		status, stdout, stderr := psbenchMain(t, append([]string{"verify"}, strings.Fields(args)...)...)
		if status != 0 || !strings.Contains(stdout, "11 of 11 cases agree") {
			t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
		}
	})
}

// runCase is the result of a case through real plugin processes.
func runCase(t *testing.T, c verify.Case) *result.Result {
	t.Helper()
	var res *result.Result
	a := &app{environ: os.Environ()}
	cmd := a.verifyCommand()
	cmd.SetContext(context.Background())
	e, _, err := a.resolve(cmd, c.Layer())
	if err != nil {
		t.Fatal(err)
	}
	o := a.runOptions(run.Silent)
	o.Summarize = true
	if res, err = run.Run(context.Background(), e, o); err != nil {
		t.Fatal(err)
	}
	return res
}

// Every value of expect is compared: nudged by twice its tolerance, it fails,
// and the failure names it.
func TestVerifyComparesEveryValue(t *testing.T) {
	cases, err := verify.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if raceDetector {
		cases = cases[:1] // TestVerifyEveryCase runs the others, and numbers are for other builds
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
					name, summaries = fmt.Sprintf("server%d", e.Rank), slices.Concat(make([][]result.ParameterSummary, trainers), res.ServerParameters)
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
						nudge(t, c, res, &p.DeltaHead[i], 2*tol.DeltaHeadAbs, name, fmt.Sprintf("%s: delta_head[%d]", got.Name, i))
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

// nudge moves one expected value up and down and expects exactly one failure,
// about it.
func nudge(t *testing.T, c verify.Case, res *result.Result, v *float64, by float64, trainer, field string) {
	t.Helper()
	was := *v
	defer func() { *v = was }()
	for _, d := range []float64{by, -by} {
		*v = was + d
		o := verify.Compare(c, res)
		if len(o.Failures) != 1 ||
			!strings.HasPrefix(o.Failures[0].String(), trainer+", "+field) && !strings.HasPrefix(o.Failures[0].String(), trainer+": "+field) {
			t.Errorf("%s, %s nudged by %g: failures %q", trainer, field, d, o.Failures)
		}
	}
}

// caseFile writes an embedded case to a file, changed.
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
		if !strings.Contains(stdout, want) {
			t.Errorf("the output does not say %q:\n%s", want, stdout)
		}
	}
	if status != 1 || !strings.HasPrefix(stderr, "psbench: not every reference case agrees") {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
}

// foreignPlugin builds a plugin of testdata and returns the path of its
// registry file.
func foreignPlugin(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	// Without symbols the linker takes half of the time.
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, name), "./testdata/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	registry, err := os.ReadFile(filepath.Join("testdata", name, "registry.json"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "registry.json")
	if err := os.WriteFile(file, registry, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A part takes the place of the cases' own where it can, and the reason is told where it cannot.
func TestVerifyOfAPart(t *testing.T) {
	for args, want := range map[string]string{
		"--ddp-hook rpc":                        "skip  sparse_rpc_average_t4_s2: its hook has other links, and several servers\n      reduce among them\n5 of 5 cases agree, 6 skipped",
		"--model mlp":                           "4 of 4 cases agree, 7 skipped",
		"--model mlp --server average":          "no reference case could run",
		"--server averag":                       `--server: unknown server "averag"; did you mean "average"?`,
		"--ddp-hook allreduce --server average": "skip  rpc_average_dense_t2_s1: its hook allreduce does not use the servers\n",
	} {
		if raceDetector && strings.HasPrefix(want, "4 of") {
			continue // as the others
		}
		status, stdout, stderr := psbenchMain(t, append([]string{"verify"}, strings.Fields(args)...)...)
		if failed := status != 0; failed != (strings.Count(args, "--") > 1 || args == "--server averag") || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: exit status %d, without %q\n%s%s", args, status, want, stdout, stderr)
		}
	}
}

// What a run came to is a case, which another configuration does not follow.
func TestVerifyRecords(t *testing.T) {
	dir := t.TempDir()
	config, file := filepath.Join(dir, "run.json"), filepath.Join(dir, "mine.json")
	if err := os.WriteFile(config, []byte(`{"ntrainer": 1, "epochs": 1, "model": "mlp", "data": "dense", "set": {"model": {"sizes": [4, 2]}, "data": {"features": 4}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := psbenchMain(t, "verify", "--record", file, "--config", config)
	if status != 0 || !strings.Contains(stdout, "mine.json is a case of ") {
		t.Fatalf("exit status %d\n%s%s", status, stdout, stderr)
	}
	if status, stdout, _ := psbenchMain(t, "verify", file, "--server", "average_batch"); status != 0 || !strings.Contains(stdout, "1 of 1 cases agree") {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	if status, stdout, _ := psbenchMain(t, "verify", file, "--set", "trainer.lr=7"); status != 1 || !strings.Contains(stdout, "0 of 1 cases agree, 1 disagrees") {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	for want, args := range map[string][]string{
		"--record writes the case of a run, so it takes no files": {"--record", file, file},
		"a case is not compressed":                                {"--record", file + ".gz"},
		"--config is of --record":                                 {"--config", config},
		"no/such/folder":                                          {"--record", filepath.Join(dir, "no/such/folder/case.json"), "--config", config},
	} {
		if status, _, stderr := psbenchMain(t, append([]string{"verify"}, args...)...); status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit status %d, %s", args, status, stderr)
		}
	}
}

// resolved is the experiment of flags.
func resolved(t *testing.T, flags ...string) *config.Experiment {
	t.Helper()
	a := &app{environ: os.Environ()}
	cmd := a.runCommand()
	cmd.SetContext(context.Background())
	if err := cmd.ParseFlags(flags); err != nil {
		t.Fatal(err)
	}
	e, _, err := a.resolve(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// With the default model communication overlaps: the hook has the first bucket
// before backward ends, in every iteration.
func TestDefaultModelOverlaps(t *testing.T) {
	res, err := run.Run(context.Background(), resolved(t, "--epochs", "2"), run.Options{Progress: run.Silent})
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{1_049_600, 7_347_200, 1_048_576}
	if len(res.Buckets) != len(sizes) {
		t.Fatalf("there are %d buckets", len(res.Buckets))
	}
	for i, n := range sizes {
		if res.Buckets[i].Elements != n {
			t.Errorf("bucket %d has %d elements but DDP gives it %d", i, res.Buckets[i].Elements, n)
		}
	}
	for rank := range 2 {
		var backward, first []sdk.Measurement
		for _, s := range res.Series {
			for m := range s.All() {
				switch {
				case s.Rank == rank && s.Type == "backward_metric":
					backward = append(backward, m)
				case s.Rank == rank && s.Type == "hook_future_metric" && m.Key.B == 0:
					first = append(first, m)
				}
			}
		}
		if len(backward) != 10 || len(first) != len(backward) {
			t.Fatalf("trainer%d has %d backward passes and %d first buckets", rank, len(backward), len(first))
		}
		for i, b := range backward {
			if h := first[i]; h.StartNS <= b.StartNS || h.StartNS >= b.StartNS+b.DurationNS*9/10 {
				t.Errorf("trainer%d, iteration %d: backward runs from %d for %d ns, the first bucket starts at %d",
					rank, i, b.StartNS, b.DurationNS, h.StartNS)
			}
		}
	}
}

// A setting that the parts of some cases do not have leaves those out, and says so.
func TestVerifySkipsCasesWithoutTheSetting(t *testing.T) {
	status, stdout, _ := psbenchMain(t, "verify", "--set", "model.engine=gorgonia")
	if status != 0 || !strings.Contains(stdout, "7 of 7 cases agree, 4 skipped") || !strings.Contains(stdout, `skip  hybrid_t1_s2: `) {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	status, _, stderr := psbenchMain(t, "verify", "--set", "model.enginee=gorgonia")
	if status != 1 || !strings.Contains(stderr, "no reference case could run") {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
}
