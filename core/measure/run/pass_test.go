package run

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
)

// lasting returns a run of four trainers with 2, 3, 4 and 5 batches per epoch. Each of the two servers serves half of
// the trainers.
func lasting(warmUp, length stop.Length) *run {
	r := &run{e: experiment(4, 2, registry.Links{Server: true})}
	r.e.WarmUp, r.e.Length = warmUp, length
	return settled(laidOut(r))
}

// A server learns how many batches each of its trainers has, if the number is known.
func TestBatchesOfAPass(t *testing.T) {
	for name, c := range map[string]struct {
		length stop.Length
		want   [][]int64 // by server
	}{
		"epochs":     {stop.Length{Epochs: 3}, [][]int64{{6, 9}, {12, 15}}},
		"at least":   {stop.Length{Epochs: 3, Least: 20}, [][]int64{{20, 30}, {40, 50}}},
		"iterations": {stop.Length{Iterations: 7}, [][]int64{{7, 7}, {7, 7}}},
		"time":       {stop.Length{Time: time.Second}, [][]int64{nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			r := lasting(stop.Length{Epochs: 1}, c.length)
			var got [][]int64
			for _, s := range r.processes.servers {
				got = append(got, expectRequest(r.batches(record.Measured), r.e.World.TrainersOf(s.rank)).GetBatches())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if got := r.batches(record.WarmUp); got[0] != 2 {
				t.Errorf("%s: the warm-up has %v", name, got)
			}
		})
	}
}

// A trainer is built for at least as many epochs as the longest pass has.
func TestMostEpochs(t *testing.T) {
	for _, c := range []struct {
		warmUp, length stop.Length
		want           int32
	}{
		{stop.Length{Epochs: 3}, stop.Length{Epochs: 5}, 5},
		{stop.Length{Epochs: 7}, stop.Length{Epochs: 5}, 7},
		{stop.Length{}, stop.Length{Epochs: 5}, 5},
		{stop.Length{Iterations: 1}, stop.Length{Epochs: 5}, 5},
		{stop.Length{Iterations: 9}, stop.Length{Epochs: 5}, 9},
		{stop.Length{Epochs: 5}, stop.Length{Time: 1}, math.MaxInt32},
		{stop.Length{}, stop.Length{Epochs: 5, Least: 1}, 5},
		{stop.Length{}, stop.Length{Epochs: 5, Least: 20}, 20},
	} {
		t.Run(fmt.Sprint(c.want), func(t *testing.T) {
			r := lasting(c.warmUp, c.length)
			if got := r.mostEpochs(); got != c.want {
				t.Errorf("%+v and %+v: at most %d epochs, want %d", c.warmUp, c.length, got, c.want)
			}
		})
	}
}

// A run without a warm-up has no warm-up phase.
func TestPhaseOfTheWarmUp(t *testing.T) {
	for _, warmUp := range []stop.Length{{}, {Epochs: 1}, {Iterations: 1}, {Time: 1}} {
		t.Run(fmt.Sprint(warmUp.Epochs), func(t *testing.T) {
			r := lasting(warmUp, stop.Length{Epochs: 1})
			names := ""
			for _, p := range r.phases() {
				names += p.Name + ", "
			}
			want := "launch, set-up, planning, connection, warm-up, measured pass, collection, "
			if warmUp == (stop.Length{}) {
				want = "launch, set-up, planning, connection, measured pass, collection, "
			}
			if names != want {
				t.Errorf("%+v: the phases are %s", warmUp, names)
			}
		})
	}
}

// The result states how many epochs the default led to, and why.
func TestDecidedEpochs(t *testing.T) {
	for name, c := range map[string]struct {
		least, epochs int
		value, origin string
	}{
		"enough by themselves": {20, 10, "10", "default of trainer x"},
		"too few":              {20, 9, "10", "default: 20 iterations per trainer"},
		"given":                {0, 9, "9", "default of trainer x, or more for 20 iterations per trainer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{e: experiment(1, 0, registry.Links{})}
			r.e.Length = stop.Length{Epochs: c.epochs, Least: c.least}
			r.e.Values = []result.Value{{Key: "epochs", Value: 9,
				Origin: "default of trainer x, or more for 20 iterations per trainer"}}
			if c.epochs != 9 {
				r.e.Values[0].Value = 10
			}
			settled(laidOut(r))
			if got := r.result.Config[0]; fmt.Sprint(got.Value) != c.value || got.Origin != c.origin {
				t.Errorf("%s: %v", name, got)
			}
			if r.e.Values[0].Origin == "default: 20 iterations per trainer" {
				t.Errorf("%s: the experiment has changed", name)
			}
		})
	}
}

func TestWarningOfFewIterations(t *testing.T) {
	const rest = ", fewer than 20, so that a slow one changes the means: give --iterations 20 or more"
	for i, c := range []struct {
		losses []int
		want   string
	}{
		{[]int{20, 21}, ""},
		{[]int{20, 19}, "trainer1 measured 19 iterations" + rest},
		{[]int{5, 5}, "each trainer measured 5 iterations" + rest},
		{[]int{1, 1}, "each trainer measured 1 iteration" + rest},
		{[]int{3, 2, 0}, "trainer2 measured 0 iterations" + rest},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := settled(laidOut(&run{e: experiment(len(c.losses), 0, registry.Links{})}))
			for _, n := range c.losses {
				r.result.Losses = append(r.result.Losses, make([]float64, n))
			}
			r.warnIterations()
			got := ""
			for _, w := range r.result.Warnings {
				got += w
			}
			if got != c.want {
				t.Errorf("%v: %q, want %q", c.losses, got, c.want)
			}
		})
	}
}
