package config

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

func setting(name, typ, value string) sdk.Setting {
	return sdk.Setting{Name: name, Type: typ, Default: json.RawMessage(value)}
}

// parts returns all parts of the built-in registry, some of them with settings.
func parts(_ context.Context, plugin registry.Plugin) ([]sdk.Part, error) {
	solo := []sdk.Part{{Kind: sdk.KindTrainer, Key: "solo", Needs: sdk.ServiceGradients}}
	switch plugin.Name {
	case registry.Builtin:
		return builtinParts()
	case "alone":
		return solo, nil
	case "linking":
		linked, err := builtinParts()
		return append(solo, linked...), err
	default:
		return nil, errors.New("no such program")
	}
}

var builtinParts = sync.OnceValues(func() ([]sdk.Part, error) {
	reg, err := registry.Load(psbench.Registry, "")
	if err != nil {
		return nil, err
	}
	settings := map[string][]sdk.Setting{
		"trainer ddp":    {setting("lr", "number", "0.0001"), setting("bucket_bytes", "integer", "26214400")},
		"server average": {setting("verbose", "bool", "false")},
		"server embedding": {setting("num_embeddings", "integer", "300"), setting("embedding_dim", "integer", "64"),
			setting("lr", "number", "0.05")},
		"server batch_update": {setting("momentum", "number", "0.9")},
		"trainer hybrid":      {setting("lookup", "string", `"parallel"`), setting("lr", "number", "0.05")},
		"data bags":           {setting("batches", "integer", "10"), setting("num_embeddings", "integer", "300")},
		"data dense":          {setting("batches", "integer", "4"), setting("features", "integer", "100")},
		"model dlrm": {
			setting("dense_features", "integer", "1"), setting("table_rows", "list", "[1]"),
			setting("embedding_dim", "integer", "1"),
			setting("bottom_layers", "list", "[1]"), setting("top_layers", "list", "[1]"),
		},
		"model mlp": {setting("sizes", "list", "[2,2]"), setting("relu_after", "list", "[]")},
		"data dummy": {
			setting("max_val", "integer", "100"), setting("sample_count", "integer", "100"),
			setting("sample_length", "integer", "100"), setting("sparsity_percentage", "integer", "20"),
		},
		"data file":   {setting("path", "string", `""`)},
		"data inline": {setting("inputs", "list", "[]"), setting("targets", "list", "[]")},
		"model dummy": {
			setting("num_embeddings", "integer", "1024"), setting("embedding_dim", "integer", "1024"),
			setting("dense_input_size", "integer", "1024"), setting("dense_output_size", "integer", "1024"),
			setting("dense_layers_count", "integer", "8"), setting("sparse", "bool", "false"),
		},
	}
	var out []sdk.Part
	for _, kind := range registry.Kinds {
		for _, item := range reg.Items(kind) {
			d := sdk.Part{Kind: kind, Key: item.Key, Settings: settings[string(kind)+" "+item.Key]}
			switch kind {
			case sdk.KindServer:
				d.Serves = served(item.Key)
				if item.Key == "average" {
					d.Timing, d.Answers, d.Adds = sdk.OnArrival, sdk.AnswersMean, true
				}
			case sdk.KindTrainer:
				d.Needs = served(item.Key)
			case sdk.KindHook:
				d.Links = map[string][]sdk.Link{
					"allreduce": {sdk.LinkGroup}, "hybrid": {sdk.LinkGroup, sdk.LinkDefault},
					"rpc": {sdk.LinkServer}, "sparse_rpc": {sdk.LinkServer, sdk.LinkGroup},
				}[item.Key]
			}
			out = append(out, d)
		}
	}
	// The following parts belong to registry files of the tests.
	out = append(out, sdk.Part{Kind: sdk.KindTrainer, Key: "t", Needs: sdk.ServiceGradients})
	return out, nil
})

