package verdict

import (
	"math"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// IsShare reports whether a floor in percent is meaningful. The center must be above 0, unless there are several
// centers.
func (y Yardstick) IsShare() bool { return math.IsNaN(y.Center) || y.Center > 0 }

// sizedFloor returns the noise floor for comparisons within sizes: the baseline's highest floor over all sizes. Its
// number of runs is the smallest number over the sizes.
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

// Yardstick is the noise floor of this machine for one metric. A difference must exceed it to be proven.
type Yardstick struct {
	Metric model.Metric
	Floor  judge.Floor
	Center float64 // the floor is relative to this median; NaN if there are several medians
	of     int     // number of runs (or rounds, if the study has some) from which the floor was computed
	None   error   // reason why there is no floor
	// Each is true if there is no common floor. Each comparison then uses the floor of its own rounds.
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
	case m.Learns(): // the A/A cell has the same seeds, so it would repeat the baseline's values
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

// compare judges pairs together. Without a floor it proves no change.
func (y Yardstick) compare(pairs []judge.Pair) []judge.Change {
	return y.compareAmong(pairs, len(pairs))
}

// compareAmong works like compare but estimates each Needed for at least this many comparisons.
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
