package judge

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/numeral"
)

// inRounds returns runs with value i in round i.
func inRounds(values ...float64) Runs {
	r := Runs{Values: values, Rounds: []int{}}
	for i := range values {
		r.Rounds = append(r.Rounds, i)
	}
	return r
}

// twice joins the runs of a baseline and its A/A cell, each with one run in every round.
func twice(baseline, again []float64) Runs { return joined(inRounds(baseline...), inRounds(again...)) }

// base drifts by more than the changes in the tests.
var base = twice([]float64{100, 90, 120, 105, 99, 110}, []float64{102, 93, 118, 105, 96, 113})

// lost marks a run that failed.
const lost = -12345

// A Python program computed the expected numbers. It integrates the density of Student's distribution and tries all
// signs.
func TestWithinRounds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		old   Runs
		new   []float64
		floor float64
		want  Change
	}{
		"drift": {base, []float64{107, 96, 127, 110, 103, 118}, 0.002,
			Change{Change: 0.0574631, Low: 0.0482951, High: 0.0645902, Floor: 0.00481843, P: 3.872528e-5,
				Verdict: Better}},
		"an outlier": {base, []float64{107, 96, 12.7, 110, 103, 118}, 0.01,
			Change{Change: 0.0529221, Low: 0.0325587, High: 0.0651264, Floor: 0.01, P: 0.00104789, Verdict: Better}},
		"below the floor": {base, []float64{107, 96, 127, 110, 103, 118}, 0.06,
			Change{Change: 0.0574631, Low: 0.0482951, High: 0.0645902, Floor: 0.06, P: 3.872528e-5, Verdict: CannotTell,
				Needed: 14}},
		"a lost round": {base, []float64{107, 96, 127, 110, 103, lost}, 0.002,
			Change{Change: 0.0565353, Low: 0.0447471, High: 0.0674056, Floor: 0.00687488, P: 5.146906e-4,
				Verdict: Better}},
		"three rounds": {base, []float64{107, 96, 127, lost, lost, lost}, 0.002,
			Change{Change: 0.0594, Low: -inf, High: inf, Floor: 0.0073684, P: 1, Verdict: CannotTell, Needed: 4}},
		"no round of both": {inRounds(lost, 90, lost, 105), []float64{107, lost, 127}, 0.002,
			Change{Change: nan, Low: -inf, High: inf, Floor: 0.002, P: 1, Verdict: CannotTell}},
		"values below zero": {twice([]float64{-1, 0, 3, 2, -2, 1}, []float64{1, 2, 1, 2, 0, 4}),
			[]float64{5, 7, 6, 9, 4, 8}, 0.1, Change{Change: 5.25, Low: 4.2598145, High: 6.5735188, Floor: 0.5,
				FloorDifference: 0.5, P: 2.0203995e-4, Difference: &Difference{5.25, 4.2598145, 6.5735188},
				Verdict: Better}},
		"from zero": {inRounds(0, 0, 0, 0, 0, 0), []float64{5, 5, 5, 5, 5, 5}, 0.1,
			Change{Change: nan, Low: nan, High: nan, P: 0.03125, Floor: 0, Difference: &Difference{5, 5, 5},
				Verdict: Better}},
		"zero as before": {inRounds(0, 0, 0, 0, 0, 0), []float64{0, 0, 0, 0, 0, 0}, 0.1,
			Change{Change: 0, P: 1, Floor: 0, Difference: &Difference{}, Verdict: CannotTell, Needed: MostNeeded + 1}},
		"counts": {inRounds(10, 20, 30, 10, 20, 30), []float64{11, 22, 33, 11, 22, 33}, 0.01,
			Change{Change: 0.1, Low: 0.1, High: 0.1, P: 0.03125, Floor: 0.01, Verdict: Better}},
		"few equal counts": {inRounds(10, 10, 10, 10), []float64{11, 11, 11, 11}, 0,
			Change{Change: 0.1, Low: 0.1, High: 0.1, P: 0.125, Verdict: CannotTell, Needed: 6}},
		"unchanged counts": {inRounds(10, 20, 30, 10), []float64{10, 20, 30, 10}, 0,
			Change{P: 1, Verdict: CannotTell, Needed: MostNeeded + 1}},
		"a rounding error": {inRounds(0.3, 0.3, 0.3, 0.3, 0.3, 0.3),
			slices.Repeat([]float64{math.Nextafter(0.3, 1)}, 6), 0,
			Change{P: 1, Verdict: CannotTell, Needed: MostNeeded + 1}},
		"nearly from zero": {inRounds(1e-6, 1e-6, 1e-6, 1e-6), []float64{200, 210, 190, 205}, 0.1,
			Change{Change: 202484566, Low: 183417731, High: 220514451, Floor: 0.1, FloorDifference: 1e-7,
				P: 1.253384e-6, Difference: &Difference{202.5, 183.417731, 220.514451}, Verdict: Better}},
		"no number in a run": {base, []float64{107, 96, nan, 110, 103, 118}, 0.002,
			Change{Change: nan, Low: -inf, High: inf, Floor: 0.002, P: 1, Verdict: CannotTell}},
		"no end": {base, []float64{107, 96, inf, 110, 103, 118}, 0.002,
			Change{Change: nan, Low: -inf, High: inf, Floor: 0.002, P: 1, Verdict: CannotTell}},
		"no run": {base, nil, 0.002,
			Change{Change: nan, Low: -inf, High: inf, Floor: 0.002, P: 1, Verdict: CannotTell}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pair{without(c.old), without(inRounds(c.new...))}
			before := Pair{clone(p.Old), clone(p.New)}
			got := Compare([]Pair{p}, true, Floor{c.floor, 6})[0]
			c.want.Adjusted = c.want.P
			c.want.Rounds = got.Rounds
			if d := cmp.Diff(c.want, got, near); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if d := cmp.Diff(before, p, near); d != "" {
				t.Errorf("%s: the runs are other ones now: %s", name, d)
			}
		})
	}
}

