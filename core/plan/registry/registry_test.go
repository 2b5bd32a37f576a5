package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/sdk"
)

// This test lists the keys and aliases that the built-in registry must have. The aliases are the keys of the original
// benchmark.
func TestBuiltin(t *testing.T) {
	reg, err := Load(psbench.Registry, "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[sdk.Kind]string{
		sdk.KindServer:         "AverageBatchParameterServer AverageParameterServer BatchUpdateParameterServer EmbeddingBag average average_batch batch_update embedding",
		sdk.KindTrainer:        "DdpTrainer HybridTrainer batch_update ddp hybrid",
		sdk.KindHook:           "allreduce allreduce_hook hybrid hybrid_hook noop rpc rpc_hook sparse_rpc sparse_rpc_hook",
		sdk.KindCriterion:      "bce cel l1 mse nll",
		sdk.KindData:           "DummyData bags clicks criteo dense dummy file idx inline mnist",
		sdk.KindModel:          "DummyModel dlrm dummy mlp",
		sdk.KindDDPModel:       "basic basic_ddp_model",
		sdk.KindHookState:      "BasicHookState basic",
		sdk.KindIterationStep:  "basic basic_iteration_step",
		sdk.KindPreprocessData: "dummy preprocess_dummy_data",
	}
	got := map[sdk.Kind]string{}
	for _, kind := range Kinds {
		got[kind] = strings.Join(reg.Names(kind), " ")
		for _, item := range reg.Items(kind) {
			if item.Plugin.Name != Builtin || item.Plugin.Command != nil || item.Description == "" {
				t.Errorf("unexpected item %+v", item)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLookup(t *testing.T) {
	reg, err := Load(psbench.Registry, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"average": "average", "AverageBatchParameterServer": "average_batch"} {
		t.Run(name, func(t *testing.T) {
			item, err := reg.Lookup(sdk.KindServer, name)
			if err != nil || item.Key != key {
				t.Errorf("%s is %q, %v", name, item.Key, err)
			}
		})
	}
	for name, want := range map[string]string{
		"avarage": `unknown server "avarage"; did you mean "average"? the keys are average, average_batch, batch_update, embedding`,
		"zzz":     `unknown server "zzz"; the keys are average, average_batch, batch_update, embedding`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := reg.Lookup(sdk.KindServer, name); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesAdd(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	path := write(t, "mine.json", `{
		"plugins": {
			"beside": {"command": ["bin/beside", "-v"], "sha256": "`+sum+`"},
			"elsewhere": {"command": ["/opt/elsewhere"], "includes": ["builtin", "beside"]}
		},
		"server_map": {"async": {"plugin": "beside", "aliases": ["Async"], "description": "no barrier", "serves": "parameters", "asynchronous": true}},
		"trainer_map": {"eager": {"plugin": "elsewhere", "needs": "tables", "defaults": {"ntrainer": 3, "server": "async"},
			"bounds": {"model.width": "data.width", "data.rows": "server.rows"}}},
		"ddp_hook_map": {"quantized": {"plugin": "elsewhere", "links": ["server", "default"]},
			"silent": {"plugin": "beside", "links": []}, "plain": {"plugin": "beside"}}
	}`)
	second := write(t, "second.json", `{"model_map": {"cnn": {"plugin": "beside"}}}`)
	reg, err := Load(psbench.Registry, "", path, second)
	if err != nil {
		t.Fatal(err)
	}
	beside := Plugin{Name: "beside", Command: []string{filepath.Join(filepath.Dir(path), "bin/beside"), "-v"},
		SHA256: sum, File: path}
	elsewhere := Plugin{Name: "elsewhere", Command: []string{"/opt/elsewhere"}, Includes: []string{Builtin, "beside"},
		File: path}
	for _, want := range []Item{
		{Kind: sdk.KindServer, Key: "async", Aliases: []string{"Async"}, Description: "no barrier", Plugin: beside,
			Serves: sdk.ServiceParameters, Asynchronous: new(true), File: path},
		{
			Kind: sdk.KindTrainer, Key: "eager", Plugin: elsewhere, Needs: sdk.ServiceTables,
			Defaults: map[string]any{"ntrainer": json.Number("3"), "server": "async"}, File: path,
			Bounds: []Bound{
				{SettingName{sdk.KindData, "rows"}, SettingName{sdk.KindServer, "rows"}},
				{SettingName{sdk.KindModel, "width"}, SettingName{sdk.KindData, "width"}},
			},
		},
		{
			Kind: sdk.KindHook, Key: "quantized", Plugin: elsewhere,
			Links: &Links{Server: true, Default: true}, File: path,
		},
		{Kind: sdk.KindHook, Key: "silent", Plugin: beside, Links: &Links{}, File: path},
		{Kind: sdk.KindHook, Key: "plain", Plugin: beside, File: path},
		{Kind: sdk.KindModel, Key: "cnn", Plugin: beside, File: second},
	} {
		t.Run(string(want.Kind), func(t *testing.T) {
			got, err := reg.Lookup(want.Kind, want.Key)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestFileErrors(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"malformed", "{\n x",
			"FILE, line 2, column 2: invalid character 'x' looking for beginning of object key string"},
		{"unknown map", `{"servers_map": {}}`,
			`FILE, line 1, column 2: unknown key "servers_map"; did you mean "server_map"?`},
		{"unknown field", `{"server_map": {"a": {"plugin": "builtin", "alias": []}}}`,
			`FILE, line 1, column 44: unknown key "alias" of server_map.a; did you mean "aliases"?`},
		{"links outside hooks", `{"server_map": {"a": {"plugin": "builtin", "links": []}}}`,
			`FILE, line 1, column 44: unknown key "links" of server_map.a; the keys are aliases, asynchronous, description, plugin, serves`},
		{"key taken", `{"server_map": {"average": {"plugin": "builtin"}}}`,
			`server_map.average of FILE: the server name "average" is already in server_map.average of the built-in registry`},
		{"alias taken", `{"server_map": {"a": {"plugin": "builtin", "aliases": ["AverageParameterServer"]}}}`,
			`server_map.a of FILE: the server name "AverageParameterServer" is already in server_map.average of the built-in registry`},
		{"alias like own key", `{"server_map": {"a": {"plugin": "builtin", "aliases": ["a"]}}}`,
			`server_map.a of FILE: the server name "a" is already in server_map.a of FILE`},
		{"unknown plugin", `{"server_map": {"a": {"plugin": "bultin"}}}`,
			`server_map.a of FILE names an unknown plugin "bultin"; did you mean "builtin"?`},
		{"no plugin", `{"server_map": {"a": {}}}`, `server_map.a of FILE names no plugin: the plugins are builtin`},
		{"plugin taken", `{"plugins": {"builtin": {"command": ["x"]}}}`,
			`plugin "builtin" of FILE is already in the built-in registry: give it another name`},
		{"no command", `{"plugins": {"p": {"command": []}}}`,
			`plugin "p" of FILE has no command: give the program and its arguments`},
		{"no checksum", `{"plugins": {"p": {"command": ["x"], "sha256": "abc"}}}`,
			`plugin "p" of FILE has the sha256 "abc", which must be 64 digits of 0-9 and a-f`},
		{"includes what is not there", `{"plugins": {"p": {"command": ["x"], "includes": ["bultin"]}}}`,
			`includes of plugin "p" of FILE names an unknown plugin "bultin"; did you mean "builtin"?`},
		{"plugin's name", `{"plugins": {"p q": {"command": ["x"]}}}`,
			`plugin "p q" of FILE must be named with at most 100 letters, digits, _ and -`},
		{"key's name", `{"server_map": {"a.b": {"plugin": "builtin"}}}`,
			`server_map.a.b of FILE: the name "a.b" must be made of at most 100 letters, digits, _ and -`},
		{"unknown service", `{"server_map": {"a": {"plugin": "builtin", "serves": "gradient"}}}`,
			`server_map.a of FILE has "gradient" in serves, which must be gradients, tables or parameters`},
		{"unknown need", `{"trainer_map": {"a": {"plugin": "builtin", "needs": "all"}}}`,
			`trainer_map.a of FILE has "all" in needs, which must be gradients, tables or parameters`},
		{"needs of a server", `{"server_map": {"a": {"plugin": "builtin", "needs": "tables"}}}`,
			`FILE, line 1, column 44: unknown key "needs" of server_map.a; the keys are aliases, asynchronous, description, plugin, serves`},
		{"services of a model", `{"model_map": {"a": {"plugin": "builtin", "serves": "tables"}}}`,
			`FILE, line 1, column 43: unknown key "serves" of model_map.a; the keys are aliases, defaults, description, plugin`},
		{"bound of no setting", `{"trainer_map": {"a": {"plugin": "builtin", "bounds": {"rows": "server.rows"}}}}`,
			`trainer_map.a of FILE has "rows" in bounds, which must be kind.setting, as in server.num_embeddings`},
		{"limit of no kind", `{"trainer_map": {"a": {"plugin": "builtin", "bounds": {"data.rows": "sever.rows"}}}}`,
			`trainer_map.a of FILE has "sever.rows" in bounds, which must be kind.setting, as in server.num_embeddings`},
		{"limit without a name", `{"trainer_map": {"a": {"plugin": "builtin", "bounds": {"data.rows": "server."}}}}`,
			`trainer_map.a of FILE has "server." in bounds, which must be kind.setting, as in server.num_embeddings`},
		{"defaults as a list", `{"trainer_map": {"a": {"plugin": "builtin", "defaults": [1]}}}`,
			`FILE, line 1, column 57: the value must be an object, not array`},
		{"unknown link", `{"ddp_hook_map": {"h": {"plugin": "builtin", "links": ["net"]}}}`,
			`ddp_hook_map.h of FILE has the link "net", which must be server, group or default`},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, "mine.json", test.content)
			_, err := Load(psbench.Registry, "", path)
			if err == nil || strings.ReplaceAll(err.Error(), path, "FILE") != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}
