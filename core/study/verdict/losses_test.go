package verdict

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
)

// lossy returns a study of this many cells plus the baseline. Each round has one seed. The seed changes the losses of
// all cells together by 0.5 %; noise of 2 % comes on top in each cell. The losses of the last cell are multiplied by
// 1+worse.
func lossy(cells int, worse float64, random *rand.Rand) *model.Study {
	axis := model.Axis{Name: "server"}
	for i := range cells + 1 {
		axis.Values = append(axis.Values, fmt.Sprint(i))
	}
	s := modeltest.Made([]model.Axis{axis},
		func([]string) modeltest.Plot { return modeltest.Plot{Throughput: 1000, Runs: 10} })
	for round := range 10 {
		seed := 0.3 * (1 + 0.005*random.NormFloat64())
		for i, c := range s.Cells {
			c.Runs[round].Values[model.HeldOutLoss] = seed * (1 + 0.02*random.NormFloat64())
			if i == cells {
				c.Runs[round].Values[model.HeldOutLoss] *= 1 + worse
			}
		}
		// The A/A cell has the same seed as the baseline and therefore the same loss.
		s.Again.Runs[round].Values[model.HeldOutLoss] = s.Cells[0].Runs[round].Values[model.HeldOutLoss]
	}
	return s
}

func barredOf(s *model.Study, m model.Metric) []*model.Cell { return Contests(s, m)[0].Barred }

// If all cells have equal losses, hardly any study bars a cell, even if there are many cells. A cell is barred if its
// loss is worse by more than the variation between seeds.
func TestBarredForLoss(t *testing.T) {
	m := modeltest.Throughput(t)
	for _, cells := range []int{1, 5, 20} {
		t.Run(fmt.Sprint(cells), func(t *testing.T) {
			const studies = 500
			random := rand.New(rand.NewPCG(1, uint64(cells))) // #nosec G404 -- it must be the same each time
			wrong, right := 0, 0
			for range studies {
				o := lossyContest(lossy(cells, 0, random))
				if judgeLosses([]*Contest{o}); anyBarred(o) {
					wrong++
				}
			}
			for range 20 {
				if barred := barredOf(lossy(cells, 0.2, random), m); len(barred) == 1 &&
					barred[0].Name == fmt.Sprintf("server=%d", cells) {
					right++
				}
			}
			if wrong > studies*56/1000 {
				t.Errorf("of %d studies of equal losses %d bar a cell", studies, wrong)
			}
			if right < 19 {
				t.Errorf("of 20 studies with a cell that is worse only %d bar it alone", right)
			}
		})
	}
}

// lossyContest returns a contest whose losses are not judged yet.
func lossyContest(s *model.Study) *Contest {
	o := &Contest{Study: s, Cells: s.Cells, Losses: map[*model.Cell]Loss{}}
	o.refer()
	return o
}

func anyBarred(o *Contest) bool {
	for _, l := range o.Losses {
		if l.barred {
			return true
		}
	}
	return false
}

// Losses are compared by seed if the runs have seeds, in rounds or not, and in any order.
func TestLossesArePairedBySeed(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3)) // #nosec G404 -- it must be the same each time
	s := lossy(1, 0.02, random)
	for _, r := range s.AllRuns() {
		r.Seed = 1000 + uint64(r.Round) // #nosec G115 -- of ten rounds
	}
	want := lossOf(s)
	if want.Change.Rounds != 10 {
		t.Fatalf("%d seeds are compared", want.Change.Rounds)
	}
	s.InRounds = false
	runs := s.Cells[1].Runs
	for i, k := range random.Perm(len(runs)) {
		runs[i], runs[k] = runs[k], runs[i]
	}
	for i, r := range runs {
		r.Round = i
	}
	if got := lossOf(s); got.Change.P != want.Change.P || got.Change.Rounds != 10 {
		t.Errorf("not in rounds, p is %v of %d seeds, not %v", got.Change.P, got.Change.Rounds, want.Change.P)
	}
	// The A/A cell only repeats the losses of the baseline.
	s.Again = nil
	if got := lossOf(s); got.Change.P != want.Change.P || got.Floor != want.Floor {
		t.Errorf("without the A/A cell, p is %v and the floor %+v, not %v and %+v", got.Change.P, got.Floor,
			want.Change.P, want.Floor)
	}
	// All runs have the same seed, so they form no pairs.
	for _, r := range s.AllRuns() {
		r.Seed = 7
	}
	if got := lossOf(s); got.Change.Rounds != 0 || got.Change.P >= 1 || !got.Compared {
		t.Errorf("with one seed: %+v", got.Change)
	}
}

func lossOf(s *model.Study) Loss {
	o := lossyContest(s)
	judgeLosses([]*Contest{o})
	return o.Losses[s.Cells[1]]
}
