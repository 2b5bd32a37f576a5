package config

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// A trainer's defaults apply to values that the user did not give. The origin of such a value names the trainer.
func TestTrainerDefaults(t *testing.T) {
	inFolder(t, map[string]string{"run.json": `{"epochs": 7}`})
	exp := mustResolve(t, []string{"PSBENCH_NTRAINER=5"},
		[]string{"--trainer", "HybridTrainer", "--config", "run.json", "--batch-size", "3"})
	for _, want := range []result.Value{
		{Key: "trainer", Value: "hybrid", Origin: "flag --trainer"},
		{Key: "ntrainer", Value: json.Number("5"), Origin: "environment PSBENCH_NTRAINER"},
		{Key: "nserver", Value: json.Number("8"), Origin: "default of trainer hybrid"},
		{Key: "epochs", Value: json.Number("7"), Origin: "run.json"},
		{Key: "batch_size", Value: json.Number("3"), Origin: "flag --batch-size"},
		{Key: "server", Value: "embedding", Origin: "default of trainer hybrid"},
		{Key: "ddp_hook", Value: "allreduce", Origin: "derived: the servers serve tables"},
		{Key: "model", Value: "HybridModel",
			Origin: "default of trainer hybrid: model mlp of configs/models.json, HybridModel"},
		{Key: "create_criterion", Value: "cel", Origin: "default"},
	} {
		t.Run(want.Key, func(t *testing.T) {
			if diff := cmp.Diff(want, value(exp, want.Key)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if want := (World{Trainers: 5, Servers: 8, EveryServer: true}); exp.World != want ||
		exp.Service != sdk.ServiceTables {
		t.Errorf("world %+v, servers of %s", exp.World, exp.Service)
	}

	exp = mustResolve(t, nil, []string{"--trainer", "batch_update"})
	if exp.Parts[sdk.KindHook].Key != "rpc" || exp.Parts[sdk.KindCriterion].Key != "l1" || exp.BatchSize != 20 ||
		exp.Service != sdk.ServiceParameters {
		t.Errorf("hook %s, criterion %s, batches of %d, servers of %s", exp.Parts[sdk.KindHook].Key,
			exp.Parts[sdk.KindCriterion].Key, exp.BatchSize, exp.Service)
	}
}

// A model's defaults are above the trainer's defaults and below the values that the user gave. This order holds for
// every name of the model.
func TestModelDefaults(t *testing.T) {
	inFolder(t, map[string]string{"run.json": `{"model": "DLRM", "batch_size": 7}`})
	for i, c := range []struct {
		flags []string
		want  []result.Value
	}{
		{[]string{"--trainer", "batch_update", "--model", "dlrm"}, []result.Value{
			{Key: "batch_size", Value: json.Number("128"), Origin: "default of model dlrm"},
			{Key: "create_criterion", Value: "bce", Origin: "default of model dlrm"},
			{Key: "server", Value: "batch_update", Origin: "default of trainer batch_update"},
		}},
		{[]string{"--config", "run.json", "--create-criterion", "l1"}, []result.Value{
			{Key: "batch_size", Value: json.Number("7"), Origin: "run.json"},
			{Key: "create_criterion", Value: "l1", Origin: "flag --create-criterion"},
		}},
		{[]string{"--trainer", "batch_update"}, []result.Value{
			{Key: "batch_size", Value: json.Number("20"), Origin: "default of trainer batch_update"},
		}},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			exp := mustResolve(t, nil, c.flags)
			for _, want := range c.want {
				if diff := cmp.Diff(want, value(exp, want.Key)); diff != "" {
					t.Errorf("%q: %s", c.flags, diff)
				}
			}
		})
	}
	if exp := mustResolve(t, nil, []string{"--model", "DLRM"}); exp.Parts[sdk.KindData].Key != "criteo" {
		t.Errorf("the data of DLRM is %s", exp.Parts[sdk.KindData].Key)
	}
}
