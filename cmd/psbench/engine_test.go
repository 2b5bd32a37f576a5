package main

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/run"
	"github.com/psbench/psbench/core/verify"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
	"github.com/psbench/psbench/sdk/optimizer"
	"github.com/psbench/psbench/sdk/plugin"
)

// testEngine is the environment variable under which the test executable serves psbench's own
// parts on an engine whose memory Go cannot touch. Plugin processes inherit it.
const testEngine = "TEST_ENGINE"

// testEngines are engines by the variable's values, and how they serve parts.
var testEngines = map[string]struct {
	open  engine.Opener
	parts func([]sdk.Part) []sdk.Part
}{
	"dark": {enginetest.Full.Open, enginetest.Parts},
	"held": {func() (engine.Engine, error) {
		d := enginetest.New(enginetest.Full)
		d.Hold(true)
		return d, nil
	}, enginetest.Parts},
	"halves": {enginetest.Config{Types: []engine.Type{engine.Float16, engine.BFloat16}}.Open, enginetest.Parts},
	"adam":   {enginetest.Config{Types: enginetest.Full.Types, Optimizers: []string{optimizer.Adam, optimizer.Adagrad}}.Open, enginetest.Parts},
	"bare":   {enginetest.Full.Open, ownParts},
	// Of ordinary memory, with something wrong at their end or with what they adopt.
	"unclosed": {faulty{close: func() error { return errors.New("the device is gone") }}.open, ownParts},
	"panics":   {faulty{close: func() error { panic("the driver fell over") }}.open, ownParts},
	"hangs":    {faulty{close: func() error { select {} }}.open, ownParts},
	"unpinned": {faulty{release: func() error { return errors.New("it sticks") }}.open, ownParts},
	"pinless":  {faulty{adopt: errors.New("cannot pin")}.open, ownParts},
	"nilpin":   {faulty{}.open, ownParts},
	"absent":   {func() (engine.Engine, error) { return nil, errors.New("there is no device 0") }, enginetest.Parts},
}

func ownParts(parts []sdk.Part) []sdk.Part { return parts }

// faulty is an engine of ordinary memory that adopts nothing unless release is set.
type faulty struct {
	engine.Engine
	adopt          error
	close, release func() error
}

func (f faulty) open() (engine.Engine, error) {
	f.Engine = engine.Host
	return f, nil
}

func (f faulty) Name() string { return "faulty" }

func (f faulty) Adopt([]byte) (io.Closer, error) {
	if f.adopt != nil || f.release == nil {
		return nil, f.adopt
	}
	return releasing(f.release), nil
}

func (f faulty) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

type releasing func() error

func (r releasing) Close() error { return r() }

// servedOnTestEngine is launch.Child for built-in parts on such an engine.
func servedOnTestEngine() bool {
	served, ok := testEngines[os.Getenv(testEngine)]
	if !ok || len(os.Args) < 2 || os.Args[1] != launch.BuiltinArgument {
		return false
	}
	plugin.ServeOn(served.open, served.parts(plugins.Parts())...)
	return true
}

// hooksOf are the hooks under which a case has the same outcome, its own first, and what they
// need beside: of cases with one trainer any, of others those that average over all of them.
func hooksOf(c verify.Case) []map[string]any {
	hooks := []map[string]any{{}}
	if _, ok := c.(*verify.Hybrid); ok { // one trainer; the servers are for the tables
		return append(hooks, map[string]any{"ddp_hook": "hybrid"}, map[string]any{"ddp_hook": "noop"})
	}
	ddp, ok := c.(*verify.DDP)
	if !ok || ddp.NServer > 1 {
		return hooks
	}
	for _, hook := range []string{"allreduce", "hybrid", "rpc", "sparse_rpc", "noop"} {
		if hook == ddp.Hook || hook == "noop" && ddp.NTrainer > 1 {
			continue
		}
		other := map[string]any{"ddp_hook": hook, "nserver": 0}
		if strings.Contains(hook, "rpc") {
			other["nserver"], other["server"] = 1, "average"
		}
		hooks = append(hooks, other)
	}
	return hooks
}

