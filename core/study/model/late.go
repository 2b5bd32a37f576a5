package model

import (
	"fmt"
	"time"
)

// IsLate reports whether a run began too late: a later round of the baseline had already begun.
func (s *Study) IsLate(r *Run) bool {
	next, ok := s.next[r.Round]
	return ok && r.Started.After(next)
}

// Settle derives values that depend on all runs together: the end of each round, and the data that each cell left out.
func (s *Study) Settle() {
	if s.InRounds {
		s.setRounds()
	}
	s.settleUnseen()
}

// setRounds records the end of each round: the start of the first run in a later round of the baseline or its A/A cell.
// It warns of cells whose runs are mostly late.
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
			if s.IsLate(r) {
				late++
			}
		}
		if 2*late > len(c.Runs) {
			s.Warnings = append(s.Warnings,
				fmt.Sprintf("%s ran later than the baseline, so a drift of the machine could look like a difference: nothing is proven between them",
					c.Name))
		}
	}
}
