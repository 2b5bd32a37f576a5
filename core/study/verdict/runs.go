package verdict

import (
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// ownRuns are the values of a cell by a metric, with the rounds in which they were measured. Runs that were made after
// their round, as those that failed at first and those of cells that --extend adds, have rounds of their own below 0:
// they are compared with each other, and with no run that was made in time.
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

// DriftOf is how the machine drifted over the rounds of a study, by all cells; ok is false if by no more than noise.
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

// runsOf are the runs of the experiment of a cell: of the baseline with those of its A/A cell, which are of the same.
// What these learn is that of the baseline once more, since both have the same seeds.
func runsOf(s *model.Study, c *model.Cell, metric string) judge.Runs {
	c = s.Resolved(c)
	runs := ownRuns(s, c, metric)
	if m, err := model.MetricOf(metric); s.Again != nil && c == s.Cells[s.Baseline] && (err != nil || !m.Learns()) {
		runs = runs.And(ownRuns(s, s.Again, metric))
	}
	return runs
}

// level is by what a cell is ranked among others: the median of its experiment. In rounds it is that of the baseline,
// changed by what the cell differs by within rounds, since the runs that a cell lacks may be those of slow rounds.
func level(s *model.Study, c *model.Cell, m model.Metric) float64 {
	return judge.Level(runsOf(s, s.Cells[s.Baseline], m.Name), runsOf(s, c, m.Name))
}
