package breakdown

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// lane describes one iteration of a ddp trainer: the duration of each part, in the order of the trainer's series, and
// the time that belongs to no part.
type lane struct{ data, forward, backward, exposed, optimizer, rest int64 }

// series records the iterations of a ddp trainer, starting at fromNS. epoch is the number of iterations in an epoch.
func series(r *result.Result, rank int, fromNS int64, epoch int, lanes []lane) {
	add := func(typ, name string, i int, startNS, ns int64) int64 {
		key := sdk.Key{A: int64(i / epoch), B: int64(i % epoch)}
		r.SeriesOf(rank, typ, name).Add(sdk.Measurement{Key: key, StartNS: startNS, DurationNS: ns})
		return startNS + ns
	}
	at := fromNS
	for i, l := range lanes {
		at = add("iteration_metric", "data", i, at, l.data) + l.rest
		start := at
		at = add("forward_metric", "forward_pass", i, at, l.forward)
		at = add("iteration_metric", "backward", i, at, l.backward)
		at = add("iteration_metric", "exposed communication", i, at, l.exposed)
		at = add("iteration_metric", "optimizer", i, at, l.optimizer)
		add("batch_level_metric", "batch_all", i, start, at-start)
		if i%epoch == epoch-1 {
			at += 1_000_000 // time between epochs, such as for an evaluation
		}
	}
	r.Processes = append(r.Processes, result.Process{Name: fmt.Sprintf("trainer%d", rank), Rank: rank, Kind: "trainer"})
}

func TestBreakdown(t *testing.T) {
	r := &result.Result{Connected: [][]int{{0, 1, 2}}}
	series(r, 0, 1000, 2, []lane{{1, 20, 30, 50, 5, 2}, {1, 20, 80, 2, 5, 0}})
	series(r, 1, 1000, 2, []lane{{1, 20, 60, 20, 5, 2}, {1, 20, 50, 32, 5, 0}})
	series(r, 2, 1000, 2, []lane{{1, 20, 70, 10, 5, 2}, {1, 20, 50, 32, 5, 0}})
	b := Of(r)
	want := []Part{{"data", 6}, {"forward", 120}, {"backward", 340}, {"exposed communication", 146}, {"optimizer", 30}}
	if d := cmp.Diff(want, b.Parts); d != "" {
		t.Error(d)
	}
	if b.Iterations != 6 || b.WallNS != 3*(108+108) || b.RestNS() != 6 {
		t.Errorf("%d iterations take %d, of which %d are in no part", b.Iterations, b.WallNS, b.RestNS())
	}
	// In iteration 0, trainer 2 is ready 10 ns after trainer 1 and 40 ns after trainer 0. In iteration 1, trainer 0 is
	// ready 30 ns after the others.
	if d := cmp.Diff([]Last{{0, 1, 2, 30}, {2, 1, 2, 10}}, b.Waiting.Last); d != "" {
		t.Error(d)
	}
	if got := slices.Collect(b.Waiting.Durations()); !slices.Equal(got, []int64{40, 0, 10, 30, 0, 30}) ||
		b.Waiting.TotalNS != 110 {
		t.Errorf("they wait %v, %d in all", got, b.Waiting.TotalNS)
	}
}

// Trainers wait only for trainers of the same connected set.
func TestOnlyConnectedTrainersWait(t *testing.T) {
	ddp := func(connected ...[]int) *result.Result {
		r := &result.Result{Connected: connected}
		for rank := range 4 {
			series(r, rank, int64(100*rank), 1, []lane{{exposed: 1000}})
		}
		return r
	}
	for name, test := range map[string]struct {
		r    *result.Result
		want []Last
	}{
		"all":            {ddp([]int{0, 1, 2, 3}), []Last{{3, 1, 1, 100}}},
		"two sets":       {ddp([]int{0, 2}, []int{1, 3}), []Last{{2, 1, 1, 200}, {3, 1, 1, 200}}},
		"each by itself": {ddp([]int{0}, []int{1}, []int{2}, []int{3}), nil},
		"unknown":        {ddp(), nil},
		"unknown ranks":  {ddp([]int{0, 7}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := Of(test.r).Waiting
			if (w == nil) != (test.want == nil) || w != nil && cmp.Diff(test.want, w.Last) != "" {
				t.Errorf("%s: %+v, want %+v", name, w, test.want)
			}
		})
	}
}

