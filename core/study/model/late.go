package study

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/core/study/judge"
)

// runs are the values of a cell by a metric, with the rounds in which they were measured. Runs that were made after their round,
// as those that failed at first and those of cells that --extend adds, have rounds of their own below 0: they are compared
// with each other, and with no run that was made in time.
func (s *Study) runs(c *Cell, metric string) judge.Runs {
	runs := judge.Runs{}
	for _, r := range c.Runs {
		v, ok := r.Values[metric]
		if !ok {
			continue
		}
		runs.Values = append(runs.Values, v)
		switch {
		case !s.InRounds:
		case s.isLate(r):
			runs.Rounds = append(runs.Rounds, -1-r.Round)
		default:
			runs.Rounds = append(runs.Rounds, r.Round)
		}
	}
	return runs
}

// drift is how the machine drifted over the rounds of a study, by all cells; ok is false if by no more than noise.
func (s *Study) drift(m Metric) (drift judge.Drift, ok bool) {
	if !s.InRounds || m.learns() {
		return judge.Drift{}, false
	}
	var cells []judge.Runs
	for _, c := range s.All() {
		if c.Same == "" {
			cells = append(cells, s.runs(c, m.Name))
		}
	}
	return judge.DriftOf(cells)
}

// isLate says whether a run began after a later round of the baseline had begun.
func (s *Study) isLate(r *Run) bool {
	next, ok := s.next[r.Round]
	return ok && r.Started.After(next)
}

// Settle derives what follows from the runs together: when the rounds of a study in rounds ended, and what cells left out of
// their data.
func (s *Study) Settle() {
	if s.InRounds {
		s.setRounds()
	}
	s.settleUnseen()
}

// setRounds notes when rounds ended: for each one when the first run of a later round of the baseline or of its A/A cell began.
func (s *Study) setRounds() {
	s.next = map[int]time.Time{}
	baseline := []*Cell{s.Cells[s.Baseline]}
	if s.Again != nil {
		baseline = append(baseline, s.Again)
	}
	for _, c := range baseline {
		for _, r := range c.Runs {
			for round := range r.Round {
				if first, ok := s.next[round]; !ok || r.Started.Before(first) {
					s.next[round] = r.Started
				}
			}
		}
	}
	for _, c := range s.Cells {
		late := 0
		for _, r := range c.Runs {
			if s.isLate(r) {
				late++
			}
		}
		if 2*late > len(c.Runs) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s was run after the rounds of the baseline, and a drift of the machine since then looks like a difference: nothing is proven between them", c.Name))
		}
	}
}