// served returns which service psbench's server or trainer with this key serves or needs.
func served(key string) sdk.Service {
	switch key {
	case "embedding", "hybrid":
		return sdk.ServiceTables
	case "batch_update":
		return sdk.ServiceParameters
	default:
		return sdk.ServiceGradients
	}
}

// resolve resolves a configuration from flags, environment variables and extra layers.
func resolve(t *testing.T, environ, flags []string, extra ...Layer) (*Experiment, error) {
	t.Helper()
	set := pflag.NewFlagSet("psbench", pflag.ContinueOnError)
	option.AddFlags(set)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	c, err := Merge(Sources{Environ: environ, Extra: extra, Flags: set})
	if err != nil {
		return nil, err
	}
	reg, err := c.LoadRegistry(psbench.Registry, "")
	if err != nil {
		return nil, err
	}
	return c.Resolve(t.Context(), reg, parts)
}

func mustResolve(t *testing.T, environ, flags []string, extra ...Layer) *Experiment {
	t.Helper()
	exp, err := resolve(t, environ, flags, extra...)
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

// inFolder changes to a new working directory that contains these files.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
}

func value(exp *Experiment, key string) result.Value {
	for _, v := range exp.Values {
		if v.Key == key {
			return v
		}
	}
	return result.Value{}
}

// sameFabric compares fabrics by identity, because each fabric exists once.
var sameFabric = cmp.Comparer(func(a, b *fabric.Fabric) bool { return a == b })

