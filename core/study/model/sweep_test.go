package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/golden"
)

// swept makes the folder of a sweep of three servers. The third server is skipped, and no run has started.
func swept(t *testing.T, repeats int) (dir string, p *sweep.Plan) {
	t.Helper()
	dir = t.TempDir()
	p = &sweep.Plan{
		Name:     "made",
		Axes:     []sweep.Axis{{Name: "server", Values: []string{"a", "b", "c"}}},
		Binaries: []sweep.Binary{{Name: "psbench", Path: "/bin/psbench", SHA256: strings.Repeat("ab", 32)}},
		Again:    true, Repeats: repeats, Seed: 7,
		Warnings: []string{"hook noop never uses the servers (in 2 of 3 cells)"},
	}
	for _, server := range p.Axes[0].Values {
		p.Cells = append(p.Cells, sweep.Cell{
			Name: "server=" + server, Values: []string{server}, Binary: "/bin/psbench",
			Parts:  map[string]string{"server": server},
			Config: map[string]any{"server": server, sweep.SeedKey: json.Number("5")},
		})
	}
	p.Cells[2].Skipped, p.Cells[2].Config = "a rule forbids it", nil
	p.Identify()
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir, p
}

// ran writes the folder of a turn.
func ran(t *testing.T, dir string, p *sweep.Plan, turn sweep.Turn) {
	t.Helper()
	f, err := folder.Create(filepath.Join(dir, turn.Folder))
	if err != nil {
		t.Fatal(err)
	}
	r := model.Measured(int(turn.Seed), model.Config("server", p.Cells[turn.Cell].Values[0]), []int64{1, 2}) // #nosec G115 -- small
	r.Schema, r.Warnings = result.Schema, []string{"hook noop never uses the servers"}
	if err := f.Write(r); err != nil {
		t.Fatal(err)
	}
}

// states describes the runs of each cell and of the A/A cell.
func states(s *model.Study) []string {
	var out []string
	for _, c := range slices.Concat(s.Cells, []*model.Cell{s.Again}) {
		out = append(out, fmt.Sprintf("%s %s: %d runs, %d waiting, %d failed%s", c.ID, c.Name, len(c.Runs), c.Waiting,
			len(c.Failed), c.Skipped))
	}
	return out
}

// The study counts every run of the plan as done, failed or waiting, whatever the journal and the folders contain.
func TestSweep(t *testing.T) {
	dir, p := swept(t, 5)
	w, err := journal.Create(filepath.Join(dir, "journal"), 1, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	note := func(turn sweep.Turn, state journal.State, reason string) {
		if err := w.Append(journal.Event{Run: turn.ID(), State: state, Reason: reason,
			Folder: turn.Folder}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 5 {
		for _, turn := range p.Turns(round) {
			switch {
			case round == 3 && !turn.Again && turn.Cell == 0:
				note(turn, journal.Failed, "trainer1 died")
			case round == 3 && turn.Again: // its folder is torn
				ran(t, dir, p, turn)
				note(turn, journal.Done, "")
				if err := os.WriteFile(filepath.Join(dir, turn.Folder, "result.json"), []byte(`{"schema"`),
					0o600); err != nil {
					t.Fatal(err)
				}
			case round == 3: // the journal lost its last line, about this run
				ran(t, dir, p, turn)
				note(turn, journal.Running, "")
			case round == 4 && turn.Cell == 1: // its folder was removed
				note(turn, journal.Done, "")
			case round == 4:
				note(turn, journal.Running, "") // the run has no folder
			default:
				if round == 2 {
					note(turn, journal.Failed, "the first time")
				}
				ran(t, dir, p, turn)
				note(turn, journal.Done, "")
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := model.Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := p.Cells[0].ID, p.Cells[1].ID, p.Cells[2].ID
	want := []string{
		a + " server=a: 3 runs, 1 waiting, 1 failed", b + " server=b: 4 runs, 1 waiting, 0 failed",
		c + " server=c: 0 runs, 0 waiting, 0 faileda rule forbids it", "again server=a: 3 runs, 1 waiting, 1 failed",
	}
	if d := cmp.Diff(want, states(s)); d != "" {
		t.Error(d)
	}
	if r := s.Cells[1].Runs[3]; r.Round != 3 || r.Seed != 8 || r.Values[model.TimePerBatch] != 1 {
		t.Errorf("%+v", r)
	}
	if s.Cells[0].Failed[0].Reason != "trainer1 died" || !strings.Contains(s.Again.Failed[0].Reason, "result.json") {
		t.Errorf("failures are %+v, %+v", s.Cells[0].Failed, s.Again.Failed)
	}
	if d := cmp.Diff(model.Config("server", "b"), s.Cells[1].Config); d != "" || s.Cells[2].Config != nil {
		t.Error(d, s.Cells[2].Config)
	}
	var text bytes.Buffer
	if err := words.WriteStudy(&text, s, words.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	golden.Require(t, filepath.Join("testdata", "sweep.txt"),
		strings.NewReplacer(dir, "DIR", a, "A", b, "B").Replace(text.String()))
	if d := cmp.Diff([]string{"hook noop never uses the servers (in 2 of 3 cells)",
		"3 runs failed, 3 times in all, and completed when repeated: the values are from the repetition, and the failures count"},
		s.Warnings); d != "" {
		t.Error(d)
	}
}

// If the journal cannot be read, the folders show which runs are done.
func TestSweepWhoseJournalIsCorrupted(t *testing.T) {
	dir, p := swept(t, 2)
	for _, turn := range p.Turns(0) {
		ran(t, dir, p, turn)
	}
	if err := os.Mkdir(filepath.Join(dir, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal", "w.jsonl"), []byte("{}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := model.Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cells[0].Runs) != 1 || s.Cells[0].Waiting != 1 || len(s.Warnings) != 2 ||
		!strings.Contains(s.Warnings[1], "is corrupted in line 1") {
		t.Errorf("%q, %q", states(s), s.Warnings)
	}
	if _, err := model.Load([]string{dir, dir}); err == nil || !strings.Contains(err.Error(), "name it alone") {
		t.Errorf("two sweeps: %v", err)
	}
}
