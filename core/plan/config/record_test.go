package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
)

// drawFlags draws a command line. The options may contradict each other.
func drawFlags(t *rapid.T) []string {
	systems := []string{"", "--server=AverageBatchParameterServer --set=server.verbose=true", "--trainer=hybrid",
		"--trainer=BatchUpdateTrainer --server=batch_update"}
	flags := strings.Fields(rapid.SampledFrom(systems).Draw(t, "system"))
	// Any two options of a group exclude each other. If options were drawn independently, too few command lines would
	// be valid.
	for _, alternatives := range [][]string{
		{"", "--epochs=1", "--epochs=1000000000", "--iterations=37", "--seconds=0.5", "--seconds=31536000"},
		{"", "--warmup=full", "--warmup=none", "--warmup=7", "--warmup-cycles=0", "--warmup-cycles=3"},
	} {
		flags = append(flags, strings.Fields(rapid.SampledFrom(alternatives).Draw(t, "length"))...)
	}
	choices := map[string][]string{
		"--nserver": {"0", "2"}, "--ntrainer": {"4"}, "--batch-size": {"3"},
		"--torch-seed": {"18446744073709551615"}, "--rpc-timeout": {"7"},
		"--transport": {"tcp", "shm", "grpc"}, "--listen": {"127.0.0.2", "127.0.0.1"},
		"--isolate": {"hook", "all", "model,criterion"}, "--ddp-hook": {"allreduce", "noop", "rpc"},
		"--model": {"Small", "DummyModelSparse", "dummy"},
		"--data":  {"DummyData2", "bags"}, "--create-criterion": {"l1"}, "--hook-state": {"basic"},
		"--cuda-seed":           {"3"},
		"--filestore":           {"f"},
		"--trainer-config-path": {"ddp.json"}, "--json": {"out.json"}, "--stats": {"original"}, "--report": {"full"},
		"--quiet":          {"true"},
		"--set=trainer.lr": {"0.25", "1e-7"}, "--set=model.num_embeddings": {"9007199254740993"},
	}
	for _, flag := range slices.Sorted(maps.Keys(choices)) {
		values := choices[flag]
		if i := rapid.IntRange(-3, len(values)-1).Draw(t, flag); i >= 0 {
			flags = append(flags, flag+"="+values[i])
		}
	}
	return append(flags, "--model-config-path=mine.json")
}

// The output of config --format json and the values that a result records lead to the same experiment.
func TestFileLeadsToTheSame(t *testing.T) {
	schema, err := validator.NewCompiler().Compile(filepath.Join(schemaFolder, "config.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, map[string]string{
		"ddp.json":  `{"DdpTrainer": {"lr": 0.6, "bucket_bytes": 6}}`,
		"mine.json": `{"Small": {"model_class": "DummyModel", "configurations": {"num_embeddings": 5, "embedding_dim": 6}}}`,
	})
	same := func(t *rapid.T, want, got *Experiment) {
		// A value that the user left to psbench is recorded as the value that psbench chose.
		ignored := cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == ".Warnings" || p.Last().String() == ".Auto"
		}, cmp.Ignore())
		origin := cmp.Options{cmpopts.IgnoreFields(result.Value{}, "Origin"),
			cmpopts.IgnoreFields(Experiment{}, "ListenName")}
		output := cmpopts.IgnoreSliceElements(func(v result.Value) bool {
			o, _ := option.Of(v.Key)
			return o.Group == "output" || v.Key == "config"
		})
		if diff := cmp.Diff(want, got, ignored, origin, output, sameFabric, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the experiment differs (-want +got):\n%s", diff)
		}
		if len(want.Warnings) == 0 && len(got.Warnings) > 0 {
			t.Fatalf("warnings %v", got.Warnings)
		}
	}
	resolved := 0
	rapid.Check(t, func(rt *rapid.T) {
		want, err := resolve(t, nil, drawFlags(rt))
		if err != nil {
			rt.Skip(err)
		}
		resolved++
		plain, err := json.Marshal(File(want.Values))
		if err != nil {
			rt.Fatal(err)
		}
		instance, err := validator.UnmarshalJSON(bytes.NewReader(plain))
		if err != nil {
			rt.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			rt.Fatal(err)
		}
		whole, err := json.Marshal(result.Result{Schema: result.Schema, Config: want.Values})
		if err != nil {
			rt.Fatal(err)
		}
		for _, file := range [][]byte{plain, whole} {
			if err := os.WriteFile("again.json", file, 0o600); err != nil {
				rt.Fatal(err)
			}
			got, err := resolve(t, nil, []string{"--config=again.json"})
			if err != nil {
				rt.Fatal(err)
			}
			same(rt, want, got)
		}
	})
	if resolved < 10 {
		t.Errorf("only %d command lines fit together", resolved)
	}
}