// A run without iterations has no breakdown. A run whose trainers measured no parts has none either.
func TestNothingToBreakDown(t *testing.T) {
	if b := Of(&result.Result{}); b != nil {
		t.Errorf("nothing is %+v", b)
	}
	r := &result.Result{Processes: []result.Process{{Kind: "trainer"}}}
	r.SeriesOf(0, "epoch_metric", "epoch").Add(sdk.Measurement{DurationNS: 7})
	if b := Of(r); b != nil {
		t.Errorf("an epoch alone is %+v", b)
	}
}

// drawLane draws durations, which may be 0.
func drawLane(t *rapid.T) lane {
	ns := rapid.Int64Range(0, 50)
	return lane{ns.Draw(t, "data"), ns.Draw(t, "forward"), ns.Draw(t, "backward"), ns.Draw(t, "exposed"),
		ns.Draw(t, "optimizer"), ns.Draw(t, "rest")}
}

// The parts and the rest add up to the whole time. No trainer waits longer than it is blocked. In every iteration,
// exactly one trainer is last.
func TestBreakdownLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers, epoch := rapid.IntRange(2, 4).Draw(t, "trainers"), rapid.IntRange(1, 3).Draw(t,
			"iterations of an epoch")
		iterations := epoch * rapid.IntRange(1, 4).Draw(t, "epochs")
		r := &result.Result{Connected: [][]int{{}}}
		rest, exposed := int64(0), int64(0)
		for rank := range trainers {
			list := rapid.SliceOfN(rapid.Custom(drawLane), iterations, iterations).Draw(t, "lanes")
			series(r, rank, rapid.Int64Range(1, 100).Draw(t, "from"), epoch, list)
			r.Connected[0] = append(r.Connected[0], rank)
			for _, l := range list {
				rest, exposed = rest+l.rest, exposed+l.exposed
			}
		}
		b := Of(r)
		sum := b.RestNS()
		for _, p := range b.Parts {
			sum += p.TotalNS
		}
		if sum != b.WallNS || b.RestNS() != rest || b.Iterations != trainers*iterations {
			t.Fatalf("%d iterations: the parts and %d add up to %d, the time is %d, the rest %d", b.Iterations,
				b.RestNS(), sum, b.WallNS, rest)
		}
		if w := b.Waiting.TotalNS; w < 0 || w > exposed {
			t.Fatalf("they wait %d, but are blocked %d", w, exposed)
		}
		times := 0
		for _, l := range b.Waiting.Last {
			times += l.Times
		}
		if times != iterations {
			t.Fatalf("in %d iterations one was last %d times", iterations, times)
		}
		requirePlain(t, r, b, trainers, iterations)
	})
}

// requirePlain compares a breakdown with a simple computation from the definitions, iteration by iteration.
func requirePlain(t *rapid.T, r *result.Result, b *Breakdown, trainers, iterations int) {
	want := map[int]Last{}
	for i := range iterations {
		blocked := blockedIn(r, trainers, i)
		last := plainLast(blocked)
		beforeNS, releasedNS := int64(0), int64(0)
		for rank, m := range blocked {
			if rank != last {
				beforeNS, releasedNS = max(beforeNS, m.StartNS), max(releasedNS, m.StartNS+m.DurationNS)
			}
		}
		l := want[last]
		want[last] = Last{last, l.Times + 1, iterations,
			l.BehindNS + max(0, min(blocked[last].StartNS, releasedNS)-beforeNS)}
	}
	got := map[int]Last{}
	for _, l := range b.Waiting.Last {
		got[l.Rank] = l
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

// blockedIn returns when and for how long each trainer was blocked in an iteration.
func blockedIn(r *result.Result, trainers, iteration int) []sdk.Measurement {
	var blocked []sdk.Measurement
	for rank := range trainers {
		blocked = append(blocked, slices.Collect(r.SeriesOf(rank, Exposed.Type, Exposed.Name).All())[iteration])
	}
	return blocked
}

func plainLast(blocked []sdk.Measurement) (last int) {
	for rank, m := range blocked {
		if m.StartNS > blocked[last].StartNS {
			last = rank
		}
	}
	return last
}
