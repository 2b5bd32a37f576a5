package verdict

import (
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// ownRuns returns the values of a cell by a metric, with their rounds. Some runs were made after their round: runs
// that were repeated after a failure, and runs of cells that --extend adds. They get rounds of their own below 0, so
// they are compared with each other but with no run that was made in time.
func ownRuns(s *model.Study, c *model.Cell, metric string) judge.Runs {
	runs := judge.Runs{}
	for _, r := range c.Runs {
		v, ok := r.Values[metric]
		if !ok {
			continue
		}
		runs.Values = append(runs.Values, v)
		switch {
		case !s.InRounds:
		case s.IsLate(r):
			runs.Rounds = append(runs.Rounds, -1-r.Round)
		default:
			runs.Rounds = append(runs.Rounds, r.Round)
		}
	}
	return runs
}

// DriftOf reports how the machine drifted over the rounds of a study, from all cells. ok is false if it drifted by no
// more than noise.
func DriftOf(s *model.Study, m model.Metric) (drift judge.Drift, ok bool) {
	if !s.InRounds || m.Learns() {
		return judge.Drift{}, false
	}
	var cells []judge.Runs
	for _, c := range s.All() {
		if c.Same == "" {
			cells = append(cells, ownRuns(s, c, m.Name))
		}
	}
	return judge.DriftOf(cells)
}

// runsOf returns the runs of the cell's experiment. Those of the baseline include its A/A cell, except for metrics of
// what was learnt: both have the same seeds, so the A/A cell would repeat the baseline's values.
func runsOf(s *model.Study, c *model.Cell, metric string) judge.Runs {
	c = s.Resolved(c)
	runs := ownRuns(s, c, metric)
	if m, err := model.MetricOf(metric); s.Again != nil && c == s.Cells[s.Baseline] && (err != nil || !m.Learns()) {
		runs = runs.And(ownRuns(s, s.Again, metric))
	}
	return runs
}

// level returns the value that ranks a cell among others: the median of its experiment. A cell may lack the runs of
// slow rounds. In rounds, the level is therefore the baseline's median changed by the cell's difference within rounds.
func level(s *model.Study, c *model.Cell, m model.Metric) float64 {
	return judge.Level(runsOf(s, s.Cells[s.Baseline], m.Name), runsOf(s, c, m.Name))
}
