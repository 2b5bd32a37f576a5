package study

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/judge"
)

// lossy is a study of so many cells beside the baseline, with a seed for each round. Losses differ from seed to seed by 0.5 % in
// all cells alike, and by 2 % in each by itself. The last cell has losses that are worse by a share.
func lossy(cells int, worse float64, random *rand.Rand) *Study {
	axis := Axis{Name: "server"}
	for i := range cells + 1 {
		axis.Values = append(axis.Values, fmt.Sprint(i))
	}
	s := made([]Axis{axis}, func([]string) plot { return plot{throughput: 1000, runs: 10} })
	for round := range 10 {
		seed := 0.3 * (1 + 0.005*random.NormFloat64())
		for i, c := range s.Cells {
			c.Runs[round].Values[HeldOutLoss] = seed * (1 + 0.02*random.NormFloat64())
			if i == cells {
				c.Runs[round].Values[HeldOutLoss] *= 1 + worse
			}
		}
		s.Again.Runs[round].Values[HeldOutLoss] = s.Cells[0].Runs[round].Values[HeldOutLoss] // of the same seed
	}
	return s
}

func barredOf(s *Study, m Metric) []*Cell { return s.contests(m)[0].barred }

// Of cells with equal losses hardly any study bars one, however many there are; one that is worse by more than seeds
// differ is barred.
func TestBarredForLoss(t *testing.T) {
	m := throughput(t)
	for _, cells := range []int{1, 5, 20} {
		t.Run(fmt.Sprint(cells), func(t *testing.T) {
			const studies = 500
			random := rand.New(rand.NewPCG(1, uint64(cells))) // #nosec G404 -- it must be the same each time
			wrong, right := 0, 0
			for range studies {
				o := lossyContest(lossy(cells, 0, random))
				if judgeLosses([]*contest{o}); anyBarred(o) {
					wrong++
				}
			}
			for range 20 {
				if barred := barredOf(lossy(cells, 0.2, random), m); len(barred) == 1 && barred[0].Name == fmt.Sprintf("server=%d", cells) {
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

// lossyContest is one before its losses are judged.
func lossyContest(s *Study) *contest {
	o := &contest{study: s, cells: s.Cells, losses: map[*Cell]loss{}}
	o.refer()
	return o
}

func anyBarred(o *contest) bool {
	for _, l := range o.losses {
		if l.barred {
			return true
		}
	}
	return false
}

// Losses are compared by seed wherever runs have seeds, in rounds or not, and in whatever order.
func TestLossesArePairedBySeed(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3)) // #nosec G404 -- it must be the same each time
	s := lossy(1, 0.02, random)
	for _, r := range s.allRuns() {
		r.Seed = 1000 + uint64(r.Round) // #nosec G115 -- of ten rounds
	}
	want := lossOf(s)
	if want.change.Rounds != 10 {
		t.Fatalf("%d seeds are compared", want.change.Rounds)
	}
	s.InRounds = false
	runs := s.Cells[1].Runs
	for i, k := range random.Perm(len(runs)) {
		runs[i], runs[k] = runs[k], runs[i]
	}
	for i, r := range runs {
		r.Round = i
	}
	if got := lossOf(s); got.change.P != want.change.P || got.change.Rounds != 10 {
		t.Errorf("not in rounds, p is %v of %d seeds, not %v", got.change.P, got.change.Rounds, want.change.P)
	}
	// The A/A cell's losses are the baseline's once more.
	s.Again = nil
	if got := lossOf(s); got.change.P != want.change.P || got.floor != want.floor {
		t.Errorf("without the A/A cell, p is %v and the floor %+v, not %v and %+v", got.change.P, got.floor, want.change.P, want.floor)
	}
	// All runs have one seed: they are no pairs.
	for _, r := range s.allRuns() {
		r.Seed = 7
	}
	if got := lossOf(s); got.change.Rounds != 0 || got.change.P >= 1 || !got.compared {
		t.Errorf("with one seed: %+v", got.change)
	}
}

func lossOf(s *Study) loss {
	o := lossyContest(s)
	judgeLosses([]*contest{o})
	return o.losses[s.Cells[1]]
}

// What a loss says beside the reference.
func TestLossTold(t *testing.T) {
	s := speeds(map[string]float64{"average": 1000, "batch": 1100, "sum": 900}, nil)
	o := &contest{study: s, cells: s.Cells, reference: s.Cells[0]}
	for want, l := range map[string]loss{
		"held-out loss 0.3000, which the others are compared with":                              {median: 0.3, reference: 0.3},
		"held-out loss 0.3000, beside 0.3000 of the baseline (the same)":                        {median: 0.3, reference: 0.3, compared: true},
		"held-out loss 0.3000, beside 0.3000 of the baseline (the same but for rounding)":       {median: 0.3, reference: 0.3, compared: true, change: judge.Change{Change: 1e-7}},
		"held-out loss 0.3300, beside 0.3000 of the baseline (+10.0 %, p = 0.030, floor 1.0 %)": {median: 0.33, reference: 0.3, compared: true, change: judge.Change{Change: 0.1, Adjusted: 0.03}, floor: judge.Floor{Change: 0.01}},
		"held-out loss 0.3000, beside a loss of the baseline that is not finite":                {median: 0.3, reference: nan, compared: true, change: judge.Change{Change: nan}},
	} {
		if got := o.describe(l); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if text := o.lossText(); !strings.HasPrefix(text, "not known") {
		t.Errorf("before anything is judged it says %q", text)
	}
}
