package verdict

import (
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// ownRuns returns the values of a cell for a metric, with their rounds. Some runs were made after their round: repeated
// failed runs, and runs of cells that --extend added. Such late runs get negative round numbers. They are compared with
// each other, but not with runs that were made in time.
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

// DriftOf reports how the machine drifted over the rounds of a study. It uses all cells. ok is false if the drift is
// within the noise.
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

// runsOf returns the runs of the cell's experiment. The runs of the baseline include its A/A cell, except for metrics
// that depend on learning. Both cells have the same seeds, so the A/A cell would only repeat the baseline's values of
// such metrics.
func runsOf(s *model.Study, c *model.Cell, metric string) judge.Runs {
	c = s.Resolved(c)
	runs := ownRuns(s, c, metric)
	if m, err := model.MetricOf(metric); s.Again != nil && c == s.Cells[s.Baseline] && (err != nil || !m.Learns()) {
		runs = runs.And(ownRuns(s, s.Again, metric))
	}
	return runs
}

// level returns the value that ranks a cell among others: the median of its experiment. A cell may lack runs of slow
// rounds and look too good. In a study with rounds, the level is therefore the baseline's median changed by the cell's
// median difference within rounds.
func level(s *model.Study, c *model.Cell, m model.Metric) float64 {
	return judge.Level(runsOf(s, s.Cells[s.Baseline], m.Name), runsOf(s, c, m.Name))
}
