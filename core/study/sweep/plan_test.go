package sweep

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// planOf returns a plan of two servers and two numbers of trainers. One of the cells is skipped.
func planOf(t testing.TB) *Plan {
	t.Helper()
	p := &Plan{
		Axes:     []Axis{{"server", []string{"average", "sum"}}, {"ntrainer", []string{"1", "2"}}},
		Binaries: []Binary{{"psbench", "/bin/psbench", strings.Repeat("ab", 32)}},
		Again:    true, Repeats: 10, Seed: 7, Check: true,
	}
	for _, server := range p.Axes[0].Values {
		for _, n := range p.Axes[1].Values {
			p.Cells = append(p.Cells, Cell{
				Name: fmt.Sprintf("server=%s ntrainer=%s", server, n), Values: []string{server, n},
				Binary: "/bin/psbench",
				Parts:  map[string]string{"server": server},
				Config: map[string]any{
					"server": server, "ntrainer": json.Number(n), SeedKey: json.Number("5"),
					"model_config_path": "/home/me/models.json",
					"set":               map[string]any{"trainer": map[string]any{"lr": json.Number("0.1")}},
				},
			})
		}
	}
	p.Cells[3].Skipped, p.Cells[3].Config = "a rule forbids it", nil
	p.Identify()
	return p
}

func TestPlanIsReadAsItWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	p := planOf(t)
	for range 2 { // the second Write replaces the first plan
		if err := p.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
	files, err := os.ReadDir(filepath.Join(dir, "cells"))
	if err != nil || len(files) != 3 {
		t.Errorf("there are the files %v of cells, %v", files, err)
	}
	if !IsSweep(dir) || IsSweep(t.TempDir()) {
		t.Error("a sweep is none, or none is one")
	}
}

