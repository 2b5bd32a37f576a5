package breakdown

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// world returns a result with these numbers of trainers, servers and buckets.
func world(trainers, servers, buckets int) *result.Result {
	r := &result.Result{Buckets: make([]tensor.BucketSpec, buckets)}
	for rank := range trainers + servers {
		kind := "trainer"
		if rank >= trainers {
			kind = "server"
		}
		r.Processes = append(r.Processes, result.Process{Rank: rank, Kind: kind})
	}
	return r
}

func stamp(r *result.Result, rank int, metric Metric, batch, bucket, from, to int64) {
	r.SeriesOf(rank, metric.Type, metric.Name).Add(sdk.Measurement{Key: sdk.Key{A: batch, B: bucket}, StartNS: from,
		DurationNS: to - from})
}

var rpc = Metric{hookMetric, "rpc_dense"}

// Two trainers push a bucket at 100 and at 130. The server has received both gradients at 140 and has sent both answers
// at 170. The first trainer receives its answer earlier.
func TestExchange(t *testing.T) {
	r := world(2, 1, 1)
	r.Connected = [][]int{{0, 1}}
	stamp(r, 0, rpc, 0, 0, 100, 165)
	stamp(r, 1, rpc, 0, 0, 130, 180)
	stamp(r, 2, straggler, 0, 0, 110, 140)
	stamp(r, 2, answered, 0, 0, 110, 170)
	want := []Exchange{
		{Rank: 0, WaitingNS: 30, TransferNS: 10, ReductionNS: 25},
		{Rank: 1, WaitingNS: 0, TransferNS: 20, ReductionNS: 30},
	}
	if d := cmp.Diff(want, slices.Collect(Exchanges(r))); d != "" {
		t.Error(d)
	}
	stamp(r, 1, Metric{CodecMetric, "encode"}, 0, 0, 120, 125)
	stamp(r, 0, Metric{CodecMetric, "decode"}, 0, 7, 120, 125)
	if d := cmp.Diff([]Bucket{{Index: 0, Count: 2, WaitingNS: 30, TransferNS: 30, ReductionNS: 55, CodecNS: 5}},
		Buckets(r)); d != "" {
		t.Error(d)
	}
	for range Exchanges(r) { // stop after the first exchange
		break
	}
}

// If a server reduces a bucket, its trainers wait for each other. If trainers reduce a bucket among themselves, all of
// them wait for each other.
func TestExchangesOfSeveralServers(t *testing.T) {
	r := world(4, 2, 2)
	r.Connected = [][]int{{0, 1, 2, 3}}
	for rank := range 4 {
		from := int64(100 + 10*rank)
		stamp(r, rank, rpc, 0, 0, from, 200)
		stamp(r, rank, Metric{hookMetric, "gloo_dense_allreduce"}, 0, 1, from, 200)
	}
	for server, last := range map[int]int64{4: 115, 5: 135} {
		stamp(r, server, straggler, 0, 0, last-5, last)
		stamp(r, server, answered, 0, 0, last-5, last+20)
	}
	var waited [2][]int64
	var reduced [2][]int64
	for e := range Exchanges(r) {
		waited[e.Key.B], reduced[e.Key.B] = append(waited[e.Key.B], e.WaitingNS), append(reduced[e.Key.B],
			e.ReductionNS)
	}
	want := [2][]int64{{10, 0, 10, 0}, {30, 20, 10, 0}}
	if d := cmp.Diff(want, waited); d != "" {
		t.Errorf("waiting: %s", d)
	}
	if d := cmp.Diff([2][]int64{{20, 20, 20, 20}, {0, 0, 0, 0}}, reduced); d != "" {
		t.Errorf("reduction: %s", d)
	}
}

// The operations of a traffic plan are one exchange of their bucket. A server's times are of payloads, so no exchange
// has them.
func TestExchangesOfPlannedHooks(t *testing.T) {
	r := world(2, 1, 2)
	r.Connected = [][]int{{0, 1}}
	for rank := range 2 {
		from := int64(100 + 10*rank)
		stamp(r, rank, Metric{hookMetric, "round 0 pushpull float32"}, 0, 1, from, 150)
		stamp(r, rank, Metric{hookMetric, "round 1 allgather int8"}, 0, 1, 160, 180)
		stamp(r, rank, Metric{hookMetric, "round 1 allgather int8 2"}, 0, 1, 160, 190)
	}
	stamp(r, 2, straggler, 0, 1, 110, 115)
	stamp(r, 2, answered, 0, 1, 110, 120)
	key := sdk.Key{B: 1}
	want := []Exchange{{Rank: 0, Key: key, WaitingNS: 10, TransferNS: 80}, {Rank: 1, Key: key, TransferNS: 80}}
	if d := cmp.Diff(want, slices.Collect(Exchanges(r))); d != "" {
		t.Error(d)
	}
}

