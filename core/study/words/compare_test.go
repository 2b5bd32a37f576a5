package words

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/golden"
)

// cellOf returns a cell with runs of the given throughputs. config is the cell's configuration, e.g. "server=a".
func cellOf(config string, throughputs ...float64) *model.Cell {
	c := &model.Cell{Name: config, Config: map[string]string{}}
	for pair := range strings.FieldsSeq(config) {
		key, value, _ := strings.Cut(pair, "=")
		c.Config[key], c.Values = value, append(c.Values, value)
	}
	for i, v := range throughputs {
		c.Runs = append(c.Runs,
			&model.Run{Round: i, Values: map[string]float64{model.Throughput: v},
				Environment: result.Environment{Cores: 2}})
	}
	return c
}

// sixFrom returns six values that begin with v and rise in steps of 1 % of v.
func sixFrom(v float64) []float64 {
	var out []float64
	for i := range 6 {
		out = append(out, v*(1+float64(i)/100))
	}
	return out
}

func studyOf(name string, cells ...*model.Cell) *model.Study {
	s := &model.Study{Name: name, Cells: cells}
	for i, key := range []string{"server", "ntrainer"} {
		a := model.Axis{Name: key}
		for _, c := range cells {
			if i < len(c.Values) && !slices.Contains(a.Values, c.Values[i]) {
				a.Values = append(a.Values, c.Values[i])
			}
		}
		s.Axes = append(s.Axes, a)
	}
	return s
}

var fivePercent = verdict.Apart{Floor: judge.Floor{Change: 0.05}, Against: "a guess"}

func TestCompareText(t *testing.T) {
	old := studyOf("old",
		cellOf("server=a ntrainer=1", sixFrom(100)...), cellOf("server=a ntrainer=2", sixFrom(200)...),
		cellOf("server=b ntrainer=1", sixFrom(300)...), cellOf("server=b ntrainer=2", 1, 2))
	fresh := studyOf("new",
		cellOf("server=b ntrainer=1", sixFrom(303)...), cellOf("server=a ntrainer=2", sixFrom(150)...),
		cellOf("server=a ntrainer=1", sixFrom(130)...), cellOf("server=c ntrainer=1", 1))
	fresh.Cells[2].Runs[0].Environment.Cores = 4
	fresh.Cells[0].Failed = []model.Failure{{Reason: "killed"}}
	c, err := verdict.Compare(old, fresh, modeltest.Throughput(t), fivePercent)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := WriteComparison(&text, c, 0); err != nil {
		t.Fatal(err)
	}
	golden.Require(t, "testdata/compare.txt", text.String())
	if want := math.Cbrt(1.3*0.75*1.01) - 1; math.Abs(c.Mean-want) > 1e-12 {
		t.Errorf("the geometric mean changes by %v, not %v", c.Mean, want)
	}
}

// The comparison of studies without common cells or without measurements returns an error.
func TestCompareRefuses(t *testing.T) {
	a, b := studyOf("A", cellOf("server=a", 1), cellOf("server=b", 1)), studyOf("B", cellOf("server=c", 1),
		cellOf("server=d", 1))
	failed := &model.Study{Name: "C", Cells: []*model.Cell{{Failed: []model.Failure{{Reason: "no disk"}}}}}
	builds := studyOf("D", cellOf("server=a ntrainer=1", 1), cellOf("server=a ntrainer=1", 1))
	loss, err := model.MetricOf(model.HeldOutLoss)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		old, new *model.Study
		metric   model.Metric
		want     string
	}{
		{a, b, modeltest.Throughput(t), "A and B have no cell in common by server, so there is nothing to compare"},
		{a, failed, modeltest.Throughput(t), "C has no complete run (no disk), so there is nothing to compare"},
		{&model.Study{Name: "E"}, a, modeltest.Throughput(t), "E has no complete run, so there is nothing to compare"},
		{a, a, loss,
			"no cell has runs with held_out_loss on both sides, so there is nothing to compare: choose another --metric"},
		{a, builds, modeltest.Throughput(t),
			"D has several cells with the configuration of server=a ntrainer=1: compare them with each other, by --axis"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, err := verdict.Compare(c.old, c.new, c.metric, fivePercent); err == nil || err.Error() != c.want {
				t.Errorf("%s and %s: %v", c.old.Name, c.new.Name, err)
			}
		})
	}
	for axis, want := range map[string]string{
		"model":    `A has no axis "model"; the axes are server, ntrainer: name two studies, or one of these with --axis`,
		"ntrainer": `axis "ntrainer" of A has one value, so there is nothing to compare`,
	} {
		t.Run(axis, func(t *testing.T) {
			if _, err := verdict.Along(a, axis, modeltest.Throughput(t)); err == nil || err.Error() != want {
				t.Errorf("along %s: %v", axis, err)
			}
		})
	}
}

// Two studies with one experiment each are compared even if the experiments differ. The text names the differences.
func TestCompareNamesConfiguration(t *testing.T) {
	c, err := verdict.Compare(studyOf("A", cellOf("server=a", sixFrom(100)...)),
		studyOf("B", cellOf("server=b", sixFrom(100)...)), modeltest.Throughput(t), fivePercent)
	if err != nil || len(c.Rows) != 1 || !slices.Equal(c.Differences, []string{"server: a → b"}) {
		t.Error(c, err)
	}
}

