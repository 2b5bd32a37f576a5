package words

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
)

// crashing returns a study in which 9 of the 14 runs of batch failed. The other 5 are ten times as fast as the
// baseline. Server sum is fast but failed once. Each failure names a different process.
func crashing() *model.Study {
	s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 10_447, "sum": 1100},
		func(server string, p *modeltest.Plot) {
			p.Epochs = []float64{0.7, 0.81}
			switch server {
			case "batch":
				p.Runs, p.Failed = 5, 9
			case "sum":
				p.Failed = 1
			}
		})
	for _, c := range s.Cells {
		for i := range c.Failed {
			c.Failed[i].Reason = fmt.Sprintf(
				"trainer%d (process %d) ended with exit status 2 during launch; its last words: rip 0x%x", i%2, 26197+i,
				0x491f97+i)
		}
	}
	return s
}

// If the runs of a cell mostly fail, the cell never wins, is not better than the baseline, and is never the best value
// of an axis. The text states the failures of a winner.
func TestCrashesCannotWin(t *testing.T) {
	all := 1.0
	for name, o := range map[string]struct {
		most    *float64
		options Options
	}{
		"crashed":        {nil, Options{}},
		"crashedtarget":  {nil, Options{Target: "auc=0.8"}},
		"crashedallowed": {&all, Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := crashing()
			s.MostFailed = o.most
			o.options.Full = true
			requireStudy(t, name, s, o.options)
		})
	}
}

