package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/measure/verify"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// psbenchMain runs a command line in this process. The plugin processes are real.
func psbenchMain(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, environ: os.Environ()}
	status = a.run(context.Background(), args)
	return status, out.String(), errs.String()
}

// The test runs every case in every form over shm, the default. The other transports do the same operations, so two
// forms suffice: with the fewest messages, and with many small ones. A short run covers each form and each transport.
func TestVerifyEveryCase(t *testing.T) {
	forms := []string{
		"",
		"--isolate all --set trainer.bucket_bytes=512",
		"--set trainer.bucket_bytes=512",
		"--isolate all",
		"--set trainer.bucket_bytes=1024",
		"--isolate hook",
		"--isolate criterion",
		"--isolate model",
	}
	onSHM, elsewhere := len(forms), 2
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
		return // another engine or address adds no new races
	}
	verifyAll(t, "--set model.blas=gonum")
	verifyAll(t, "--transport tcp --listen ::1")
}

func verifyAll(t *testing.T, args string) {
	t.Run(args, func(t *testing.T) {
		status, stdout, stderr := psbenchMain(t, append([]string{"verify"}, strings.Fields(args)...)...)
		if status != 0 || !strings.Contains(stdout, "13 of 13 cases agree") {
			t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
		}
	})
}

// runCase runs a case with real plugin processes and returns the result.
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

func runs(t *testing.T, flags ...string) *result.Result {
	t.Helper()
	res, err := run.Run(context.Background(), resolved(t, flags...), run.Options{Progress: run.Silent})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// foreignPlugins maps names of plugins in testdata to functions that build each plugin once.
var foreignPlugins sync.Map

// foreignPlugin builds a plugin in testdata once for all tests, and returns the path of its registry file.
func foreignPlugin(t *testing.T, name string) string {
	t.Helper()
	build, _ := foreignPlugins.LoadOrStore(name, sync.OnceValues(func() (string, error) { return buildForeign(name) }))
	registry, err := build.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

func buildForeign(name string) (registry string, err error) {
	dir := filepath.Join(testFolder, name)
	// Without symbols the linker takes half the time.
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, name), "./testdata/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join("testdata", name, "registry.json"))
	if err != nil {
		return "", err
	}
	registry = filepath.Join(dir, "registry.json")
	return registry, os.WriteFile(registry, text, 0o600)
}

// resolved returns the experiment for the given flags.
func resolved(t testing.TB, flags ...string) *config.Experiment {
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

// With the default model, communication overlaps with computation: in every iteration the hook gets the first bucket
// before the backward pass ends.
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
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if res.Buckets[i].Elements != n {
				t.Errorf("bucket %d has %d elements but DDP gives it %d", i, res.Buckets[i].Elements, n)
			}
		})
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