// Along an axis, each value is compared with the first value in cells that are otherwise equal. The floor comes from
// the A/A cell.
func TestAlong(t *testing.T) {
	s := studyOf("S",
		cellOf("server=a ntrainer=1", sixFrom(100)...), cellOf("server=a ntrainer=2", sixFrom(200)...),
		cellOf("server=b ntrainer=1", sixFrom(120)...), cellOf("server=b ntrainer=2", sixFrom(200)...),
		cellOf("server=c ntrainer=2"))
	s.Again = cellOf("", sixFrom(100)...)
	s.Cells[0].Runs[0].Facts = map[string]string{"engine": "of a part that the other does not have"}
	c, err := verdict.Along(s, "server", modeltest.Throughput(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.Rows {
		got = append(got, r.Name+" "+string(r.Verdict))
	}
	if d := cmp.Diff([]string{"server=b ntrainer=1 better", "server=b ntrainer=2 cannot tell"}, got); d != "" {
		t.Error(d)
	}
	if c.Floor.Runs != 6 || c.Floor.Change <= 0 || c.Differences != nil {
		t.Errorf("%+v", c)
	}
}

// A sweep without a measured noise floor proves nothing.
func TestAlongWithoutFloor(t *testing.T) {
	s := studyOf("S", cellOf("server=a", 100, 101, 102), cellOf("server=b", sixFrom(200)...))
	c, err := verdict.Along(s, "server", modeltest.Throughput(t))
	if err != nil || c.Rows[0].Proven() || len(c.Warnings) == 0 ||
		!strings.HasPrefix(c.Warnings[0], "nothing is proven: ") {
		t.Error(c, err)
	}
}

func TestFails(t *testing.T) {
	row := func(v judge.Verdict, low, change, high float64) verdict.CellChange {
		return verdict.CellChange{Name: "x", Change: judge.Change{Change: change, Low: low, High: high, Verdict: v}}
	}
	lower := model.Metric{Better: model.Lower}
	for name, c := range map[string]struct {
		metric       model.Metric
		row          verdict.CellChange
		floor        float64
		proven, open bool
	}{
		"worse by more":            {model.Metric{}, row(judge.Worse, -0.09, -0.08, -0.07), 0, true, false},
		"worse by less":            {model.Metric{}, row(judge.Worse, -0.04, -0.03, -0.02), 0, false, false},
		"worse, by more perhaps":   {model.Metric{}, row(judge.Worse, -0.06, -0.03, -0.02), 0, false, true},
		"better":                   {model.Metric{}, row(judge.Better, 0.02, 0.08, 0.09), 0.07, false, false},
		"not much, whatever it is": {model.Metric{}, row(judge.CannotTell, -0.01, 0, 0.01), 0.05, false, false},
		"much, perhaps":            {model.Metric{}, row(judge.CannotTell, -0.07, 0, 0.01), 0.01, false, true},
		"too few runs": {model.Metric{}, row(judge.CannotTell, math.Inf(-1), 0, math.Inf(1)), 0.01, false,
			true},
		"below a high floor": {model.Metric{}, row(judge.CannotTell, -0.01, 0, 0.01), 0.06, false, true},
		"slower":             {lower, row(judge.Worse, 0.07, 0.08, 0.09), 0, true, false},
		"slower, perhaps":    {lower, row(judge.CannotTell, -0.01, 0.03, 0.07), 0, false, true},
		"as fast":            {lower, row(judge.CannotTell, -0.07, -0.03, 0.01), 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.metric.Better == "" {
				c.metric.Better = model.Higher
			}
			c.row.Floor = c.floor
			proven, open := (&verdict.Comparison{Metric: c.metric, Rows: []verdict.CellChange{c.row}}).Fails(0.05)
			if len(proven) > 0 != c.proven || len(open) > 0 != c.open {
				t.Errorf("%s: proven %v, open %v", name, proven, open)
			}
		})
	}
}

func TestMetricFor(t *testing.T) {
	plain, timed := &model.Study{Name: "A"}, &model.Study{Name: "B", Metric: model.TimePerBatch}
	for _, c := range []struct {
		name    string
		studies []*model.Study
		want    string
	}{
		{"", []*model.Study{plain, plain}, model.Throughput},
		{"", []*model.Study{timed}, model.TimePerBatch},
		{"", []*model.Study{timed, timed}, model.TimePerBatch},
		{model.HeldOutLoss, []*model.Study{plain, timed}, model.HeldOutLoss},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m, err := model.MetricFor(c.name, c.studies...); err != nil || m.Name != c.want {
				t.Errorf("%+v: %v, %v", c, m, err)
			}
		})
	}
	if _, err := model.MetricFor("", plain, timed); err == nil ||
		err.Error() != "A is compared by throughput, but B by time_per_batch: name one with --metric" {
		t.Error(err)
	}
}

// The text gives the number of runs that have a difference, unless all have it. It also names a value that only one of
// the two studies has.
func TestCompareNamesEnvironments(t *testing.T) {
	old, fresh := studyOf("A", cellOf("server=a", sixFrom(100)...)), studyOf("B", cellOf("server=a", sixFrom(100)...))
	for i, r := range fresh.Cells[0].Runs {
		r.Environment.Kernel = "6.2"
		if i > 3 {
			r.Environment.Cores = 4
		}
		old.Cells[0].Runs[i].Facts, r.Facts = map[string]string{"torch": "2.4",
			"same": "yes"}, map[string]string{"torch": "2.5", "same": "yes"}
	}
	old.Warnings, fresh.Warnings = []string{"the same"}, []string{"the same"}
	c, err := verdict.Compare(old, fresh, modeltest.Throughput(t), fivePercent)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"kernel: unknown → 6.2", `reported torch: "2.4" → "2.5"`, "cores: 2 → 4 (in 2 of 6 pairs of runs)"}
	if d := cmp.Diff(want, c.Differences); d != "" {
		t.Error(d)
	}
	if n := strings.Count(strings.Join(c.Warnings, "\n"), "the same"); n != 1 {
		t.Errorf("warnings are %q", c.Warnings)
	}
}
