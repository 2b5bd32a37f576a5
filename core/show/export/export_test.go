package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/documented"
	"github.com/psbench/psbench/internal/golden"
)

// example returns a sweep with two cells, the A/A cell, a cell that shares the runs of another, and a failed run.
func example() *Table {
	config := func(server string) map[string]string {
		return map[string]string{"server": server, "ntrainer": "2", "isolate": "[]", "trainer.name": "a \"b\", c"}
	}
	run := func(folder string, round int, throughput, loss float64) *model.Run {
		return &model.Run{
			Folder: folder, Round: round, Seed: 18446744073709551615, Iterations: 40,
			Values: map[string]float64{model.Throughput: throughput, model.TimePerBatch: 1000 / throughput,
				model.HeldOutLoss: loss},
		}
	}
	t := &Table{}
	t.Add(&model.Study{
		Axes: []model.Axis{{Name: "server", Values: []string{"average", "a|b/c d"}},
			{Name: "build", Values: []string{"here"}}},
		Cells: []*model.Cell{
			{Name: "server=average", Values: []string{"average", "here"}, Config: config("average"),
				Runs: []*model.Run{run("s/0", 0, 100, 0.5), run("s/1", 1, 125, math.NaN())}},
			{Name: "server=a|b/c d", Values: []string{"a|b/c d", "here"}, Config: config("a|b/c d"),
				Runs:   []*model.Run{run("s/2", 0, 80, 0.25)},
				Failed: []model.Failure{{Folder: "s/3", Reason: "trainer1 died"}}},
			{Name: "server=same", Values: []string{"same", "here"}, Same: "average",
				Runs: []*model.Run{run("s/0", 0, 100, 0.5)}},
		},
		Again: &model.Cell{Name: "server=average", Values: []string{"average", "here"}, Config: config("average"),
			Runs: []*model.Run{run("s/again", 0, 101, 0.5)}},
		Warnings: []string{"a warning"},
	})
	return t
}

func written(t *testing.T, name string, table *Table) string {
	t.Helper()
	var out bytes.Buffer
	for _, f := range Formats {
		if f.Name == name {
			if err := f.Write(table, &out); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out.String()
}

func TestFormats(t *testing.T) {
	for _, f := range Formats {
		t.Run(f.Name, func(t *testing.T) {
			golden.Require(t, "testdata/example."+f.Name, written(t, f.Name, example()))
		})
	}
	if d := cmp.Diff([]string{"a warning", "s/3 is left out, since it failed: trainer1 died"},
		example().Warnings); d != "" {
		t.Error(d)
	}
}

// A reader of CSV or JSON lines gets every value back, including special characters.
func TestReadBack(t *testing.T) {
	table := example()
	rows, err := csv.NewReader(strings.NewReader(written(t, "csv", table))).ReadAll()
	if err != nil || len(rows) != 1+len(table.Rows) || len(table.Rows) != 12 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if d := cmp.Diff([]string{"run", "cell", "round", "seed", "server", "build", "isolate", "ntrainer", "trainer.name",
		"metric", "unit", "better", "value"}, rows[0]); d != "" {
		t.Error(d)
	}
	lines := strings.Split(strings.TrimSpace(written(t, "jsonl", table)), "\n")
	for i, r := range table.Rows {
		var line struct {
			Run       string
			Seed      uint64
			Variables map[string]any
			Metric    string
			Value     *float64
		}
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatal(err)
		}
		if line.Run != r.Run || line.Seed != r.Seed || line.Metric != r.Metric.Name ||
			(line.Value == nil) != math.IsNaN(r.Value) || line.Value != nil && *line.Value != r.Value {
			t.Errorf("row %d is %s", i, lines[i])
		}
		if line.Variables["trainer.name"] != `a "b", c` || line.Variables["ntrainer"] != 2.0 ||
			rows[i+1][8] != `a "b", c` {
			t.Errorf("row %d is %s", i, lines[i])
		}
	}
}

// The parser that benchstat uses reads all values, their units, and which direction is better.
func TestGoBenchIsRead(t *testing.T) {
	r := benchfmt.NewReader(strings.NewReader(written(t, "gobench", example())), "test")
	var values []float64
	var names []string
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			names = append(names, rec.Name.String())
			for _, v := range rec.Values {
				values = append(values, v.Value)
			}
			if rec.Iters != 40 || rec.GetConfig("ntrainer") != "2" {
				t.Errorf("%d iterations, configuration %v", rec.Iters, rec.Config)
			}
		case *benchfmt.SyntaxError:
			t.Error(rec)
		}
	}
	if d := cmp.Diff([]float64{100, 10, 0.5, 125, 8, 80, 12.5, 0.25, 101, 1000.0 / 101, 0.5}, values); d != "" ||
		r.Err() != nil {
		t.Error(d, r.Err())
	}
	if d := cmp.Diff([]string{"Run/server=average/build=here", "Run/server=a|b_c_d/build=here",
		"Run/server=average/build=here/again"}, slices.Compact(names)); d != "" {
		t.Error(d)
	}
	for unit, better := range map[string]string{"throughput-samples/s": "higher", "time_per_batch-ms": "lower",
		"held_out_loss-loss": "lower"} {
		t.Run(unit, func(t *testing.T) {
			if m := r.Units().Get(unit, "better"); m == nil || m.Value != better {
				t.Errorf("%s: %v, want %s", unit, m, better)
			}
		})
	}
}

// The example in docs/export.md can read the exported file.
func TestDocumentedExport(t *testing.T) {
	out, _ := documented.Pandas(t, "../../../docs/export.md", "", "testdata/example.csv")
	if d := cmp.Diff("server,median,count\naverage,101.0,3\na|b/c d,80.0,1\n", out); d != "" {
		t.Error(d)
	}
}

func TestOnly(t *testing.T) {
	table := example()
	if err := table.Only([]string{"throughput"}); err != nil || len(table.Rows) != 4 {
		t.Error(len(table.Rows), err)
	}
	if err := table.Only([]string{"thruput"}); err == nil ||
		err.Error() != `unknown metric "thruput"; did you mean "throughput"?` {
		t.Error(err)
	}
}
