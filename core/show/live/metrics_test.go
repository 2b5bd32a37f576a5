package live

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/psbench/psbench/core/show/view"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/golden"
)

// measured returns a document with every metric. The names contain characters that could break the format.
func measured() (*view.Document, view.Live) {
	value, loss, left := 1500.0, math.Inf(1), 12.5
	d := &view.Document{Psbench: "psbench 1", Judged: map[string]view.Judged{}, Cells: []view.Cell{
		{Name: `a="b",c\n`, Runs: []int{0, 1}, Same: -1},
		{Name: "line\nfeed \xff é", Same: -1},
		{Name: "line\nfeed \xff é", Same: -1}, // another cell with the same name
		{Name: "line\nfeed \xff é", Same: -1, Again: true},
	}}
	for _, m := range model.Metrics {
		d.Metrics = append(d.Metrics, view.Metric{Name: m.Name, Unit: m.Unit, Better: string(m.Better), Means: m.Means})
		d.Judged[m.Name] = view.Judged{
			Estimates: []*view.Estimate{{N: 2, Median: &value}, nil, {N: 1}, {N: 1, Median: &value}},
		}
	}
	return d, view.Live{Done: 3, Failed: 1, Left: 4, Seconds: 61.5, SecondsLeft: &left, Running: &view.Running{
		Cell: 3, Name: `x"} 1`, Round: 2, Phase: "measured pass", Iterations: 10, Of: 40, Rate: 1053.25, Loss: &loss,
	}}
}

func TestMetrics(t *testing.T) {
	d, l := measured()
	golden.Require(t, "testdata/metrics.txt", string(metrics(d, l)))
	if want := "text/plain; version=0.0.4; charset=utf-8"; string(textFormat) != want {
		t.Errorf("their type is %q, not %q", textFormat, want)
	}
}

// The linter of promtool finds no problems in the metrics.
func TestMetricsAreByTheConventions(t *testing.T) {
	for name, text := range map[string][]byte{
		"all": metrics(measured()), "nothing": metrics(&view.Document{}, view.Live{}),
	} {
		t.Run(name, func(t *testing.T) {
			problems, err := promlint.New(bytes.NewReader(text)).Lint()
			if err != nil || len(problems) > 0 {
				t.Errorf("%s: %v %+v", name, err, problems)
			}
		})
	}
	problems, err := promlint.New(strings.NewReader("# TYPE psbench_runs counter\npsbench_runs 1\n")).Lint()
	if err != nil || len(problems) == 0 {
		t.Error("bad names are not found")
	}
}

// The metrics of the current run have the labels of its cell. Round and phase do not change these labels, since each
// new label value would create another series.
func TestRunHasTheLabelsOfItsCell(t *testing.T) {
	for name, c := range map[string]struct {
		cell int
		want []string
	}{
		"a cell":       {0, []string{`psbench_run_info{cell="a=\"b\",c\\n",again="false"} 1`, "psbench_run_round 7"}},
		"the A/A cell": {3, []string{`psbench_run_info{cell="line\nfeed � é",again="true"} 1`, "psbench_run_round 7"}},
		"none":         {-1, []string{`psbench_run_info{cell="by itself",again="false"} 1`}},
		"one to come":  {4, []string{`psbench_run_info{cell="by itself",again="false"} 1`, "psbench_run_round 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, phase := range []string{"warm-up", "measured pass"} {
				d, l := measured()
				l.Running = &view.Running{Cell: c.cell, Name: "by itself", Round: 7, Phase: phase}
				var found []string
				for line := range strings.Lines(string(metrics(d, l))) {
					if strings.HasPrefix(line, "psbench_run_") && !strings.HasPrefix(line, "psbench_run_iterations") {
						found = append(found, strings.TrimSuffix(line, "\n"))
					}
				}
				if want := append(slices.Clone(c.want), `psbench_run_phase{phase="`+phase+`"} 1`); !slices.Equal(found,
					want) {
					t.Errorf("%s: %q, not %q", name, found, want)
				}
			}
		})
	}
}

// Each line is one series, whatever characters the names contain.
func FuzzMetrics(f *testing.F) {
	for _, name := range []string{"", `"`, "\n", `\`, `a"} 1` + "\nb 2", "\xff", "\u2028"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		d := &view.Document{Psbench: name, Cells: []view.Cell{{Name: name, Same: -1}}}
		text := metrics(d, view.Live{Running: &view.Running{Name: name, Phase: name}})
		problems, err := promlint.New(bytes.NewReader(text)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%q: %v %+v\n%s", name, err, problems, text)
		}
		if lines := bytes.Count(text, []byte("\n")); lines != 28 {
			t.Errorf("%q makes %d lines\n%s", name, lines, text)
		}
	})
}
