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

// onHosts says where ranks were, in their order, and by how much the clocks of hosts may be wrong.
func onHosts(r *result.Result, bounds map[string]int64, hosts ...string) {
	for i := range r.Processes {
		r.Processes[i].Host = hosts[i]
	}
	for host, ns := range bounds {
		r.Clocks = append(r.Clocks, result.HostClock{Host: host, Estimate: clocks.Estimate{BoundNS: ns}})
	}
}

// The last trainer, and the waiting, are known only if the clocks of the hosts tell; within one host they always
// do.
func TestWaitingBetweenHosts(t *testing.T) {
	run := func() *result.Result {
		r := &result.Result{Connected: [][]int{{0, 1, 2}}}
		series(r, 0, 1000, 2, []lane{{1, 20, 30, 50, 5, 2}, {1, 20, 80, 2, 5, 0}})
		series(r, 1, 1000, 2, []lane{{1, 20, 60, 20, 5, 2}, {1, 20, 50, 32, 5, 0}})
		series(r, 2, 1000, 2, []lane{{1, 20, 70, 10, 5, 2}, {1, 20, 50, 32, 5, 0}})
		return r
	}
	// In iteration 0 trainer 2 comes 10 after trainer 1 and 40 after trainer 0, in iteration 1 trainer 0 comes
	// 30 after the others.
	for name, c := range map[string]struct {
		bounds  map[string]int64
		hosts   []string
		last    []Last
		waits   []int64 // trainer by trainer
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

// A bucket's wait for a trainer of another host counts once it is longer than the clocks may be apart.
func TestExchangesBetweenHosts(t *testing.T) {
	m := sdk.Measurement{StartNS: 100, DurationNS: 50}
	for _, c := range []struct{ pushed, arrived, apart, waiting, transfer, reduction int64 }{
		{110, 120, 0, 10, 35, 5}, {110, 120, 9, 10, 35, 5}, {110, 120, 10, 0, 45, 5}, {100, 120, 10, 0, 45, 5},
		{110, 147, 0, 10, 37, 3}, {110, 147, 9, 10, 35, 5}, // the server is ahead
	} {
		t.Run(fmt.Sprint(c.pushed), func(t *testing.T) {
			e := cut(0, m, m.StartNS, m.StartNS, c.pushed, c.arrived, c.arrived+5, c.apart)
			if e.WaitingNS != c.waiting || e.TransferNS != c.transfer || e.ReductionNS != c.reduction {
				t.Errorf("pushed at %d, ± %d: %+v", c.pushed, c.apart, e)
			}
		})
	}
}

// Iterations of several hosts take as long as the slowest host saw them, whatever their clocks say.
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