// without returns the runs that were not lost.
func without(r Runs) Runs {
	out := Runs{Rounds: []int{}}
	for i, v := range r.Values {
		if v != lost {
			out.Values, out.Rounds = append(out.Values, v), append(out.Rounds, r.Rounds[i])
		}
	}
	return out
}

func clone(r Runs) Runs { return Runs{slices.Clone(r.Values), slices.Clone(r.Rounds)} }

// A change and its mirror image have the same p and the same floor.
func TestMirroredChanges(t *testing.T) {
	for _, times := range []float64{1.93, 1.05, 12} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			up, down := make([]float64, 6), make([]float64, 6)
			old := []float64{100, 90, 120, 105, 99, 110}
			for i, v := range old {
				by := times * math.Exp(float64(i%3-1)/50)
				up[i], down[i] = v*by, v/by
			}
			for _, floor := range []float64{0, times - 1.01, times - 0.98} {
				c := Compare([]Pair{{inRounds(old...), inRounds(up...)}, {inRounds(old...), inRounds(down...)}}, true,
					Floor{floor, 6})
				more, less := c[0], c[1]
				if math.Abs(more.P/less.P-1) > 1e-6 || more.Proven() != less.Proven() || more.Needed != less.Needed ||
					math.Abs((1+more.Change)*(1+less.Change)-1) > 1e-9 {
					t.Errorf("%v times, above a floor of %v: %+v and %+v", times, floor, more, less)
				}
				if want := times-1 > floor; more.Proven() != want {
					t.Errorf("%v times, above a floor of %v: %+v", times, floor, more)
				}
			}
		})
	}
	// A floor above 100 % does not hide every slowdown.
	floor := Floor{1.378, 6}
	for by, want := range map[float64]Verdict{2.3: CannotTell, 2.5: Worse} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			fresh := make([]float64, 6)
			for i := range fresh {
				fresh[i] = (100 + float64(i)) / by
			}
			for name, p := range map[string]Pair{
				"in rounds": {inRounds(100, 100, 100, 100, 100, 100), inRounds(fresh...)},
				"apart":     {Apart([]float64{98, 99, 100, 101, 102, 103}), Apart(fresh)},
			} {
				if c := Compare([]Pair{p}, true, floor)[0]; c.Verdict != want {
					t.Errorf("%s, %v times slower: %+v", name, by, c)
				}
			}
		})
	}
}

