package breakdown

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
)

var (
	blocking = Metric{record.HookMetric, record.HookBlocking}
	beside   = Metric{record.HookMetric, record.HookBeside}
)

func timesOf(r *result.Result) map[string]int64 {
	got := map[string]int64{}
	for _, p := range Of(r).Times() {
		got[p.Name] = p.TotalNS
	}
	return got
}

// The hook of trainer 0 needs 20 before it calls its link. Trainer 1 is blocked 5 after trainer 0, and has already
// called its link. So trainer 1 waits for trainer 0, although trainer 0 was blocked first.
func TestAHookThatCallsItsLinkLate(t *testing.T) {
	for name, servers := range map[string]int{"all-reduce": 0, "server": 1} {
		t.Run(name, func(t *testing.T) {
			r := world(0, servers, 1)
			for i := range servers {
				r.Processes[i].Rank = 2
				stamp(r, 2, straggler, 0, 0, 1036, 1052)
				stamp(r, 2, answered, 0, 0, 1036, 1056)
			}
			r.Connected = [][]int{{0, 1}}
			// Blocked from 1030 to 1060.
			series(r, 0, 1000, 1, []lane{{forward: 10, backward: 20, exposed: 30, optimizer: 5}})
			series(r, 1, 1000, 1, []lane{{forward: 10, backward: 25, exposed: 25, optimizer: 5}})
			if w := Of(r).Waiting; w.Last[0].Rank != 1 || w.TotalNS != 5 {
				t.Fatalf("without stamps of hooks: %+v", w)
			}
			if _, there := timesOf(r)[HookTime]; there {
				t.Error("without stamps of hooks there is a time of them")
			}
			stamp(r, 0, beside, 0, 0, 1030, 1050)
			stamp(r, 1, beside, 0, 0, 1030, 1032)
			b := Of(r)
			if d := cmp.Diff([]Last{{0, 1, 1, 15}}, b.Waiting.Last); d != "" {
				t.Error(d)
			}
			if got := slices.Collect(b.Waiting.Durations()); !slices.Equal(got, []int64{0, 15}) {
				t.Errorf("they wait %v", got)
			}
			want := map[string]int64{DataTime: 0, ComputeTime: 75, HookTime: 20, WaitingTime: 15, TransferTime: 20,
				ReductionTime: 0, UnaccountedFor: 0}
			if servers > 0 {
				want[TransferTime], want[ReductionTime] = 12, 8
			}
			if d := cmp.Diff(want, timesOf(r)); d != "" {
				t.Error(d)
			}
		})
	}
}

// If a hook works on the trainer's goroutine, its time lies in the recorded backward pass and counts as hook time. Work
// in parallel to the backward pass delays no trainer.
func TestAHookThatBlocksBackward(t *testing.T) {
	r := world(0, 0, 2)
	r.Connected = [][]int{{0, 1}}
	series(r, 0, 1000, 1, []lane{{forward: 10, backward: 60, exposed: 10}}) // backward from 1010 to 1070
	series(r, 1, 1000, 1, []lane{{forward: 10, backward: 40, exposed: 30}})
	stamp(r, 0, blocking, 0, 0, 1020, 1040)
	stamp(r, 0, beside, 0, 0, 1040, 1072) // continues after Reduce, until 2 after the backward pass
	stamp(r, 0, blocking, 0, 1, 1050, 1055)
	b := Of(r)
	if d := cmp.Diff(&Hook{ExposedNS: 2, BackwardNS: 25, Exposed: []int64{2}, Backward: []int64{25}}, b.Hook); d != "" {
		t.Error(d)
	}
	if b.Parts[2] != (Part{"backward", 100}) {
		t.Errorf("the backward pass is %+v", b.Parts[2])
	}
	want := map[string]int64{DataTime: 0, ComputeTime: 95, HookTime: 27, WaitingTime: 22, TransferTime: 16,
		ReductionTime: 0, UnaccountedFor: 0}
	if d := cmp.Diff(want, timesOf(r)); d != "" {
		t.Error(d)
	}
}

// If a hook holds several buckets at once, the time counts once.
func TestAHookWithSeveralBuckets(t *testing.T) {
	r := world(0, 0, 2)
	series(r, 0, 1000, 1, []lane{{backward: 10, exposed: 50}, {backward: 10, exposed: 50}})
	for batch := range int64(2) {
		at := batch * 1_000_060 // there is an evaluation between the epochs
		stamp(r, 0, beside, batch, 0, 1005+at, 1030+at)
		stamp(r, 0, beside, batch, 1, 1010+at, 1040+at)
	}
	if d := cmp.Diff(&Hook{ExposedNS: 60, Exposed: []int64{30, 30}}, Of(r).Hook); d != "" {
		t.Error(d)
	}
}

// The time until a hook calls a link counts as hook time, whether its measurement starts with the hook's own call or
// with the link's call. The other trainers wait for the hook that called its link last.
func TestExchangesOfALateHook(t *testing.T) {
	for name, from := range map[string]int64{"from the call of the hook": 100, "from the call of the link": 120} {
		t.Run(name, func(t *testing.T) {
			r := world(2, 1, 1)
			r.Connected = [][]int{{0, 1}}
			stamp(r, 0, beside, 0, 0, 100, 120)
			stamp(r, 0, rpc, 0, 0, from, 165)
			stamp(r, 1, beside, 0, 0, 104, 105)
			stamp(r, 1, rpc, 0, 0, 104, 170)
			stamp(r, 2, straggler, 0, 0, 110, 140)
			stamp(r, 2, answered, 0, 0, 110, 160)
			want := []Exchange{
				{Rank: 0, HookNS: 20, WaitingNS: 0, TransferNS: 25, ReductionNS: 20},
				{Rank: 1, HookNS: 1, WaitingNS: 15, TransferNS: 30, ReductionNS: 20},
			}
			if d := cmp.Diff(want, slices.Collect(Exchanges(r))); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]Bucket{{Index: 0, Count: 2, HookNS: 21, WaitingNS: 15, TransferNS: 55, ReductionNS: 40}},
				Buckets(r)); d != "" {
				t.Error(d)
			}
		})
	}
}
