package verdict

import (
	"math"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// IsShare says whether the floor tells anything as a share: whether what it is relative to, as far as that is one
// value, is above 0.
func (y Yardstick) IsShare() bool { return math.IsNaN(y.Center) || y.Center > 0 }

// sizedFloor is the noise floor of comparisons within sizes: the highest of those of the baseline at each size,
// and how many runs the fewest of these have.
func sizedFloor(s *model.Study, m model.Metric) Yardstick {
	y := Yardstick{Metric: m, Center: math.NaN()}
	for i, c := range s.Counterparts(s.Cells[s.Baseline]) {
		runs := c.Of(m.Name)
		floor, err := judge.FloorOf(runs, s.Seed)
		if err != nil {
			return Yardstick{Metric: m, Center: math.NaN(), of: len(runs), None: err}
		}
		if i == 0 || floor.Change > y.Floor.Change {
			y.Floor = floor
		}
		if i == 0 || len(runs) < y.of {
			y.of = len(runs)
		}
	}
	return y
}

// Yardstick is what differences by a metric are held to: the noise floor of this machine.
type Yardstick struct {
	Metric model.Metric
	Floor  judge.Floor
	Center float64 // the median that the floor is relative to; NaN where there are several
	of     int     // runs, or rounds of a study in rounds
	None   error   // why there is no floor
	// Each says that there is no floor for all, but that each comparison has that of its own rounds.
	Each bool
}

func yardstickOf(s *model.Study, m model.Metric) Yardstick {
	switch {
	case s.WithinAt() >= 0:
		return sizedFloor(s, m)
	case len(s.Cells) == 0:
		_, err := judge.FloorOf(nil, s.Seed)
		return Yardstick{Metric: m, Center: math.NaN(), None: err}
	case s.InRounds && s.Again == nil && !m.Learns():
		return Yardstick{Metric: m, Center: math.NaN(), Each: true}
	}
	baseline := s.Cells[s.Baseline]
	all := runsOf(s, baseline, m.Name).Values
	y := Yardstick{Metric: m, Center: judge.Of(all).Median, of: len(all)}
	switch {
	case m.Learns(): // of which the A/A cell has the same values, since it has the same seeds
		own := ownRuns(s, baseline, m.Name).Values
		y.Floor, y.None = judge.FloorOf(own, s.Seed)
		y.of = len(own)
	case s.InRounds:
		y.Floor, y.None = judge.FloorOfRounds(ownRuns(s, baseline, m.Name), ownRuns(s, s.Again, m.Name))
		y.of = y.Floor.Runs
	default:
		y.Floor, y.None = judge.FloorOf(all, s.Seed)
	}
	return y
}

// compare judges pairs together. Without a floor nothing is proven.
func (y Yardstick) compare(pairs []judge.Pair) []judge.Change {
	return y.compareAmong(pairs, len(pairs))
}

// compareAmong is compare, but says which runs are needed for so many comparisons at least.
func (y Yardstick) compareAmong(pairs []judge.Pair, comparisons int) []judge.Change {
	changes := judge.CompareAmong(pairs, comparisons, y.Metric.Better == model.Higher, y.Floor)
	for i := range changes {
		if y.None != nil {
			changes[i].Verdict, changes[i].Needed = judge.CannotTell, 0
			if ok, fewest := pairs[i].Provable(max(comparisons, len(pairs))); !ok {
				changes[i].Needed = fewest
			}
		}
	}
	return changes
}
