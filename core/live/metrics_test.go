package live

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/psbench/psbench/core/study"
	"github.com/psbench/psbench/core/view"
	"github.com/psbench/psbench/internal/golden"
)

// measured is a document with every metric and with names that try to break out.
func measured() (*view.Document, view.Live) {
	value, loss, left := 1500.0, math.Inf(1), 12.5
	d := &view.Document{Psbench: "psbench 1", Judged: map[string]view.Judged{}, Cells: []view.Cell{
		{Name: `a="b",c\n`, Runs: []int{0, 1}, Same: -1},
		{Name: "line\nfeed \xff é", Same: -1},
		{Name: "line\nfeed \xff é", Same: -1}, // another of the same name
		{Name: "line\nfeed \xff é", Same: -1, Again: true},
	}}
	for _, m := range study.Metrics {
		d.Metrics = append(d.Metrics, view.Metric{Name: m.Name, Unit: m.Unit, Better: string(m.Better), Means: m.Means})
		d.Judged[m.Name] = view.Judged{Estimates: []*view.Estimate{{N: 2, Median: &value}, nil, {N: 1}, {N: 1, Median: &value}}}
	}
	return d, view.Live{Done: 3, Failed: 1, Left: 4, Seconds: 61.5, SecondsLeft: &left, Running: &view.Running{
		Name: `x"} 1`, Round: 2, Phase: "measured pass", Iterations: 10, Of: 40, Rate: 1053.25, Loss: &loss,
	}}
}

func TestMetrics(t *testing.T) {
	d, l := measured()
	golden.Require(t, "testdata/metrics.txt", string(metrics(d, l)))
}

// What promtool check metrics says of them.
func TestMetricsAreByTheConventions(t *testing.T) {
	for name, text := range map[string][]byte{
		"all": metrics(measured()), "nothing": metrics(&view.Document{}, view.Live{}),
	} {
		problems, err := promlint.New(bytes.NewReader(text)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %+v", name, err, problems)
		}
	}
	problems, err := promlint.New(strings.NewReader("# TYPE psbench_runs counter\npsbench_runs 1\n")).Lint()
	if err != nil || len(problems) == 0 {
		t.Error("bad names are not found")
	}
}

// Whatever names hold, a line is a series.
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
		if lines := bytes.Count(text, []byte("\n")); lines != 22 {
			t.Errorf("%q makes %d lines\n%s", name, lines, text)
		}
	})
}
