//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile are words that must not reach a terminal unchanged. Some contain control characters or a change of the text
// direction. Others are very long.
var hostile = map[string]string{
	"controls": "x\x1b[31m\r\nFAKE \u202e\u0085y",
	"long":     strings.Repeat("word", 25_000),
	"digits":   "1" + strings.Repeat("0", 100_000),
}

// An error that names foreign words is one short line without control characters, whatever the source of the words.
func TestWordsFromOutside(t *testing.T) {
	for _, c := range []struct {
		args    string // X stands for the words, F for a file
		environ string
		file    string // JSON in which X stands for the words
	}{
		{args: "X"},
		{args: "--X"},
		{args: "--X=1"},
		{args: "list X"},
		{args: "list X X"},
		{args: "config --format X"},
		{args: "config --epochs X"},
		{args: "config --quiet=X"},
		{args: "config --transport X"},
		{args: "config --listen X"},
		{args: "config --isolate X"},
		{args: "config --trainer X"},
		{args: "config --server X"},
		{args: "config --model X"},
		{args: "config --data X"},
		{args: "config --set X"},
		{args: "config --set X=1"},
		{args: "config --set X.lr=1"},
		{args: "config --set trainer.X=1"},
		{args: "config --set trainer.lr=X,"},
		{args: "config --set model.sparse=X"},
		{args: "config --config X"},
		{args: "config --registry X"},
		{args: "config --model-config-path X"},
		{args: "config --server-config-path X"},
		{args: "comm X"},
		{args: "comm --sizes X"},
		{args: "comm --format X"},
		{args: "comm --rounds X"},
		{args: "verify X"},
		{args: "config", environ: "PSBENCH_X=1"},
		{args: "config", environ: "PSBENCH_EPOCHS=X,"},
		{args: "config", environ: "PSBENCH_SET=X"},
		{args: "config", environ: "PSBENCH_SET=data.inputs=[X"},
		{args: "config", environ: "PSBENCH_SET=data.inputs=[1] X"},
		{args: "config", environ: "PSBENCH_PLUGIN=X"},
		{args: "config", environ: "OMP_NUM_THREADS=9999999,X"},
		{args: "config --config F", file: `X`},
		{args: "config --config F", file: `{"X": 1}`},
		{args: "config --config F", file: `{"epochs": "X"}`},
		{args: "config --config F", file: `{"isolate": ["X"]}`},
		{args: "config --config F", file: `{"set": "X"}`},
		{args: "config --config F", file: `{"set": {"X": {}}}`},
		{args: "config --config F", file: `{"set": {"trainer": "X"}}`},
		{args: "config --config F", file: `{"set": {"trainer": {"X": 1}}}`},
		{args: "config --config F", file: `{"set": {"trainer": {"lr": "X"}}}`},
		{args: "config --config F", file: `{"set": {"trainer": {"lr": [{"X": "X"}]}}}`},
		{args: "config --registry F", file: `{"X": 1}`},
		{args: "config --registry F", file: `{"plugins": {"X": {"command": ["a"]}}}`},
		{args: "config --registry F", file: `{"plugins": {"a": {"command": ["a"], "sha256": "X"}}}`},
		{args: "config --registry F", file: `{"server_map": {"X": {"plugin": "builtin"}}}`},
		{args: "config --registry F", file: `{"server_map": {"a": {"plugin": "X"}}}`},
		{args: "config --registry F", file: `{"server_map": {"a": {"plugin": "builtin", "aliases": ["X"]}}}`},
		{args: "config --registry F", file: `{"server_map": {"a": {"plugin": "builtin", "serves": "X"}}}`},
		{args: "config --registry F", file: `{"ddp_hook_map": {"a": {"plugin": "builtin", "links": ["X"]}}}`},
		{args: "config --registry F", file: `{"trainer_map": {"a": {"plugin": "builtin", "defaults": {"X": 1}}}}`},
		{args: "config --model-config-path F", file: `{"X": 1}`},
		{args: "config --model-config-path F", file: `{"X": {"X": 1}}`},
		{args: "config --model-config-path F", file: `{"X": {"model_class": "X"}}`},
		{args: "config --model-config-path F", file: `{"X": {"model_class": "dummy", "configurations": {"X": "X"}}}`},
		{args: "config --model-config-path F --model nope", file: `{"X": {"model_class": "dummy"}}`},
		{args: "config --server-config-path F", file: `{"X": {}}`},
		{args: "config --server-config-path F", file: `{"average": "X"}`},
		{args: "config --server-config-path F", file: `{"average": {"X": 1}}`},
		{args: "verify F", file: `{"X": 1}`},
		{args: "verify F", file: `{"kind": "X"}`},
		{args: "verify F", file: `{"kind": "ddp", "X": 1}`},
		{args: "verify F", file: `{"kind": "ddp", "name": "X"}`},
	} {
		for name, words := range hostile {
			t.Run(c.args+" "+c.environ+" "+c.file+" "+name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "f.json")
				inJSON, err := json.Marshal(words)
				if err != nil {
					t.Fatal(err)
				}
				content := strings.ReplaceAll(c.file, "X", string(inJSON[1:len(inJSON)-1]))
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				var args []string
				for arg := range strings.FieldsSeq(c.args) {
					args = append(args, strings.NewReplacer("X", words, "F", file).Replace(arg))
				}
				var stdout, stderr bytes.Buffer
				a := &app{stdout: &stdout, stderr: &stderr,
					environ: []string{strings.ReplaceAll(c.environ, "X", words)}}
				status := a.run(t.Context(), args)
				line, whole := strings.CutSuffix(stderr.String(), "\n")
				switch {
				case status == 0 || stdout.Len() > 0:
					t.Errorf("status %d, output %.200q", status, stdout.String())
				case !whole || !strings.HasPrefix(line, "psbench: ") || len(line) > 2500:
					t.Errorf("%d bytes: %.500q", len(line), line)
				case !utf8.ValidString(line) ||
					strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }):
					t.Errorf("not fit for a terminal: %.500q", line)
				}
			})
		}
	}
}
