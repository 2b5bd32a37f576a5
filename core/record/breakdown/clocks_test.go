package breakdown

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// onHosts sets the host of each rank, in order, and the possible clock error of each host.
func onHosts(r *result.Result, bounds map[string]int64, hosts ...string) {
	for i := range r.Processes {
		r.Processes[i].Host = hosts[i]
	}
	for host, ns := range bounds {
		r.Clocks = append(r.Clocks, result.HostClock{Host: host, Estimate: clocks.Estimate{BoundNS: ns}})
	}
}

// Between hosts, the last trainer and the waiting are known only if the clocks are accurate enough. Within one host
// they are always known.
func TestWaitingBetweenHosts(t *testing.T) {
	run := func() *result.Result {
		r := &result.Result{Connected: [][]int{{0, 1, 2}}}
		series(r, 0, 1000, 2, []lane{{1, 20, 30, 50, 5, 2}, {1, 20, 80, 2, 5, 0}})
		series(r, 1, 1000, 2, []lane{{1, 20, 60, 20, 5, 2}, {1, 20, 50, 32, 5, 0}})
		series(r, 2, 1000, 2, []lane{{1, 20, 70, 10, 5, 2}, {1, 20, 50, 32, 5, 0}})
		return r
	}
	// In iteration 0, trainer 2 is ready 10 ns after trainer 1 and 40 ns after trainer 0. In iteration 1, trainer 0 is
	// ready 30 ns after the others.
	for name, c := range map[string]struct {
		bounds  map[string]int64
		hosts   []string
		last    []Last
		waits   []int64 // in order of trainers
		close   int
		boundNS int64
	}{
		"one host": {nil, []string{"", "", ""}, []Last{{0, 1, 2, 30}, {2, 1, 2, 10}},
			[]int64{40, 0, 10, 30, 0, 30}, 0, 0},
		"exact clocks": {map[string]int64{"b": 0, "c": 0}, []string{"a", "b", "c"},
			[]Last{{0, 1, 2, 30}, {2, 1, 2, 10}}, []int64{40, 0, 10, 30, 0, 30}, 0, 0},
		"closer than that": {map[string]int64{"b": 4, "c": 6}, []string{"a", "b", "c"}, []Last{{0, 1, 1, 30}},
			[]int64{40, 0, 0, 30, 0, 30}, 1, 10},
		"those of one host": {map[string]int64{"b": 10}, []string{"a", "b", "b"},
			[]Last{{0, 1, 2, 30}, {2, 1, 2, 10}}, []int64{40, 0, 10, 30, 0, 30}, 0, 10},
		"one iteration of two": {map[string]int64{"b": 20, "c": 20}, []string{"a", "b", "c"}, []Last{{0, 1, 1, 30}},
			[]int64{40, 0, 0, 30, 0, 30}, 1, 40},
		"not even who waits": {map[string]int64{"b": 50, "c": 50}, []string{"a", "b", "c"}, []Last{},
			[]int64{0, 0, 0, 0, 0, 0}, 2, 100},
	} {
		t.Run(name, func(t *testing.T) {
			r := run()
			onHosts(r, c.bounds, c.hosts...)
			w := Of(r).Waiting
			if d := cmp.Diff(c.last, w.Last, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if got := slices.Collect(w.Durations()); !slices.Equal(got, c.waits) || w.Close != c.close ||
				w.BoundNS != c.boundNS {
				t.Errorf("%s: waits %v, %d close, ± %d", name, got, w.Close, w.BoundNS)
			}
		})
	}
}

// If a bucket waits for a trainer on another host, the wait counts only if it is longer than the possible difference of
// the clocks.
func TestExchangesBetweenHosts(t *testing.T) {
	m := sdk.Measurement{StartNS: 100, DurationNS: 50}
	for _, c := range []struct{ pushed, arrived, apart, waiting, transfer, reduction int64 }{
		{110, 120, 0, 10, 35, 5}, {110, 120, 9, 10, 35, 5}, {110, 120, 10, 0, 45, 5}, {100, 120, 10, 0, 45, 5},
		{110, 147, 0, 10, 37, 3}, {110, 147, 9, 10, 35, 5}, // the server's clock is ahead
	} {
		t.Run(fmt.Sprint(c.pushed), func(t *testing.T) {
			e := cut(0, m, m.StartNS, m.StartNS, c.pushed, c.arrived, c.arrived+5, c.apart)
			if e.WaitingNS != c.waiting || e.TransferNS != c.transfer || e.ReductionNS != c.reduction {
				t.Errorf("pushed at %d, ± %d: %+v", c.pushed, c.apart, e)
			}
		})
	}
}

// If trainers run on several hosts, the time of an iteration is the longest that any host measured. Differences between
// the hosts' clocks have no effect.
func TestIterationsOnHosts(t *testing.T) {
	run := func(ahead int64) *result.Result {
		r := &result.Result{Connected: [][]int{{0, 1, 2}}}
		series(r, 0, 1000, 3, []lane{{1, 20, 30, 50, 5, 0}, {1, 20, 30, 50, 5, 0}, {1, 20, 30, 50, 5, 0}})
		series(r, 1, 1000, 3, []lane{{1, 20, 30, 50, 5, 0}, {1, 20, 35, 50, 5, 0}, {1, 20, 30, 50, 5, 0}})
		series(r, 2, 1000+ahead, 3, []lane{{1, 20, 30, 51, 5, 0}, {1, 20, 30, 50, 5, 0}})
		return r
	}
	r := run(0)
	if d := cmp.Diff([][]Iteration{{{0, 107}, {0, 110}}}, Iterations(r)); d != "" {
		t.Errorf("on one host: %s", d)
	}
	for _, ahead := range []int64{0, 40, -40} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			r := run(ahead)
			onHosts(r, map[string]int64{"b": 50}, "a", "a", "b")
			if d := cmp.Diff([][]Iteration{{{0, 107}, {0, 111}}}, Iterations(r)); d != "" {
				t.Errorf("on two, %d ahead: %s", ahead, d)
			}
		})
	}
}