// Every reference case agrees where all parts compute in memory that Go cannot touch, under
// every hook. A short run takes one transport for each hook beside a case's own.
func TestReferenceCasesOnAnEngineApart(t *testing.T) {
	t.Setenv(testEngine, "dark")
	cases, err := verify.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, transport := range []string{"shm", "tcp"} {
		for j, c := range cases {
			for k, hook := range hooksOf(c) {
				if k > 0 && (raceDetector || leftOut(j+k, i, 2)) {
					continue
				}
				layer := config.Layer{Origin: "the test", Values: map[string]any{"transport": transport}}
				for key, value := range hook {
					layer.Values[key] = value
				}
				name := c.Head().Name + " " + transport
				if other, ok := hook["ddp_hook"]; ok {
					name += " " + other.(string)
				}
				t.Run(name, func(t *testing.T) {
					seen[agreesApart(t, c, layer)] = true
				})
			}
		}
	}
	for _, hook := range []string{"allreduce", "hybrid", "rpc", "sparse_rpc", "noop"} {
		if !seen[hook] && (!raceDetector || hook != "noop") {
			t.Errorf("no case ran under %s", hook)
		}
	}
}

// agreesApart runs a case on the engine and says under which hook.
func agreesApart(t *testing.T, c verify.Case, layer config.Layer) (hook string) {
	t.Helper()
	a := &app{environ: os.Environ()}
	cmd := a.verifyCommand()
	cmd.SetContext(context.Background())
	e, chosen, err := a.resolve(cmd, c.Layer(), layer)
	if err != nil {
		t.Fatal(err)
	}
	o := a.runOptions(run.Silent)
	o.Summarize = true
	res, err := run.Run(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if outcome := verify.Compare(c, res); len(outcome.Failures) > 0 {
		t.Errorf("it disagrees: %v", outcome.Failures)
	}
	for _, p := range res.Processes {
		if computes := strings.HasPrefix(p.Name, "trainer") || strings.HasPrefix(p.Name, "server"); computes && p.Facts["memory"] != "dark" {
			t.Errorf("%s ran elsewhere: its facts are %v", p.Name, p.Facts)
		}
	}
	staged := 0
	for _, s := range res.Series {
		if s.Type == "staging_metric" {
			for range s.All() {
				staged++
			}
		}
	}
	if staged == 0 {
		t.Error("nothing was staged")
	}
	return chosen.DDPHook
}

// With every optimizer, and of what hosts look at beside training, both engines give the same
// bits.
func TestAnEngineApartComputesTheSameBits(t *testing.T) {
	if raceDetector {
		return // the reference cases race as these do, and numbers are for other builds
	}
	const small = " --nserver 0 --ddp-hook allreduce --epochs 2 --warmup none --set model.dense_layers_count=2 --set model.sparse=true"
	for _, args := range []string{
		"--set trainer.optimizer=adam" + small,
		"--set trainer.momentum=0.9 --set trainer.nesterov=true" + small,
		"--set trainer.lr=1e38" + small,
		"--trainer hybrid --ntrainer 1 --nserver 2 --epochs 2 --warmup none --set server.embedding_dim=256 --set server.optimizer=adagrad --set trainer.optimizer=adagrad",
		"--trainer batch_update --ntrainer 1 --set server.optimizer=adam",
		"--model dlrm --data ClickSample --ntrainer 1 --ddp-hook noop --nserver 0 --iterations 20 --warmup none --set trainer.optimizer=rowwise_adagrad --set trainer.lr=0.01",
		"--model MNIST --data DigitSample --ddp-hook allreduce --nserver 0 --create-criterion nll --set model.output=log_softmax --epochs 1",
	} {
		t.Run(args, func(t *testing.T) {
			computed := func() (o struct {
				Losses           [][]float64
				NonFinite        []result.NonFinite
				Evaluation       []result.Evaluation
				Trainers, Server [][]result.ParameterSummary
			}) {
				t.Helper()
				res, err := run.Run(t.Context(), resolved(t, strings.Fields(args)...), run.Options{Progress: run.Silent, Summarize: true})
				if err != nil {
					t.Fatal(err)
				}
				o.Losses, o.NonFinite, o.Evaluation, o.Trainers, o.Server = res.Losses, res.NonFinite, res.Evaluation, res.Parameters, res.ServerParameters
				return o
			}
			want := computed()
			t.Setenv(testEngine, "dark")
			if d := cmp.Diff(want, computed(), cmpopts.EquateNaNs()); d != "" {
				t.Error(d)
			}
			if len(want.Losses) == 0 || len(want.Trainers) == 0 {
				t.Error("nothing was computed")
			}
		})
	}
}

// Buckets of other sizes and an isolated hook, to which buckets look the same, agree as well.
func TestVerifyOnAnEngineApart(t *testing.T) {
	t.Setenv(testEngine, "dark")
	verifyAll(t, "--set trainer.bucket_bytes=512")
	if !testing.Short() && !raceDetector {
		verifyAll(t, "--isolate hook --set trainer.bucket_bytes=1024")
		verifyAll(t, "--transport tcp --isolate hook")
	}
}

// Of several processes that find the same any may be the first to tell.
func TestEnginesThatLackSomething(t *testing.T) {
	const (
		small  = "--set model.dense_layers_count=1 "
		goMade = "it computes in Go, which cannot touch the memory of engine dark: choose one that computes there, or a plugin on another engine"
		apart  = " computes in the memory of engine dark, which no other process sees, so its "
		one    = " must be in one process with it: choose them of one plugin, and do not isolate them"
	)
	for _, c := range []struct{ engine, args, want string }{
		{"halves", small, `trainer\d: model dummy: engine dark has no elements of type float32: it has float16, bfloat16`},
		{"halves", "--trainer batch_update", `trainer\d: the gradients of bucket 0: engine dark has no elements of type float32: it has float16, bfloat16`},
		{"adam", small, `trainer\d: trainer ddp, Attach: engine dark has no optimizer sgd: it has adam, adagrad`},
		{"adam", "--trainer batch_update --ntrainer 1", `server1: server batch_update: engine dark has no optimizer sgd: it has adam, adagrad`},
		{"adam", small + "--set trainer.optimizer=rowwise_adagrad", `trainer\d: trainer ddp, Attach: engine dark has no optimizer rowwise_adagrad: it has adam, adagrad`},
		{"bare", small, `trainer\d: model dummy: ` + goMade},
		{"bare", "--trainer hybrid --ntrainer 1 --nserver 1", `(trainer0: model mlp|server1: server embedding): ` + goMade},
		{"absent", small, `(trainer\d: the engine of trainer ddp|server2: the engine of server average) does not open: there is no device 0`},
		{"dark", small + "--isolate model", `(trainer\d: trainer ddp` + apart + `model|trainer\d.model: model dummy` + apart + `trainer)` + one},
		{"dark", small + "--isolate criterion", `(trainer\d: trainer ddp` + apart + `criterion|trainer\d.criterion: criterion cel` + apart + `trainer)` + one},
	} {
		t.Run(c.engine+" "+c.args, func(t *testing.T) {
			t.Setenv(testEngine, c.engine)
			status, _, stderr := psbenchMain(t, append([]string{"--quiet"}, strings.Fields(c.args)...)...)
			if told := regexp.MustCompile(`^psbench: ` + c.want + `\n$`); status != exitFailure || !told.MatchString(stderr) {
				t.Errorf("exit status %d, error\n%s\nwant\n%s", status, stderr, c.want)
			}
		})
	}
}

// What goes wrong in the end of an engine, or of what it adopted, is told as that of a part is.
func TestEnginesThatDoNotClose(t *testing.T) {
	const batchUpdate = " --trainer batch_update --nserver 1 --ntrainer 1"
	for _, c := range []struct{ engine, args, want string }{
		{"unclosed", "", "trainer0: engine faulty, Close: the device is gone; trainer1: engine faulty, Close: the device is gone"},
		{"hangs", " --rpc-timeout 1 --ntrainer 1", "trainer0: engine faulty is not closed after 1 s"},
		{"panics", " --ntrainer 1", `trainer0 \(process \d+\) ended with exit status 2 during closing; its last words: panic: the driver fell over.*`},
		{"unpinned", " --ntrainer 1", "trainer0: what engine faulty adopted, Close: it sticks"},
		{"unpinned", batchUpdate, "trainer0: what engine faulty adopted, Close: it sticks; server1: server batch_update, Close: it sticks"},
		{"pinless", " --ntrainer 1", `trainer0: engine faulty does not adopt \d+ bytes of buckets: cannot pin`},
		{"pinless", batchUpdate, `(server1: server batch_update|trainer0): engine faulty does not adopt \d+ bytes of buckets: cannot pin`},
		{"nilpin", " --ntrainer 1", ""},
		{"nilpin", batchUpdate, ""},
	} {
		t.Run(c.engine+c.args, func(t *testing.T) {
			t.Setenv(testEngine, c.engine)
			args := "--quiet --set model.dense_layers_count=1 --epochs 1 --warmup none --nserver 0 --ddp-hook allreduce" + c.args
			if strings.Contains(c.args, "batch_update") {
				args = "--quiet --epochs 1 --warmup none" + c.args
			}
			status, _, stderr := psbenchMain(t, strings.Fields(args)...)
			if c.want == "" {
				if status != 0 {
					t.Errorf("exit status %d, error\n%s", status, stderr)
				}
				return
			}
			if told := regexp.MustCompile(`^psbench: ` + c.want + `\n$`); status != exitFailure || !told.MatchString(stderr) {
				t.Errorf("exit status %d, error\n%s\nwant\n%s", status, stderr, c.want)
			}
		})
	}
}

// After an interrupt and after a failure engines are closed as well, and what goes wrong is added.
func TestEnginesAreClosedHoweverARunEnds(t *testing.T) {
	t.Setenv(testEngine, "unclosed")
	const told = "; at the end trainer0: engine faulty, Close: the device is gone"
	world := strings.Fields("--set model.dense_layers_count=1 --warmup none --nserver 0 --ddp-hook allreduce")
	t.Run("interrupted", func(t *testing.T) {
		f := startPsbench(t, append(world, "--ntrainer", "2", "--epochs", "100000")...)
		f.reach("measured pass")
		f.interrupt()
		if !strings.Contains(f.text(), told) {
			t.Errorf("it says\n%s", f.text())
		}
	})
	t.Run("killed", func(t *testing.T) {
		f := startPsbench(t, append(world, "--ntrainer", "2", "--epochs", "100000")...)
		f.reach("measured pass")
		f.signal("trainer1", syscall.SIGKILL)
		f.ended("trainer1")
		if !strings.Contains(f.text(), told) {
			t.Errorf("it says\n%s", f.text())
		}
	})
}

// A copy that never ends ends the run, also where nobody else waits for its trainer.
func TestEnginesWhoseCopiesDoNotEnd(t *testing.T) {
	t.Setenv(testEngine, "held")
	for _, trainers := range []string{"1", "2"} {
		status, _, stderr := psbenchMain(t, strings.Fields("--quiet --set model.dense_layers_count=1 --epochs 1 --warmup none --nserver 0 --ddp-hook allreduce --rpc-timeout 2 --ntrainer "+trainers)...)
		told := regexp.MustCompile(`^psbench: trainer\d: engine dark has not ended a copy after 2 s, so its Wait does not return: look at the device, or raise --rpc-timeout if its work takes that long; at the end `)
		if status != exitFailure || !told.MatchString(stderr) {
			t.Errorf("%s trainers: exit status %d, error\n%s", trainers, status, stderr)
		}
	}
}