// The options accept the values of package placement and have its defaults.
func TestChoicesOfPlacement(t *testing.T) {
	for key, want := range map[string][]string{"place": placement.Policies, "affinity": placement.Affinities} {
		t.Run(key, func(t *testing.T) {
			if o, _ := option.Of(key); !slices.Equal(o.Enum, want) || o.Default != want[0] {
				t.Errorf("--%s offers %v, %s by default, want %v", key, o.Enum, o.Default, want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	exp := mustResolve(t, nil, nil)
	builtin := registry.Plugin{Name: registry.Builtin}
	want := &Experiment{
		World: World{Trainers: 2, Servers: 1},
		Parts: map[sdk.Kind]Part{
			sdk.KindTrainer: {Key: "ddp", Plugin: builtin,
				Settings: json.RawMessage(`{"lr":0.0001,"bucket_bytes":26214400}`)},
			sdk.KindServer: {Key: "average", Plugin: builtin, Settings: json.RawMessage(`{"verbose":false}`),
				Elementwise: true, OnArrival: true, Adds: true, Answers: sdk.AnswersMean},
			sdk.KindHook:      {Key: "rpc", Plugin: builtin, Settings: json.RawMessage(`{}`)},
			sdk.KindCriterion: {Key: "cel", Plugin: builtin, Settings: json.RawMessage(`{}`)},
			sdk.KindData: {Key: "dummy", Plugin: builtin,
				Settings: json.RawMessage(
					`{"max_val":100,"sample_count":100,"sample_length":100,"sparsity_percentage":20}`)},
			sdk.KindModel: {Key: "dummy", Plugin: builtin,
				Settings: json.RawMessage(`{"num_embeddings":1024,"embedding_dim":1024,"dense_input_size":1024,"dense_output_size":1024,"dense_layers_count":8,"sparse":false}`)},
		},
		InTrainer: map[sdk.Kind]string{
			sdk.KindDDPModel: "basic", sdk.KindHookState: "basic", sdk.KindIterationStep: "basic",
			sdk.KindPreprocessData: "dummy",
		},
		Service: sdk.ServiceGradients,
		Links:   registry.Links{Server: true},
		Isolate: map[sdk.Kind]bool{},
		Length:  stop.Length{Epochs: 5, Least: 20}, WarmUp: stop.Length{Epochs: 5, Least: 20}, BatchSize: 10,
		Timeout: 60 * time.Second,
		Fabric:  fabric.Default(), Auto: true, Listen: "127.0.0.1", Place: placement.Spread,
		Affinity: placement.Anywhere,
		Values:   exp.Values,
	}
	if diff := cmp.Diff(want, exp, sameFabric); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{
		"epochs": "default, or more for 20 iterations per trainer", "warmup": "default",
		"transport": "derived: everything runs on one host", "ddp_hook": "derived: there are servers",
		"model":        "default: model dummy of configs/models.json, DummyModel",
		"model.sparse": "configs/models.json, DummyModel", "trainer.lr": "default",
	} {
		t.Run(key, func(t *testing.T) {
			if got := value(exp, key).Origin; got != want {
				t.Errorf("%s comes from %q, want %q", key, got, want)
			}
		})
	}
}

func TestLayers(t *testing.T) {
	inFolder(t, map[string]string{
		"run.json":  `{"$schema": "x", "epochs": 7, "batch-size": 8, "rpc_timeout": 9, "torch_seed": 10, "set": {"trainer": {"lr": 0.7, "bucket_bytes": 7}, "model": {"num_embeddings": 70}}}`,
		"env.json":  `{"epochs": 70}`,
		"ddp.json":  `{"DdpTrainer": {"lr": 0.6, "bucket_bytes": 6}}`,
		"mine.json": `{"Small": {"model_class": "DummyModel", "configurations": {"num_embeddings": 5, "embedding_dim": 6}}}`,
	})
	exp := mustResolve(t,
		[]string{"PSBENCH_CONFIG=env.json", "PSBENCH_BATCH_SIZE=18", "PSBENCH_RPC_TIMEOUT=19", "PSBENCH_TORCH_SEED=20",
			"PSBENCH_JSON=", "PSBENCH_PLUGIN=" + host.Handshake.MagicCookieValue, "HOME=/",
			"PSBENCH_SET=trainer.lr=0.8,model.sparse=true"},
		[]string{"--config", "run.json", "--torch_seed", "18446744073709551615", "--set", "trainer.lr=0.9",
			"--trainer_config_path=ddp.json", "--model-config-path", "mine.json", "--model", "Small", "--isolate",
			"hook", "--isolate", "model"},
		Layer{"case x", map[string]any{"rpc_timeout": 29, "torch_seed": uint64(30),
			"set": map[string]any{"model": map[string]any{"sparse": false}}}},
	)
	for _, want := range []result.Value{
		{Key: "ntrainer", Value: json.Number("2"), Origin: "default"},
		{Key: "epochs", Value: json.Number("7"), Origin: "run.json"},
		{Key: "batch_size", Value: json.Number("18"), Origin: "environment PSBENCH_BATCH_SIZE"},
		{Key: "rpc_timeout", Value: json.Number("29"), Origin: "case x"},
		{Key: "torch_seed", Value: json.Number("18446744073709551615"), Origin: "flag --torch-seed"},
		{Key: "isolate", Value: []any{"hook", "model"}, Origin: "flag --isolate"},
		{Key: "trainer.lr", Value: json.Number("0.9"), Origin: "flag --set"},
		{Key: "trainer.bucket_bytes", Value: json.Number("7"), Origin: "run.json"},
		{Key: "model", Value: "Small", Origin: "flag --model: model dummy of mine.json, Small"},
		{Key: "model.num_embeddings", Value: json.Number("70"), Origin: "run.json"},
		{Key: "model.embedding_dim", Value: json.Number("6"), Origin: "mine.json, Small"},
		{Key: "model.dense_layers_count", Value: json.Number("8"), Origin: "default"},
		{Key: "model.sparse", Value: false, Origin: "case x"},
	} {
		t.Run(want.Key, func(t *testing.T) {
			if diff := cmp.Diff(want, value(exp, want.Key)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if exp.Seed != 1<<64-1 || exp.Timeout != 29*time.Second {
		t.Errorf("seed %d, timeout %s", exp.Seed, exp.Timeout)
	}
	if diff := cmp.Diff(map[sdk.Kind]bool{sdk.KindHook: true, sdk.KindModel: true}, exp.Isolate); diff != "" {
		t.Error(diff)
	}
}

// A setting needs no kind if only one part of the run has it.
func TestSettingWithoutKind(t *testing.T) {
	for name, environ := range map[string][]string{"flag": nil,
		"environment": {"PSBENCH_SET=sparse=true,bucket_bytes=7"}} {
		t.Run(name, func(t *testing.T) {
			var flags []string
			if environ == nil {
				flags = []string{"--set=sparse=true", "--set=bucket_bytes=7"}
			}
			exp := mustResolve(t, environ, flags)
			if model, trainer := string(exp.Parts[sdk.KindModel].Settings),
				string(exp.Parts[sdk.KindTrainer].Settings); !strings.Contains(model, `"sparse":true`) ||
				!strings.Contains(trainer, `"bucket_bytes":7`) {
				t.Errorf("%s: the settings are %s and %s", name, model, trainer)
			}
		})
	}
}

// A reference case puts its samples as a list into an extra layer.
func TestExtraLayer(t *testing.T) {
	exp := mustResolve(t, nil, []string{"--isolate=all"}, Layer{"case x", map[string]any{
		"nserver": 0, "data": "inline",
		"set": map[string]any{"data": map[string]any{"inputs": [][]int64{{1, 2}}, "targets": []int64{3}},
			"trainer": map[string]any{"lr": 2.0}},
	}})
	if got := string(exp.Parts[sdk.KindData].Settings); got != `{"inputs":[[1,2]],"targets":[3]}` {
		t.Errorf("the data's settings are %s", got)
	}
	if exp.Parts[sdk.KindHook].Key != "allreduce" || len(exp.Isolate) != 3 {
		t.Errorf("got hook %s, isolated %v", exp.Parts[sdk.KindHook].Key, exp.Isolate)
	}
	if _, ok := exp.Parts[sdk.KindServer]; ok {
		t.Error("there is a server, though nserver is 0")
	}
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct{ flags, want string }{
		{"--nserver 0", ""},
		{"--ddp-hook rpc", ""},
		{"--ddp-hook sparse_rpc", ""},
		{"--ddp-hook allreduce", "hook allreduce never uses the servers: give --nserver 0 to run without"},
		{"--ddp-hook noop --nserver 0", ""},
		{"--nserver 0 --server average", "--server has no effect: there are no servers (--nserver)"},
		{"--nserver 0 --place apart", "--place has no effect: there are no servers (--nserver)"},
		{"--nserver 0 --place spread", ""},
		{"--nserver 0 --set server.verbose=true",
			"--set server.verbose has no effect: there are no servers (--nserver)"},
		{"--master_addr localhost", "--master-addr has no effect: psbench tells each process where its peers are"},
		{"--filestore /tmp/f", "--filestore has no effect: the processes meet in the run's own folder"},
		{"--listen 127.0.0.1", "--listen has no effect: transport shm listens on no IP address"},
		{"--listen ::1 --transport unix", "--listen has no effect: transport unix listens on no IP address"},
		{"--listen 127.0.0.2 --transport tcp", ""},
		{"--listen ::1 --transport grpc", ""},
		{"--listen 10.0.0.5 --transport tcp", ""},
		{"--listen 10.0.0.5 --transport tcp --insecure-network", InsecureNetwork},
		{"--transport tcp", ""},
		{"--trainer hybrid", ""},
		{"--trainer batch_update", ""},
		{"--trainer hybrid --nserver 3 --ntrainer 2 --ddp-hook noop", ""},
		{"--rpc_timeout 31535999", ""},
		{"--rpc_timeout 31536000",
			"--rpc-timeout is 31536000 s, a year, as 0 means: a run in which a process hangs may last that long"},
		{"--rpc_timeout 0",
			"--rpc-timeout is 31536000 s, a year, as 0 means: a run in which a process hangs may last that long"},
		{"--cuda_seed 0", "--cuda-seed has no effect: there are no CUDA ranks"},
	} {
		t.Run(test.flags, func(t *testing.T) {
			exp := mustResolve(t, nil, strings.Fields(test.flags))
			if got := strings.Join(exp.Warnings, "; "); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.flags, got, test.want)
			}
		})
	}
}

func TestPluginsOfTheirOwn(t *testing.T) {
	inFolder(t, map[string]string{"mine.json": `{
		"plugins": {"other": {"command": ["./other"]}},
		"hook_state_map": {"mine": {"plugin": "other"}},
		"server_map": {"ghost": {"plugin": "builtin"}},
		"trainer_map": {"far": {"plugin": "other"}},
		"model_map": {"deep": {"plugin": "other"}}
	}`})
	for flags, want := range map[string]string{
		"--hook-state mine":                   "hook_state mine is of plugin other but trainer ddp is of plugin builtin: they must be of the same plugin",
		"--server ghost":                      "plugin builtin does not provide server ghost, though mine.json says so",
		"--trainer batch_update --model deep": "server batch_update is of plugin builtin but model deep is of plugin other: a server of parameters holds the model, so they must be of the same plugin",
		"--trainer far":                       "plugin other, of trainer far, cannot be asked for its parts: no such program",
	} {
		t.Run(flags, func(t *testing.T) {
			_, err := resolve(t, nil, append(strings.Fields(flags), "--registry", "mine.json"))
			if err == nil || err.Error() != want {
				t.Errorf("%s\n got %v\nwant %s", flags, err, want)
			}
		})
	}
}

// A trainer of another plugin needs no in-trainer parts. If its plugin includes psbench's parts, the trainer has them
// in its own process.
func TestTrainerOfAnotherPlugin(t *testing.T) {
	inFolder(t, map[string]string{
		"alone.json":   `{"plugins": {"alone": {"command": ["x"]}}, "trainer_map": {"solo": {"plugin": "alone"}}}`,
		"linking.json": `{"plugins": {"linking": {"command": ["x"], "includes": ["builtin"]}}, "trainer_map": {"solo": {"plugin": "linking"}}}`,
		"lying.json":   `{"plugins": {"alone": {"command": ["x"], "includes": ["builtin"]}}, "trainer_map": {"solo": {"plugin": "alone"}}}`,
	})
	alone := mustResolve(t, nil, []string{"--trainer=solo", "--registry=alone.json"})
	if len(alone.InTrainer) != 0 {
		t.Errorf("a trainer without in-trainer parts is to use %v", alone.InTrainer)
	}
	if v := value(alone, "hook_state"); v.Value != "" || v.Origin != "derived: the trainer has its own" {
		t.Errorf("hook_state is %+v", v)
	}
	linking := mustResolve(t, nil, []string{"--trainer=solo", "--registry=linking.json"})
	if linking.InTrainer[sdk.KindHookState] != "basic" ||
		!linking.Parts[sdk.KindTrainer].Plugin.Has(linking.Parts[sdk.KindHook].Plugin.Name) {
		t.Errorf("a trainer that includes psbench's parts has %v, hook %+v", linking.InTrainer,
			linking.Parts[sdk.KindHook])
	}
	for flags, want := range map[string]string{
		"--registry=alone.json --hook-state basic": "hook_state basic is of plugin builtin but trainer solo is of plugin alone: they must be of the same plugin",
		"--registry=lying.json":                    "plugin alone does not provide ddp_model basic, though lying.json says so",
	} {
		t.Run(flags, func(t *testing.T) {
			_, err := resolve(t, nil, append(strings.Fields(flags), "--trainer=solo"))
			if err == nil || err.Error() != want {
				t.Errorf("%s\n got %v\nwant %s", flags, err, want)
			}
		})
	}
}
