package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/sdk"
)

// Some errors show only when a run starts: whether a plugin's part accepts its settings, and whether data fits its
// model. So before the first run, psbench tries each distinct value once. After an error it tries once more
// with another number of trainers, because that number may be the cause.
func TestSweepTriesParts(t *testing.T) {
	file := withTestPlugin(t)[1]
	for _, c := range []struct {
		name   string
		axis   any
		trials int
		want   string // "" if nothing is refused
	}{
		{"settings that a plugin takes", []any{map[string]any{"data.times": 0}, map[string]any{"data.times": 1}},
			2, ""},
		{"settings that a plugin refuses", []any{map[string]any{"data.times": 0},
			map[string]any{"name": "bad", "data.panic": "such settings are refused"}}, 3, "such settings are refused"},
		{"data that does not fit", []any{map[string]any{"data": "dummy"}, map[string]any{"name": "bad", "data": "idx"}},
			3, "has no bag of indices but the model takes one"},
		// These cases use the plugin's data.
		{"defaults", []any{map[string]any{"batch_size": 1}, map[string]any{"batch_size": 2}}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := map[string]any{"registry": []string{file}}
			if !strings.Contains(c.name, "fit") {
				base["data"] = "actor"
			}
			text, err := json.Marshal(map[string]any{"base": base, "axes": []any{map[string]any{"what": c.axis}}})
			if err != nil {
				t.Fatal(err)
			}
			m := makerOf(t, map[string]int{})
			trials := 0
			m.Try = func(ctx context.Context, exp *config.Experiment) error {
				trials++
				if len(exp.Parts[sdk.KindHook].Key) == 0 {
					t.Error("the experiment has no hook")
				}
				return run.Try(ctx, exp, run.Options{Options: cluster.Options{}, Progress: run.Silent})
			}
			p, err := m.Make(t.Context(), specOf(t, string(text), "ddp_hook=rpc,allreduce", "ntrainer=1,2"))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", c.name, err)
			case c.want == "" && len(p.Running()) != 8:
				t.Errorf("%s: %d cells run", c.name, len(p.Running()))
			case c.want != "" &&
				(err == nil || !strings.HasPrefix(err.Error(), "cell what=bad ") ||
					!strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %v", c.name, err)
			}
			if trials != c.trials {
				t.Errorf("%s: %d trials", c.name, trials)
			}
		})
	}
}
