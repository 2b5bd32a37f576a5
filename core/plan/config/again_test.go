package config

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
)

func TestGivenAndDifferences(t *testing.T) {
	old := []result.Value{
		{Key: "ntrainer", Value: json.Number("2"), Origin: "flag --ntrainer"},
		{Key: "nserver", Value: json.Number("1"), Origin: "default"},
		{Key: "ddp_hook", Value: "rpc", Origin: "derived: there are servers"},
		{Key: "model", Value: "DummyModel", Origin: "default: model dummy of configs/models.json, DummyModel"},
		{Key: "model.engine", Value: "layers", Origin: "mine.json"},
		{Key: "model.sparse", Value: false, Origin: "configs/models.json, DummyModel"},
		{Key: "trainer.lr", Value: json.Number("0.1"), Origin: "default of trainer ddp"},
		{Key: "isolate", Value: []any{"hook"}, Origin: "environment PSBENCH_ISOLATE"},
		{Key: "config", Value: "x.json", Origin: "flag --config"},
		{Key: "quiet", Value: true, Origin: "flag --quiet"},
	}
	var given []string
	for _, v := range Given(old) {
		given = append(given, v.Key)
	}
	if d := cmp.Diff([]string{"ntrainer", "model.engine", "isolate", "config", "quiet"}, given); d != "" {
		t.Errorf("given: %s", d)
	}
	now := []result.Value{
		{Key: "ntrainer", Value: 2},
		{Key: "nserver", Value: 2},
		{Key: "ddp_hook", Value: "allreduce"},
		{Key: "model", Value: "DummyModel"},
		{Key: "model.sparse", Value: false},
		{Key: "trainer.lr", Value: 0.1},
		{Key: "isolate", Value: []string{"hook"}},
		{Key: "quiet", Value: false},
		{Key: "epochs", Value: 5, Origin: "default" + undecided},
		{Key: "on_nan", Value: "warn"},
	}
	want := []result.Difference{
		{Name: "nserver", Old: "1", New: "2"}, {Name: "ddp_hook", Old: `"rpc"`, New: `"allreduce"`},
		{Name: "model.engine", Old: `"layers"`, New: "none"}, {Name: "on_nan", Old: "none", New: `"warn"`},
	}
	if d := cmp.Diff(want, Differences(old, now)); d != "" {
		t.Errorf("differences: %s", d)
	}
	if d := Differences(old, old); len(d) > 0 {
		t.Errorf("it differs from itself in %v", d)
	}
}