// A plugin may record keys that fit no bucket. Such measurements are ignored and use no memory.
func TestOddKeys(t *testing.T) {
	r := world(2, 1, 1)
	r.Connected = [][]int{{0, 1}, {7}}
	for _, key := range []int64{-1, 1, math.MaxInt64, math.MinInt64, 1 << 40} {
		stamp(r, 0, rpc, key, 0, 5, 10)
		stamp(r, 1, rpc, 0, key, 5, 10)
		stamp(r, 2, straggler, key, key, 5, 10)
		stamp(r, 0, Metric{CodecMetric, "x"}, key, key, 5, 10)
	}
	for e := range Exchanges(r) {
		if e.TransferNS+e.WaitingNS+e.ReductionNS != 5 {
			t.Errorf("%+v", e)
		}
	}
	for _, b := range Buckets(r) {
		if b.Index != 0 {
			t.Errorf("%+v", b)
		}
	}
}

// The parts of an exchange are never negative and add up to the exchange, whatever was recorded. The exchanges of an
// iteration add up to its time. A visible reduction lies within the exposed communication.
func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers := rapid.IntRange(1, 4).Draw(t, "trainers")
		servers := rapid.SampledFrom([]int{0, 1, trainers}).Draw(t, "servers")
		r := world(trainers, servers, 2)
		r.Processes = r.Processes[trainers:] // the trainers are added with their series
		ns := rapid.Int64Range(1, 60)
		var exposed, whole int64
		for rank := range trainers {
			lanes := rapid.SliceOfN(rapid.Custom(drawLane), 3, 3).Draw(t, "lanes")
			series(r, rank, ns.Draw(t, "from"), 3, lanes)
			for _, l := range lanes {
				exposed += l.exposed
			}
			for batch := range int64(3) {
				from, took := ns.Draw(t, "push"), ns.Draw(t, "takes")
				stamp(r, rank, rpc, batch, batch%2, from, from+took)
				whole += took
				if rapid.Bool().Draw(t, "stamped") {
					came, blocks, calls := ns.Draw(t, "came"), ns.Draw(t, "blocks"), ns.Draw(t, "calls")
					stamp(r, rank, blocking, batch, batch%2, came, came+blocks)
					stamp(r, rank, beside, batch, batch%2, came+blocks, came+blocks+calls)
					whole += max(0, from-came)
				}
			}
		}
		for server := range servers {
			for batch := range int64(3) {
				from, waits, reduces := ns.Draw(t, "arrives"), ns.Draw(t, "waits"), ns.Draw(t, "reduces")
				stamp(r, trainers+server, straggler, batch, batch%2, from, from+waits)
				stamp(r, trainers+server, answered, batch, batch%2, from, from+waits+reduces)
			}
		}
		r.Connected = Sets(r)
		if servers < 2 {
			r.Connected = [][]int{nil}
			for rank := range trainers {
				r.Connected[0] = append(r.Connected[0], rank)
			}
		}
		for e := range Exchanges(r) {
			if e.HookNS < 0 || e.WaitingNS < 0 || e.TransferNS < 0 || e.ReductionNS < 0 ||
				servers == 0 && e.ReductionNS > 0 {
				t.Fatalf("%+v", e)
			}
			whole -= e.HookNS + e.WaitingNS + e.TransferNS + e.ReductionNS
		}
		if whole != 0 {
			t.Fatalf("%d ns of the exchanges are in no part", whole)
		}
		b := Of(r)
		sum, communication := int64(0), int64(0)
		for _, p := range b.Times() {
			sum += p.TotalNS
			switch p.Name {
			case HookTime:
				communication += b.Hook.ExposedNS
			case WaitingTime, TransferTime, ReductionTime:
				if communication += p.TotalNS; p.TotalNS < 0 {
					t.Fatalf("%+v", p)
				}
			}
		}
		if sum != b.WallNS || communication != exposed {
			t.Fatalf("the times add up to %d of %d, the communication to %d of %d", sum, b.WallNS, communication,
				exposed)
		}
	})
}

// A server reduces from the last arrival on. If a server reduces two buckets at once, the time counts once.
func TestReductionOfIterations(t *testing.T) {
	r := world(0, 1, 2)
	series(r, 1, 1000, 1, []lane{{forward: 100, backward: 100, exposed: 100}}) // blocked from 1200 to 1300
	stamp(r, 0, straggler, 0, 0, 1150, 1190)
	stamp(r, 0, answered, 0, 0, 1150, 1230)
	stamp(r, 0, straggler, 0, 1, 1160, 1220)
	stamp(r, 0, answered, 0, 1, 1160, 1250)
	stamp(r, 0, straggler, 1, 1, 1250, 1280)
	stamp(r, 0, answered, 1, 1, 1250, 1400)
	got := map[string]int64{}
	for _, p := range Of(r).Times() {
		got[p.Name] = p.TotalNS
	}
	want := map[string]int64{DataTime: 0, ComputeTime: 200, WaitingTime: 0, TransferTime: 30, ReductionTime: 70,
		UnaccountedFor: 0}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestStraggler(t *testing.T) {
	b := &Breakdown{}
	if s, ok := b.Straggler(); ok {
		t.Errorf("nobody waits for %+v", s)
	}
	b.Waiting = &Waiting{Sets: 1,
		Last: []Last{{Rank: 1, Times: 8, Iterations: 10, BehindNS: 800},
			{Rank: 0, Times: 2, Iterations: 10, BehindNS: 20}}}
	s, ok := b.Straggler()
	if want := (Straggler{b.Waiting.Last[0], 80, 82}); !ok || s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}
