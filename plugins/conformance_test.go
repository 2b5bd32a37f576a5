package plugins

import (
	"testing"

	"github.com/psbench/psbench/sdk/plugintest"
)

// what is said of parts whose declaration does not say enough.
var said = map[string][]plugintest.Option{
	"model mlp":   {plugintest.Settings(`{"sizes": [5, 4, 3]}`)},
	"model dummy": {plugintest.Settings(`{"num_embeddings": 20, "embedding_dim": 6, "dense_input_size": 6, "dense_output_size": 6}`)},
}

// All of psbench's own parts keep the contracts that parts from outside are held to.
func TestConformance(t *testing.T) {
	for _, part := range Parts() {
		if part.InTrainer() {
			continue
		}
		name := string(part.Kind) + " " + part.Key
		t.Run(name, func(t *testing.T) { plugintest.Check(t, part, said[name]...) })
	}
}
