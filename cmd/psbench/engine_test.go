package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/measure/verify"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
	"github.com/psbench/psbench/sdk/optimizer"
	"github.com/psbench/psbench/sdk/plugin"
)

// testEngine is an environment variable. If set, the test executable serves psbench's own parts on an engine whose
// memory Go cannot touch. Plugin processes inherit the variable.
const testEngine = "TEST_ENGINE"

// testEngines maps values of the variable to engines and to functions that adapt the parts.
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
	"adam": {enginetest.Config{Types: enginetest.Full.Types,
		Optimizers: []string{optimizer.Adam, optimizer.Adagrad}}.Open, enginetest.Parts},
	"bare": {enginetest.Full.Open, ownParts},
	// These engines use ordinary memory. Either Close fails, or adopted memory causes an error.
	"unclosed": {faulty{close: func() error { return errors.New("the device is gone") }}.open, ownParts},
	"panics":   {faulty{close: func() error { panic("the driver fell over") }}.open, ownParts},
	"hangs":    {faulty{close: func() error { select {} }}.open, ownParts},
	"unpinned": {faulty{release: func() error { return errors.New("it sticks") }}.open, ownParts},
	"pinless":  {faulty{adopt: errors.New("cannot pin")}.open, ownParts},
	"nilpin":   {faulty{}.open, ownParts},
	"absent":   {func() (engine.Engine, error) { return nil, errors.New("there is no device 0") }, enginetest.Parts},
}

func ownParts(parts []sdk.Part) []sdk.Part { return parts }

// faulty is an engine of ordinary memory. It adopts no memory unless release is set.
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

// servedOnTestEngine is launch.Child for built-in parts on a test engine.
func servedOnTestEngine() bool {
	served, ok := testEngines[os.Getenv(testEngine)]
	if !ok || len(os.Args) < 2 || os.Args[1] != launch.BuiltinArgument {
		return false
	}
	plugin.ServeOn(served.open, served.parts(plugins.Parts())...)
	return true
}

// hooksOf returns the hooks under which a case has the same outcome, with their required options. The case's own hook
// comes first. For one trainer these are all hooks; otherwise they are the hooks that average over all trainers.
func hooksOf(c verify.Case) []map[string]any {
	hooks := []map[string]any{{}}
	if _, ok := c.(*verify.Hybrid); ok { // one trainer; the servers hold the tables
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

// Every reference case agrees under every hook if all parts compute in memory that Go cannot touch. A short run tests
// each additional hook over one transport only.
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
		t.Run(hook, func(t *testing.T) {
			if !seen[hook] && (!raceDetector || hook != "noop") {
				t.Errorf("no case ran under %s", hook)
			}
		})
	}
}

// agreesApart runs a case on the engine and returns the name of its hook.
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
		if computes := strings.HasPrefix(p.Name, "trainer") || strings.HasPrefix(p.Name, "server"); computes &&
			p.Facts["memory"] != "dark" {
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