func TestPlanThatSomebodyChanged(t *testing.T) {
	for _, test := range []struct{ file, old, new, want string }{
		{PlanFile, `"server": "sum"`, `"server": "mean"`, "but its configuration gives"},
		{PlanFile, `"repeats": 10`, `"repeats": 0`, "repeats is 0 but must be from 1 to 1000000"},
		{PlanFile, `"repeats": 10`, `"repeats": 10, "begun": 10`,
			"begun is 10 but must be from 0 to less than repeats, which is 10"},
		{PlanFile, `"baseline": 0`, `"baseline": 3`, "baseline is 3, which is the place of no cell that runs"},
		{PlanFile, `"identity": "`, `"identity": "0`, "a file was edited"},
		{PlanFile, `"seed": 7`, `"sead": 7`, `did you mean "seed"?`},
		{PlanFile, Schema, "psbench.sweep/9",
			`has the schema "psbench.sweep/9", but this psbench reads psbench.sweep/1`},
		{PlanFile, `"path": "/bin/psbench"`, `"path": "psbench"`, "must have an absolute path"},
		{PlanFile, `"binary": "/bin/psbench"`, `"binary": "/bin/other"`, "has no checksum"},
		{PlanFile, "}\n", "", "unexpected end of JSON input"},
		{"cells", `"average"`, `"sum"`, "a file was edited"},
	} {
		t.Run(test.want, func(t *testing.T) {
			dir := t.TempDir()
			p := planOf(t)
			if err := p.Write(dir); err != nil {
				t.Fatal(err)
			}
			file := test.file
			if file == "cells" {
				file = p.Cells[0].ConfigFile()
			}
			path := filepath.Join(dir, file)
			text, err := os.ReadFile(path) // #nosec G304 -- the test's own
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), test.old, test.new, 1)
			if test.new == "" {
				changed = strings.TrimSuffix(string(text), test.old)
			}
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTurns(t *testing.T) {
	p := planOf(t)
	orders := map[string]bool{}
	for round := range 40 {
		turns := p.Turns(round)
		if diff := cmp.Diff(turns, p.Turns(round), cmp.AllowUnexported(Turn{})); diff != "" {
			t.Fatalf("the order of a round differs: %s", diff)
		}
		var ids []string
		for _, turn := range turns {
			if turn.Seed != 5+uint64(round) || turn.Round != round || turn.Folder != "runs/"+turn.ID() ||
				turn.Again != strings.HasPrefix(turn.ID(), "again/") {
				t.Errorf("%+v", turn)
			}
			ids = append(ids, strings.Split(turn.ID(), "/")[0])
		}
		orders[strings.Join(ids, " ")] = true
		slices.Sort(ids)
		want := []string{p.Cells[0].ID, p.Cells[1].ID, p.Cells[2].ID, AgainID}
		slices.Sort(want)
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("round %d: %s", round, diff)
		}
	}
	if len(orders) < 15 {
		t.Errorf("40 rounds have only %d of 24 orders", len(orders))
	}
	if p.Runs() != 40 {
		t.Errorf("the plan has %d runs", p.Runs())
	}
}

func TestIdentity(t *testing.T) {
	same, other := planOf(t), planOf(t)
	same.Seed, same.Budget.Failures, same.Cells[0], same.Cells[1] = 8, 3, same.Cells[1], same.Cells[0]
	same.Baseline = 1
	same.Cells[2].Config["model_config_path"] = "/elsewhere"
	same.Cells[2].Config["set"] = map[string]any{"trainer": map[string]any{"lr": json.Number("1e-1")}}
	same.Binaries[0].Path = "/opt/psbench"
	for i := range same.Cells {
		same.Cells[i].Binary = "/opt/psbench"
	}
	same.Identify()
	other.Cells[2].Parts = map[string]string{"server": "another"} // from another configuration file
	other.Identify()
	p := planOf(t)
	if same.Identity != p.Identity || other.Identity == p.Identity {
		t.Errorf("%s is %s, and not %s", p.Identity, same.Identity, other.Identity)
	}
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*Plan)
		extends bool
		want    []string
	}{
		{"nothing", func(*Plan) {}, true, nil},
		{"seed", func(p *Plan) { p.Seed++ }, true, nil},
		{"repeats", func(p *Plan) { p.Repeats = 20 }, true, []string{"repeats was 10 and is 20"}},
		{"added", func(p *Plan) {
			c := p.Cells[0]
			c.Name, c.Config = "server=x ntrainer=1", map[string]any{SeedKey: json.Number("0")}
			p.Cells = append(p.Cells, c)
		}, true, []string{"added: cell server=x ntrainer=1"}},
		{"hosts", func(p *Plan) { p.Hosts = []string{"node1", "node2"} }, false,
			[]string{"hosts was nothing and is node1, node2"}},
		{"removed", func(p *Plan) { p.Cells = p.Cells[:2] }, false, []string{"removed: cell server=sum ntrainer=1"}},
		{"baseline", func(p *Plan) { p.Baseline = 1 }, false,
			[]string{"baseline was server=average ntrainer=1 and is server=average ntrainer=2"}},
		{"binary", func(p *Plan) { p.Binaries[0].SHA256 = strings.Repeat("cd", 32) }, false, []string{
			"binary psbench was sha256 abababababab and is sha256 cdcdcdcdcdcd in cells server=average ntrainer=1; server=average ntrainer=2; server=sum ntrainer=1",
		}},
		{"setting", func(p *Plan) {
			for i := range 2 {
				p.Cells[1+i].Config["set"] = map[string]any{"trainer": map[string]any{"lr": json.Number("0.2")}}
			}
		}, false, []string{"trainer.lr was 0.1 and is 0.2 in cells server=average ntrainer=2; server=sum ntrainer=1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := planOf(t)
			test.change(now)
			now.Identify()
			d := planOf(t).Compare(now)
			if diff := cmp.Diff(test.want, d.Lines()); diff != "" || d.Extends() != test.extends ||
				d.None() != (len(d.Lines()) == 0) {
				t.Errorf("extends is %v, none is %v: %s", d.Extends(), d.None(), diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	text, err := encode(onDisk{Schema, *planOf(f)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add([]byte(`{"schema": "psbench.sweep/1", "repeats": 1, "cells": [{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse("f", data)
		if err != nil {
			return
		}
		for _, turn := range p.Turns(0) { // Turns needs a checked plan
			if !filepath.IsLocal(turn.Folder) || strings.Count(turn.Folder, "/") != 2 {
				t.Errorf("a run is at %q", turn.Folder)
			}
		}
		if again, err := encode(onDisk{Schema, *p}); err != nil {
			t.Error(err)
		} else if _, err := parse("f", again); err != nil {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}
