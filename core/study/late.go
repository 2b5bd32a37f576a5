package study

import (
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/core/judge"
)

// runs are the values of a cell by a metric, with the rounds in which they were measured. A run that was made after its round,
// as when it failed at first, has a round of its own, so that it is compared within none. A cell whose runs were mostly made after
// their rounds, as --extend makes those of new cells, has no rounds.
func (s *Study) runs(c *Cell, metric string) judge.Runs {
	runs := judge.Runs{}
	late, place := 0, slices.Index(s.All(), c)
	for _, r := range c.Runs {
		v, ok := r.Values[metric]
		if !ok {
			continue
		}
		runs.Values = append(runs.Values, v)
		round := r.Round
		if s.isLate(r) {
			late++
			round = -late*len(s.All()) - place // which no other run has
		}
		runs.Rounds = append(runs.Rounds, round)
	}
	if !s.InRounds || 2*late > len(runs.Values) {
		runs.Rounds = nil
	}
	return runs
}

// isLate says whether a run began after a later round of the baseline had begun.
func (s *Study) isLate(r *Run) bool {
	next, ok := s.next[r.Round]
	return ok && r.Started.After(next)
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
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s was run after the rounds of the baseline: a drift of the machine since then looks like a difference", c.Name))
		}
	}
}
