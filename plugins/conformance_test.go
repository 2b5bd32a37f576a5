package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest"
)

// said has options for the parts whose declaration is incomplete.
var said = map[string][]plugintest.Option{
	"trainer ddp": {
		plugintest.InTrainer(sdk.KindDDPModel, "basic"), plugintest.InTrainer(sdk.KindHookState, "basic"),
		plugintest.InTrainer(sdk.KindIterationStep, "basic"), plugintest.InTrainer(sdk.KindPreprocessData, "dummy"),
	},
	"data criteo": {plugintest.Inputs(sdk.InputSpec{Features: 13, Tables: slices.Repeat([]int{100}, 26), Classes: 2, Targets: 1})},
	"data inline": {plugintest.Settings(`{"inputs": [[1, 2], [], [3]], "targets": [0, 1, 0]}`)},
	"model mlp":   {plugintest.Settings(`{"sizes": [5, 4, 3]}`)},
	"model dlrm":  {plugintest.Settings(`{"table_rows": [50, 7], "dense_features": 5, "embedding_dim": 4, "bottom_layers": [8, 4], "top_layers": [8, 1]}`)},
	"model dummy": {plugintest.Settings(`{"num_embeddings": 20, "embedding_dim": 6, "dense_input_size": 6, "dense_output_size": 6}`)},
}

// All of psbench's own parts pass the checks for parts from outside.
func TestConformance(t *testing.T) {
	file := filepath.Join(t.TempDir(), "three.csv")
	if err := os.WriteFile(file, []byte("3,1,0\n1,4,1\n2,2,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said["data file"] = []plugintest.Option{plugintest.Settings(fmt.Sprintf(`{"path": %q}`, file))}
	for _, part := range Parts() {
		if part.InTrainer() {
			continue
		}
		name := string(part.Kind) + " " + part.Key
		options := said[name]
		if raceDetector { // a huge batch has no more goroutines than a small one
			options = append(options, plugintest.Largest(64))
		}
		t.Run(name, func(t *testing.T) { plugintest.Check(t, part, options...) })
	}
}
