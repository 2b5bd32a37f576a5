//go:build !race

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// torchRegistry returns a registry file with the models of the given scripts. Each model has the name of its script.
func torchRegistry(t *testing.T, scripts ...string) string {
	t.Helper()
	python, err := findPython("torch")
	if err != nil {
		t.Skip(err)
	}
	plugins, parts := map[string]any{}, map[string]any{}
	for _, script := range scripts {
		path, err := filepath.Abs(script)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(script), ".py")
		plugins[name] = map[string]any{"command": []string{python, path}}
		parts[name] = map[string]any{"plugin": name}
	}
	text, err := json.Marshal(map[string]any{"plugins": plugins, "model_map": parts, "criterion_map": parts})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "registry.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The reference model in torch computes the expected values of the reference cases with all their hooks. The model
// works with psbench's optimizer and with torch's own. Each trainer starts a separate torch, so each combination has
// only one case.
func TestTorchReproducesTheReference(t *testing.T) {
	registry := torchRegistry(t, "../../python/examples/reference_model.py", "testdata/torch/stepping.py")
	for _, c := range []struct{ model, transport, cases string }{
		{"reference_model", "shm", "rpc_average_dense_t2_s1 allreduce_sparse_t3 sparse_rpc_average_t4_s2"},
		{"stepping", "tcp", "ragged_last_batch_t1_s1 allreduce_dense_t2 sparse_rpc_average_t4_s2"},
	} {
		t.Run(c.model+"/"+c.transport, func(t *testing.T) {
			cases := strings.Fields(c.cases)
			if testing.Short() {
				cases = cases[:1]
			}
			args := []string{"verify", "--registry", registry, "--model", c.model, "--transport", c.transport}
			for _, name := range cases {
				args = append(args, "../../core/measure/verify/reference/"+name+".json")
			}
			status, stdout, stderr := psbenchMain(t, args...)
			t.Log(stdout)
			if status != 0 || strings.Count("\n"+stdout, "\nok ") != len(cases) {
				t.Errorf("exit status %d\n%s", status, stderr)
			}
		})
	}
}

// A convolutional network learns the built-in digits in one epoch with torch's loss.
func TestConvolutionLearnsDigits(t *testing.T) {
	registry := torchRegistry(t, "../../python/examples/convnet.py")
	epochs := evaluated(t,
		"--registry "+registry+
			" --model convnet --create-criterion convnet --data DigitSample --epochs 1 --warmup none"+
			" --ntrainer 1 --batch-size 25 --set data.held_out=0.1 --set trainer.optimizer=adam --set trainer.lr=0.003")
	if last := epochs[len(epochs)-1]; *last.Accuracy < 0.95 {
		t.Errorf("an epoch gives %+v", last)
	}
}