// If every cell crashes, no cell wins, also across sizes.
func TestNothingCanWin(t *testing.T) {
	s := crashing()
	none := 0.0
	s.MostFailed = &none
	for _, c := range s.Cells {
		c.Failed = append(c.Failed, model.Failure{Reason: "killed"})
	}
	answer, err := Sentences(s, modeltest.Throughput(t), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Sentence{
		{Label: "throughput", Text: "nothing can win: every cell is excluded for failed runs"},
		{Label: "excluded", Text: "server=average (1 of 21), server=batch (10 of 15) and server=sum (2 of 12) are excluded: more than 0.0 % of their runs failed"},
	}
	if d := cmp.Diff(want, answer[:2]); d != "" {
		t.Error(d)
	}
	if text := acrossSizes(s,
		verdict.Contests(s, modeltest.Throughput(t))); text != "nothing can win: so many runs of every cell failed" {
		t.Error(text)
	}
}

// Only cells that may win can provide the best value of an axis.
func TestCrashesAreBestNowhere(t *testing.T) {
	s := modeltest.Made([]model.Axis{{Name: "server", Values: []string{"average", "batch"}},
		{Name: "ntrainer", Values: []string{"1", "4"}}}, func(v []string) modeltest.Plot {
		p := modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: 10, Iterations: 100}
		switch {
		case v[0] == "batch" && v[1] == "4":
			p.Throughput, p.Runs, p.Failed = 9000, 6, 8
		case v[1] == "4":
			p.Throughput = 500
		}
		return p
	})
	answer, err := Sentences(s, modeltest.Throughput(t), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answer {
		if a.Label == "proven" && strings.Contains(a.Text, "ntrainer changes") {
			t.Errorf("%q, though what is best with 4 trainers crashes", a.Text)
		}
	}
}

func TestFailuresAreGrouped(t *testing.T) {
	for name, c := range map[string]struct {
		reasons []string
		groups  int
	}{
		"processes": {[]string{"trainer1 (process 27689) was killed by signal 9",
			"trainer1 (process 2) was killed by signal 9"}, 1},
		"ranks": {[]string{"trainer1 (process 27689) was killed by signal 9",
			"trainer0 (process 2) was killed by signal 9"}, 1},
		"kinds": {[]string{"trainer1 (process 27689) was killed by signal 9",
			"server1 (process 2) was killed by signal 9"}, 2},
		"signals": {[]string{"trainer1 (process 27689) was killed by signal 9",
			"trainer1 (process 27689) was killed by signal 6"}, 2},
		"statuses":   {[]string{"trainer1 ended with exit status 1", "trainer1 ended with exit status 2"}, 2},
		"registers":  {[]string{"rip 0x491f97 | rflags 0x212", "rip 0x41223a | rflags 0x10216"}, 1},
		"addresses":  {[]string{"dial tcp 127.0.0.1:4321: refused", "dial tcp 10.0.0.7:80: refused"}, 1},
		"addresses6": {[]string{"dial tcp [::1]:4321: refused", "dial tcp [fe80::1]:80: refused"}, 1},
		"hosts":      {[]string{"on node1 trainer0 was lost", "on node12 trainer0 was lost"}, 1},
		"goroutines": {[]string{"panic [goroutine 17]", "panic [goroutine 3]"}, 1},
		"lines":      {[]string{"panic in server.go:1234", "panic in server.go:4321"}, 2},
		"values":     {[]string{"the loss is 3", "the loss is 4"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var failed []model.Failure
			for _, reason := range c.reasons {
				failed = append(failed, model.Failure{Reason: reason})
			}
			groups := grouped(failed)
			if len(groups) != c.groups || groups[0][0].Reason != c.reasons[0] {
				t.Errorf("%v", groups)
			}
		})
	}
}

// In a comparison, the successful runs of a crashing side prove nothing either. --fail-above reports that the change is
// unknown.
func TestCrashesAreNotBetter(t *testing.T) {
	failed := func(c *model.Cell, times int) *model.Cell {
		c.Failed = make([]model.Failure, times)
		return c
	}
	for name, c := range map[string]struct {
		old, new   *model.Cell
		want       judge.Verdict
		open, warn bool
	}{
		"new crashes, faster": {cellOf("server=a", sixFrom(100)...), failed(cellOf("server=a", sixFrom(900)...), 9),
			judge.CannotTell, true, true},
		"new crashes, slower": {cellOf("server=a", sixFrom(900)...), failed(cellOf("server=a", sixFrom(100)...), 9),
			judge.Worse, false, true},
		"old crashed, faster": {failed(cellOf("server=a", sixFrom(900)...), 9), cellOf("server=a", sixFrom(100)...),
			judge.CannotTell, true, true},
		"old crashed, slower": {failed(cellOf("server=a", sixFrom(100)...), 9), cellOf("server=a", sixFrom(900)...),
			judge.Better, false, true},
		"none crashes": {cellOf("server=a", sixFrom(100)...), cellOf("server=a", sixFrom(900)...), judge.Better,
			false, false},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := verdict.Compare(studyOf("old", c.old), studyOf("new", c.new), modeltest.Throughput(t),
				fivePercent)
			if err != nil {
				t.Fatal(err)
			}
			_, open := result.Fails(0.05)
			warned := strings.Contains(strings.Join(result.Warnings, "\n"), "9 of 15 runs failed, more than 10.0 %")
			if result.Rows[0].Verdict != c.want || len(open) > 0 != c.open || warned != c.warn {
				t.Errorf("%s, open: %q, warnings: %q", result.Rows[0].Verdict, open, result.Warnings)
			}
		})
	}
}

// --fail-above includes a cell whose runs failed only on the new side.
func TestLostCellsAreOpen(t *testing.T) {
	lost := cellOf("server=b")
	lost.Failed = make([]model.Failure, 6)
	old := studyOf("old", cellOf("server=a", sixFrom(100)...), cellOf("server=b", sixFrom(100)...))
	between, err := verdict.Compare(old, studyOf("new", cellOf("server=a", sixFrom(200)...), lost),
		modeltest.Throughput(t), fivePercent)
	if err != nil {
		t.Fatal(err)
	}
	s := studyOf("S", cellOf("server=a", sixFrom(100)...), lost, cellOf("server=c", sixFrom(200)...))
	s.Again = cellOf("", sixFrom(100)...)
	along, err := verdict.Along(s, "server", modeltest.Throughput(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*verdict.Comparison{"between": between, "along": along} {
		t.Run(name, func(t *testing.T) {
			if _, open := c.Fails(0.05); len(open) != 1 || open[0] != "server=b" {
				t.Errorf("%s: open is %q", name, open)
			}
		})
	}
}
