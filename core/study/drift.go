package study

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/core/judge"
	"github.com/psbench/psbench/core/screen"
)

// driftText says that the machine drifted from round to round, and by how much; "" if no more than by noise.
func (s *Study) driftText(m Metric) string {
	if !s.InRounds || m.learns() {
		return ""
	}
	var cells []judge.Runs
	for _, c := range s.All() {
		if c.Same == "" {
			cells = append(cells, s.runs(c, m.Name))
		}
	}
	drift, ok := judge.DriftOf(cells)
	if !ok {
		return ""
	}
	how := ""
	if drift.Steady {
		how = ", more in each than in the one before"
		if drift.Least > drift.Most {
			how = ", less in each than in the one before"
		}
	}
	return fmt.Sprintf("from round to round the machine drifted by %s: all cells together have the least %s in round %d and the most in round %d%s; comparisons are within rounds, so it does not count",
		screen.Percent(math.Abs(drift.Change)), m.worded(), drift.Least, drift.Most, how)
}
