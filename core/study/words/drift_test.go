package words

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/golden"
)

var nan = math.NaN()

// drifting returns a study of 8 rounds, each 1 ms slower than the previous one. In every round, batch is 1.4 to 2.9 ms
// slower than the baseline.
func drifting() *model.Study {
	slower := []float64{1.4, 2.9, 1.9, 2.2, 1.6, 2.5, 2.0, 2.7}
	noise := []float64{0.2, -0.1, 0.1, -0.2, 0, 0.15, -0.15, 0.05}
	s := modeltest.Made([]model.Axis{{Name: "server", Values: []string{"average", "batch"}}},
		func([]string) modeltest.Plot { return modeltest.Plot{Throughput: 1000, Runs: 8, Iterations: 100} })
	for _, c := range s.All() {
		for round, r := range c.Runs {
			ms := 20 + float64(round)
			switch c {
			case s.Cells[1]:
				ms += slower[round]
			case s.Again:
				ms += noise[round]
			}
			r.Values[model.TimePerBatch], r.Values[model.Throughput] = ms, 20_000/ms
		}
	}
	return s
}

// Drift hides no difference that all rounds show, and a sentence describes the drift. Without rounds, runs are compared
// directly, so drift is not removed.
func TestDriftHidesNothing(t *testing.T) {
	m, err := model.MetricOf(model.TimePerBatch)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		rounds bool
		want   judge.Verdict
	}{"drifting": {true, judge.Worse}, "driftingapart": {false, judge.CannotTell}} {
		t.Run(name, func(t *testing.T) {
			s := drifting()
			s.InRounds = c.rounds
			if got := verdict.TableOf(s, m).Rows[1].Change; got.Verdict != c.want {
				t.Errorf("%s: %+v", got.Verdict, got)
			}
			var out bytes.Buffer
			if err := WriteStudy(&out, s, Options{Metric: m.Name, Full: true}); err != nil {
				t.Fatal(err)
			}
			if said := strings.Contains(out.String(), "the machine drifted by"); said != c.rounds {
				t.Errorf("it says how the machine drifted: %v", said)
			}
			golden.Require(t, filepath.Join("testdata", name+".txt"), out.String())
		})
	}
}

// In the cases the machine gets faster, jumps between speeds, gets slower, gets faster with failed runs, or is steady.
func TestDriftTold(t *testing.T) {
	for name, c := range map[string]struct {
		of    func(round int) float64
		fails bool // each cell lacks a different round
		want  string
	}{
		"falls": {func(round int) float64 {
			return 20 - float64(round)
		}, false,
			"the machine drifted by 53.8 %: over all cells the time per batch was lowest in round 7 and highest in round 0, and fell over the rounds; comparisons are within rounds, so this changes none of them"},
		"jumps": {func(round int) float64 {
			return []float64{20, 24, 21, 26, 20.5, 23, 21.5, 25}[round]
		}, false,
			"the machine drifted by 30.0 %: over all cells the time per batch was lowest in round 0 and highest in round 3; comparisons are within rounds, so this changes none of them"},
		"goes back": {func(round int) float64 {
			return []float64{20, 21, 22, 23, 22.5, 24, 25, 26}[round]
		}, false,
			"the machine drifted by 30.0 %: over all cells the time per batch was lowest in round 0 and highest in round 7, and rose over the rounds; comparisons are within rounds, so this changes none of them"},
		"fails": {func(round int) float64 {
			return 20 - float64(round)
		}, true,
			"the machine drifted by 53.8 %: over all cells the time per batch was lowest in round 7 and highest in round 0, and fell over the rounds; comparisons are within rounds, so this changes none of them"},
		"steady": {func(int) float64 { return 20 }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 1000, "sum": 1000},
				func(_ string, p *modeltest.Plot) { p.Runs = 8 })
			for i, cell := range s.All() {
				for round, r := range cell.Runs {
					r.Values[model.TimePerBatch] = c.of(round) * (1 + 1e-4*float64((i*5+round*3)%4))
				}
				if c.fails {
					cell.Runs = slices.Delete(cell.Runs, 2*i, 2*i+1)
				}
			}
			m, _ := model.MetricOf(model.TimePerBatch)
			if got := driftText(s, m); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}

