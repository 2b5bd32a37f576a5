package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/sdk"
)

// The criterion or a setting determines whether targets are classes or numbers.
func TestTargetsOfFiles(t *testing.T) {
	type batch = sdk.Batch
	classes := func(c ...int64) batch { return batch{Targets: c} }
	floats := func(width int, f ...float32) batch { return batch{FloatTargets: f, TargetWidth: width} }
	const csv = "a,y,z\n1,2,-0.5\n3,1.0,.25\n"
	const list = `{"features":[1],"target":[0.25,0.75]}` + "\n" + `{"features":[2],"target":[1,0]}`
	const bags = `{"input":[1],"target":[0,1]}` + "\n" + `{"input":[2],"target":[1,0]}`
	for name, c := range map[string]struct {
		file, content, target, kind string
		wanted                      sdk.TargetKind
		want                        batch
		wrong                       string
	}{
		"a column of classes":            {"a.csv", csv, "y", "auto", sdk.ClassTargets, classes(2, 1), ""},
		"the same as numbers":            {"a.csv", csv, "y", "auto", sdk.NumberTargets, floats(1, 2, 1), ""},
		"numbers whatever the criterion": {"a.csv", csv, "z", "numbers", sdk.ClassTargets, floats(1, -0.5, 0.25), ""},
		"classes whatever the criterion": {"a.csv", csv, "y", "classes", sdk.NumberTargets, classes(2, 1), ""},
		"columns in another order": {"a.csv", csv, "z, y", "auto", sdk.NumberTargets,
			floats(2, -0.5, 2, 0.25, 1), ""},
		"columns by number": {"a.csv", csv, "3,2", "auto", sdk.NumberTargets,
			floats(2, -0.5, 2, 0.25, 1), ""},
		"a column twice": {"a.csv", csv, "y,2", "auto", sdk.NumberTargets, batch{},
			"line 1, column 1: setting target names column 2 twice"},
		"no such column": {"a.csv", csv, "y,q", "auto", sdk.NumberTargets, batch{},
			`setting target is "q", but no column has that name`},
		"a fraction that is no class": {"a.csv", csv, "z", "auto", sdk.ClassTargets, batch{},
			"line 2, column 5: the target is -0.5 but criterion crit takes classes, which are integers from 0; for"},
		"a fraction by itself": {"a.csv", csv, "z", "auto", sdk.ProbabilityTargets, batch{},
			"line 2, column 5: the target is -0.5 but criterion crit takes classes, which are integers from 0, or a prob"},
		"NaN": {"a.csv", "1,nan\n", "", "auto", sdk.NumberTargets, batch{},
			`line 1, column 3: "nan" is not a number`},
		"too large": {"a.csv", "1,1e40\n", "", "auto", sdk.NumberTargets, batch{},
			`line 1, column 3: "1e40" is not a number that a float32 can hold`},
		"probabilities": {"a.jsonl", list, "", "auto", sdk.ProbabilityTargets,
			floats(2, 0.25, 0.75, 1, 0), ""},
		"lists of numbers": {"a.jsonl", list, "", "auto", sdk.ShareTargets, floats(2, 0.25, 0.75, 1, 0),
			""},
		"lists where there are classes": {"a.jsonl", list, "", "auto", sdk.ClassTargets, batch{},
			"line 1, column 27: the target is 0.25 but criterion crit takes classes"},
		"classes of bags stay": {"a.jsonl", bags, "", "auto", sdk.ProbabilityTargets, classes(0, 1, 1, 0),
			""},
		"a number in a line": {"a.jsonl", `{"target":-20.5,"features":[1]}`, "", "auto",
			sdk.NumberTargets, floats(1, -20.5), ""},
		"another count of targets": {"a.jsonl", list + "\n" + `{"features":[2],"target":[1]}`, "", "auto",
			sdk.NumberTargets, batch{},
			"line 3, column 1: the number of targets is 1 but the first sample has 2"},
		"a setting that is no target type": {"a.csv", csv, "y", "floats", sdk.NumberTargets, batch{},
			`setting target_type is "floats" but must be auto, classes or numbers`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			s := DefaultFile
			s.Path, s.Target, s.TargetType = path, c.target, c.kind
			if strings.HasSuffix(c.file, ".csv") {
				s.Columns = "features"
			}
			data, err := NewFile(s, sdk.DataEnv{Criterion: "crit", Wanted: c.wanted})
			samples := &sdk.Samples{}
			if err == nil {
				samples, err = data.Load()
			}
			switch {
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)), c.wrong == "" && err != nil:
				t.Errorf("%s: %v, want %q", name, err, c.wrong)
			case err == nil:
				got := batch{Targets: samples.Targets, FloatTargets: samples.FloatTargets,
					TargetWidth: samples.TargetWidth}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("%s: %s", name, d)
				}
			}
		})
	}
}

// Generated targets depend on the features and suit the criterion.
func TestDenseTargets(t *testing.T) {
	for kind, width := range map[sdk.TargetKind]int{sdk.NumberTargets: 1, sdk.ShareTargets: 2,
		sdk.ProbabilityTargets: 3} {
		t.Run(string(kind), func(t *testing.T) {
			s := DefaultDense
			s.Features, s.Targets = 5, width
			data, err := NewDense(s, sdk.DataEnv{Seed: 3, BatchSize: 4, Trainers: 2, Wanted: kind})
			if err != nil {
				t.Fatal(err)
			}
			samples, err := data.Load()
			if err != nil || samples.TargetWidth != width || samples.Size() != 4*4*2 ||
				len(samples.FloatTargets) != width*samples.Size() {
				t.Fatalf("%s: %d samples with %d targets of %d (%v)", kind, samples.Size(), len(samples.FloatTargets),
					samples.TargetWidth, err)
			}
			for i := range samples.Size() {
				if _, err := kind.CheckRow(samples.FloatTargets[i*width : (i+1)*width]); err != nil {
					t.Errorf("%s: sample %d: %v", kind, i, err)
				}
			}
		})
	}
	for want, env := range map[string]sdk.DataEnv{
		"setting targets is 1 but criterion nll takes classes": {Criterion: "nll"},
		"setting targets is 1 but must be 0 or from 2":         {Criterion: "cel", Wanted: sdk.ProbabilityTargets},
	} {
		t.Run(want, func(t *testing.T) {
			s := DefaultDense
			s.Targets = 1
			if _, err := NewDense(s, env); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
