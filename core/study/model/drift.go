package study

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/internal/screen"
)

// driftText says that the machine drifted, and by how much; "" if no more than by noise.
func (s *Study) driftText(m Metric) string {
	drift, ok := s.drift(m)
	if !ok {
		return ""
	}
	how := ""
	if drift.Steady {
		how = ", and rose over the rounds"
		if drift.Least > drift.Most {
			how = ", and fell over the rounds"
		}
	}
	return fmt.Sprintf("the machine drifted by %s: over all cells the %s was lowest in round %d and highest in round %d%s; comparisons are within rounds, so this changes none of them",
		screen.Percent(math.Abs(drift.Change)), m.worded(), drift.Least, drift.Most, how)
}
