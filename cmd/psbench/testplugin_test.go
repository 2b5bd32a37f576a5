package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

// testPluginArgument makes the test executable act as a plugin with parts for tests. The data of the plugin follows a
// script while it loads. One server never returns from its constructor, and one makes a single mistake. One hook is
// slow on some ranks, and one feeds its error back. Other parts record their Close.
const testPluginArgument = "__test-plugin"

func serveTestPlugin() {
	plugin.Serve(append(closingParts(),
		sdk.NewData("actor", script{}, newActor),
		sdk.NewServer("hanging", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) { select {} }),
		sdk.NewElementwiseServer("slipping", sdk.OnArrival, slip{}, newSlipping),
		sdk.Asynchronous(sdk.NewServer("echo", struct{}{}, newEcho)),
		sdk.NewHook("tardy", struct{}{}, newTardy, sdk.LinkServer),
		sdk.NewHook("feedback", struct{}{}, newFeedback, sdk.LinkGroup),
	)...)
}

type script struct {
	Say   string `json:"say" doc:"what is printed, as often as repeat says"`
	Times int    `json:"times" doc:"how often"`
	Panic string `json:"panic" doc:"what the part dies of"`
	Until string `json:"until" doc:"file that is waited for"`
}

type actor struct{ script }

func newActor(s script, _ sdk.DataEnv) (sdk.Data, error) { return actor{s}, nil }

func (a actor) Load() (*sdk.Samples, error) {
	for i := range a.Times {
		fmt.Println(a.Say, i)
	}
	if a.Panic != "" {
		panic(a.Panic)
	}
	for end := time.Now().Add(time.Minute); a.Until != "" && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(a.Until); err == nil {
			break
		}
	}
	return &sdk.Samples{
		Batch: sdk.Batch{Indices: []int64{0, 1, 2, 3}, Offsets: []int64{0, 1, 2, 3, 4}, Targets: []int64{3, 2, 1, 0}},
	}, nil
}

// tardy is a hook that waits before it pushes. The wait grows with the rank.
type tardy struct{ env sdk.HookEnv }

func newTardy(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) { return tardy{env}, nil }

func (h tardy) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	time.Sleep(time.Duration(h.env.Rank) * 10 * time.Millisecond)
	return h.env.Server.PushPull(state.Batch(), b)
}

func (tardy) Reset() {}

// withActor returns the arguments of a run that uses the test plugin's data.
func withActor(t *testing.T, s script) []string {
	t.Helper()
	config, err := json.Marshal(map[string]any{"data": "actor", "set": map[string]any{"data": s}})
	if err != nil {
		t.Fatal(err)
	}
	return append(withTestPlugin(t), "--config", inFile(t, config))
}

// withTestPlugin returns the arguments of a run that may use parts of the test plugin.
func withTestPlugin(t *testing.T) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := json.Marshal(map[string]any{
		"plugins":  map[string]any{"test": map[string]any{"command": []string{exe, testPluginArgument}}},
		"data_map": map[string]any{"actor": map[string]any{"plugin": "test"}},
		"server_map": map[string]any{"hanging": map[string]any{"plugin": "test"},
			"slipping": map[string]any{"plugin": "test"}, "echo": map[string]any{"plugin": "test"}},
		"ddp_hook_map": map[string]any{"tardy": map[string]any{"plugin": "test"},
			"feedback": map[string]any{"plugin": "test"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--registry", inFile(t, registry)}
}

// inFile writes a JSON file and returns its path.
func inFile(t *testing.T, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