// Another layer may choose other parts than the result. The result's settings for its own parts are then ignored.
func TestResultWithOtherParts(t *testing.T) {
	exp := mustResolve(t, nil,
		[]string{"--set=server.verbose=true", "--set=model.embedding_dim=7", "--set=trainer.lr=0.5"})
	whole, err := json.Marshal(result.Result{Schema: result.Schema, Config: exp.Values})
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, map[string]string{"run.json": string(whole)})
	for flags, want := range map[string]map[string]any{
		"": {"server.verbose": true, "model.embedding_dim": json.Number("7"),
			"trainer.lr": json.Number("0.5")},
		"--server average_batch": {"server": "average_batch", "model.embedding_dim": json.Number("7")},
		"--model mlp":            {"model": "mlp", "model.embedding_dim": nil, "trainer.lr": json.Number("0.5")},
		"--set trainer.lr=2 --epochs 1": {"trainer.lr": json.Number("2"), "epochs": json.Number("1"),
			"server.verbose": true},
		"--nserver 0 --ddp-hook noop": {"server": "", "server.verbose": nil},
	} {
		t.Run(flags, func(t *testing.T) {
			exp := mustResolve(t, nil, append(strings.Fields(flags), "--config=run.json"))
			for key, v := range want {
				if diff := cmp.Diff(v, value(exp, key).Value); diff != "" {
					t.Errorf("%s: %s differs:\n%s", flags, key, diff)
				}
			}
			if strings.Contains(strings.Join(exp.Warnings, ""), "set.server") {
				t.Errorf("%s: warnings %q", flags, exp.Warnings)
			}
		})
	}
}

func TestRecordedErrors(t *testing.T) {
	large :=
		`{"schema": "psbench.result/2", "config": [{"key": "epochs", "value": 3, "origin": "default"}], "series": [` +
			strings.Repeat(" ", 64<<20)
	inFolder(t, map[string]string{
		"comm.json": `{"schema": "psbench.comm/1", "rows": []}`, "none.json": `{"schema": "psbench.result/1"}`,
		"odd.json": `{"config": {}, "schema": "psbench.result/1"}`, "other.json": `{"schema": "else"}`,
		"unknown.json": `{"schema": "psbench.result/1", "config": [{"key": "epoch", "value": 1}]}`,
		"cut.json":     `{"schema": "psbench.result/1", "conf`, "large.json": large,
	})
	for file, want := range map[string]string{
		"comm.json":    `--config: file comm.json has the schema "psbench.comm/1", but only results of psbench.result have a configuration`,
		"none.json":    "--config: file none.json is a result, but has no config that can be read",
		"odd.json":     "--config: file odd.json is a result, but has no config that can be read",
		"other.json":   `unknown key "schema" in other.json; `,
		"unknown.json": `unknown key "epoch" in unknown.json; did you mean "epochs"?`,
		"cut.json":     "--config: cut.json, line 1, column ",
		"large.json":   "",
	} {
		t.Run(file, func(t *testing.T) {
			exp, err := resolve(t, nil, []string{"--config", file})
			if want == "" {
				if err != nil || exp.Length.Epochs != 3 {
					t.Errorf("%s: %v", file, err)
				}
			} else if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s\n got %v\nwant %s", file, err, want)
			}
		})
	}
}

func FuzzRecorded(f *testing.F) {
	f.Add([]byte(`{"schema": "psbench.result/1", "config": [{"key": "epochs", "value": 3}]}`))
	f.Add([]byte(`{"config": [{"key": "trainer.lr", "value": [null]}], "schema": "psbench.result/9"}`))
	f.Add([]byte(`{"schema": "psbench.comm/1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, ok, err := recorded(strconv.Quote("f"), data)
		if ok != (values != nil) || ok && err != nil {
			t.Errorf("values %v, a result: %v, %v", values, ok, err)
		}
	})
}