// Along an axis, the baseline includes the runs of its A/A cell. A comparison therefore agrees with the table.
func TestAlongSaysWhatTheTableSays(t *testing.T) {
	m := modeltest.Throughput(t)
	for name, rounds := range map[string]bool{"in rounds": true, "apart": false} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 1006, "sum": 900}, nil)
			s.InRounds = rounds
			c, err := verdict.Along(s, "server", m)
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range verdict.TableOf(s, m).Rows[1:] {
				if got := c.Rows[i].Change; got.P != row.Change.P || got.Change != row.Change.Change ||
					got.Verdict != row.Change.Verdict || c.Rows[i].Old.N != 20 {
					t.Errorf("%s: %+v, and in the table %+v", row.Cell.Name, got, row.Change)
				}
			}
			s.Again.Failed = make([]model.Failure, 9)
			if c, err = verdict.Along(s, "server", m); err != nil ||
				!strings.Contains(strings.Join(c.Warnings, "\n"), "9 of 29 runs failed") {
				t.Errorf("%v, %q", err, c.Warnings)
			}
		})
	}
}

// If essential runs are missing, the study says why nothing is proven.
func TestWithoutWhatIsCompared(t *testing.T) {
	m := modeltest.Throughput(t)
	apart := map[string]float64{"average": 1000, "batch": 1100, "sum": 900}
	for name, c := range map[string]struct {
		change  func(s *model.Study)
		proven  int
		toTell  string
		remarks string
	}{
		"no A/A cell": {func(s *model.Study) { s.Again = nil }, 2, "wins",
			"each comparison has its own"},
		"the A/A cell has not begun": {func(s *model.Study) { s.Again.Runs, s.Again.Waiting = nil, 10 }, 0,
			"nothing is proven: the noise floor needs at least 4 rounds", "there are 0"},
		"the A/A cell failed mostly": {func(s *model.Study) { s.Again.Runs = s.Again.Runs[:3] }, 0,
			"nothing is proven: the noise floor needs at least 4 rounds", "there are 3"},
		"no baseline": {func(s *model.Study) { s.Cells[0].Runs = nil }, 0,
			"nothing is proven: the noise floor needs at least 4 rounds", "there are 0"},
		"the baseline lacks rounds": {func(s *model.Study) { s.Cells[0].Runs = s.Cells[0].Runs[4:] }, 2, "wins",
			"6 runs of each"},
		"no common round": {func(s *model.Study) {
			s.Cells[0].Runs, s.Again.Runs = s.Cells[0].Runs[:5], s.Again.Runs[5:]
		}, 0, "nothing is proven: the noise floor needs", "there are 0"},
		"one round": {func(s *model.Study) {
			for _, c := range s.All() {
				c.Runs = c.Runs[:1]
			}
		}, 0, "too few to prove anything in 3 comparisons, which takes 4 of each", "there are 1"},
		"rounds are waiting": {func(s *model.Study) {
			for _, c := range s.All() {
				c.Runs, c.Waiting = c.Runs[:6], 4
			}
		}, 2, "wins", "16 runs are waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.Speeds(apart, nil)
			c.change(s)
			v := verdict.TableOf(s, m)
			proven := 0
			for _, row := range v.Rows {
				if row.Compared && row.Change.Proven() {
					proven++
				}
			}
			if proven != c.proven {
				t.Errorf("%d cells are proven to differ", proven)
			}
			if text := winner(verdict.Contests(s, m)[0]); !strings.Contains(text, c.toTell) {
				t.Errorf("it says %q", text)
			}
			remarks := ""
			for _, r := range Remarks(s, v) {
				remarks += r.Text + "\n"
			}
			if !strings.Contains(remarks, c.remarks) {
				t.Errorf("it remarks\n%s", remarks)
			}
			if _, err := verdict.Along(s, "server", m); err != nil && name != "no baseline" {
				t.Error(err)
			}
		})
	}
}
