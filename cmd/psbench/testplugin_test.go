package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

// testPluginArgument makes the test executable a plugin with data that does what its
// settings say while it loads, and a server whose constructor does not return.
const testPluginArgument = "__test-plugin"

func serveTestPlugin() {
	plugin.Serve(
		sdk.NewData("actor", script{}, newActor),
		sdk.NewServer("hanging", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) { select {} }),
	)
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
	return &sdk.Samples{Batch: sdk.Batch{Indices: []int64{0, 1, 2, 3}, Offsets: []int64{0, 1, 2, 3, 4}, Targets: []int64{3, 2, 1, 0}}}, nil
}

// withActor are the arguments for a run whose data is the test plugin's.
func withActor(t *testing.T, s script) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := json.Marshal(map[string]any{
		"plugins":    map[string]any{"test": map[string]any{"command": []string{exe, testPluginArgument}}},
		"data_map":   map[string]any{"actor": map[string]any{"plugin": "test"}},
		"server_map": map[string]any{"hanging": map[string]any{"plugin": "test"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"data": "actor", "set": map[string]any{"data": s}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{}
	for flag, text := range map[string][]byte{"--registry": registry, "--config": config} {
		file := filepath.Join(dir, flag[2:]+".json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, flag, file)
	}
	return args
}
