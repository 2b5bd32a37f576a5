//go:build !race

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
)

// The final output of a run fits a terminal of 25 lines and 80 columns, including the prompt. The output ends with
// the main results.
func TestTheEndOfARunFitsTheTerminal(t *testing.T) {
	for args, last := range map[string]string{
		"--epochs 3": "loss        6.9",
		"--trainer hybrid --ntrainer 2 --nserver 2 --set server.embedding_dim=256 --epochs 3":      "loss        2.",
		"--trainer batch_update --ntrainer 8":                                                      "training    0.",
		"--model dlrm --epochs 1 --warmup 5 --set trainer.optimizer=adagrad --set trainer.lr=0.01": "evaluation  loss 0.",
		"--nserver 0 --ntrainer 4 --ddp-hook noop --epochs 20 --set model.dense_layers_count=1":    "loss        6.9",
	} {
		t.Run(args, func(t *testing.T) {
			screen := strings.ReplaceAll(onTerminal(t, 80, args+" --quiet"), "\r\n", "\n")
			if n := strings.Count(screen, "\n"); n > 24 {
				t.Errorf("%d lines:\n%s", n, screen)
			}
			for line := range strings.Lines(screen) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("a line has %d columns: %s", n, line)
				}
			}
			_, answer, found := strings.Cut(screen, "\n\nthroughput  ")
			for _, want := range []string{"per batch   ", last, "more        "} {
				if !found || !strings.Contains(answer, "\n"+want) {
					t.Errorf("the answer is not last, or has no %q:\n%s", want, screen)
				}
			}
			if waits := strings.Contains(answer, "\nstragglers  trainer"); waits == strings.Contains(args, "noop") {
				t.Errorf("who is connected waits, and nobody else:\n%s", screen)
			}
		})
	}
}

// The parts of an iteration add up to the whole iteration. Time that a busy machine takes between two parts belongs
// to no part, so the test allows a difference. With the default model this difference is about a ten thousandth.
func TestThePartsAreTheIteration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	if status, _, stderr := psbenchMain(t, "--quiet", "--epochs", "3", "--json", file); status != 0 {
		t.Fatal(stderr)
	}
	r, err := result.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	b := breakdown.Of(r)
	var parts []string
	for _, p := range b.Parts {
		parts = append(parts, p.Name)
	}
	if want := []string{"data", "forward", "backward", "exposed communication", "optimizer"}; !slices.Equal(parts,
		want) {
		t.Errorf("the parts are %q", parts)
	}
	if rest := b.Share(b.RestNS()); rest < 0 || rest > 0.2 || b.Iterations != 30 {
		t.Errorf("%.1f %% of %d iterations are in no part", 100*rest, b.Iterations)
	}
	if w := b.Waiting; w == nil || len(w.Last) == 0 {
		t.Errorf("the trainers of a server wait %+v", w)
	}
}