// The result does not depend on the order of the runs, on the numbers of the rounds, or on a round that only one side
// has.
func TestOrderOfRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "rounds")
		values := rapid.SliceOfN(rapid.Float64Range(rapid.SampledFrom([]float64{-5, 0.1}).Draw(t, "least"), 5), n, n)
		p := Pair{twice(values.Draw(t, "baseline"), values.Draw(t, "again")), inRounds(values.Draw(t, "new")...)}
		want := Compare([]Pair{p}, true, Floor{0.01, n})[0]
		q := Pair{shuffled(t, p.Old), shuffled(t, p.New)}
		for _, r := range []Runs{q.Old, q.New} {
			for i := range r.Rounds {
				r.Rounds[i] = 100 - 7*r.Rounds[i]
			}
		}
		got := Compare([]Pair{q}, true, Floor{0.01, n})[0]
		exact := cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-9, 1e-12),
			cmpopts.IgnoreUnexported(Change{})}
		if d := cmp.Diff(want, got, exact); d != "" {
			t.Fatal(d)
		}
		q.New.Values, q.New.Rounds = append(q.New.Values, numeral.Median(q.New.Values)), append(q.New.Rounds, 1000)
		if d := cmp.Diff(p.differences(false), sortedBack(q.differences(false)), exact); d != "" {
			t.Fatalf("with a round more: %s", d)
		}
	})
}

func shuffled(t *rapid.T, r Runs) Runs {
	order := make([]int, len(r.Values))
	for i := range order {
		order[i] = i
	}
	out := Runs{Rounds: []int{}}
	for _, i := range rapid.Permutation(order).Draw(t, "order") {
		out.Values, out.Rounds = append(out.Values, r.Values[i]), append(out.Rounds, r.Rounds[i])
	}
	return out
}

// sortedBack restores the order of d after the test numbered the rounds backwards.
func sortedBack(d []float64) []float64 {
	slices.Reverse(d)
	return d
}

// The interval of a proven change lies on the same side of 0 as the change. No result is NaN or out of range.
func TestProofsAgreeWithIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "rounds")
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-1, 5), rapid.Float64Range(1, 1.1),
			rapid.SampledFrom([]float64{0, 1, 2, 1e-9, 1e9})), n, n)
		p := Pair{inRounds(values.Draw(t, "old")...), inRounds(values.Draw(t, "new")...)}
		c := Compare([]Pair{p}, true, Floor{})[0]
		switch {
		case math.IsNaN(c.P) || c.P < 0 || c.P > 1 || c.Needed < 0 || c.Needed > MostNeeded+1 || c.Floor < 0:
			t.Fatalf("%+v", c)
		case c.Difference != nil:
			checkInterval(t, c, c.Difference.Change, c.Difference.Low, c.Difference.High)
		default:
			checkInterval(t, c, c.Change, c.Low, c.High)
		}
	})
}

func checkInterval(t *rapid.T, c Change, change, low, high float64) {
	if math.IsNaN(change) || math.IsNaN(low) || math.IsNaN(high) || change < low || change > high {
		t.Fatalf("%v is not from %v to %v: %+v", change, low, high, c)
	}
	if c.Proven() && (c.Verdict == Better) != (low > 0) || c.Proven() && (c.Verdict == Worse) != (high < 0) {
		t.Fatalf("%s, but from %v to %v: %+v", c.Verdict, low, high, c)
	}
}
