package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// world returns a result with these numbers of trainers, servers and buckets. All trainers are connected.
func world(trainers, servers, buckets int) *result.Result {
	r := &result.Result{Buckets: make([]tensor.BucketSpec, buckets), Connected: [][]int{nil}}
	for rank := range trainers + servers {
		p := result.Process{Rank: rank, Kind: "trainer", Name: fmt.Sprintf("trainer%d", rank)}
		if rank >= trainers {
			p = result.Process{Rank: rank, Kind: "server", Name: fmt.Sprintf("server%d", rank)}
		} else {
			r.Connected[0] = append(r.Connected[0], rank)
		}
		r.Processes = append(r.Processes, p)
	}
	return r
}

// stamp records what a rank did from one time to another. series has the form TYPE/NAME.
func stamp(r *result.Result, rank int, series string, a, b int, from, to int64) {
	typ, name, _ := strings.Cut(series, "/")
	r.SeriesOf(rank, typ, name).Add(sdk.Measurement{Key: sdk.Key{A: int64(a), B: int64(b)}, StartNS: from,
		DurationNS: to - from})
}

// text formats a timeline as lines: first the spans, then the arrows by track, name of the span and moment.
func text(tl *Timeline) string {
	var b strings.Builder
	for _, t := range tl.Tracks {
		fmt.Fprintf(&b, "%s\n", t.Name)
		for _, l := range t.Lanes {
			fmt.Fprintf(&b, " %s:", l.Name)
			for _, s := range l.Spans {
				fmt.Fprintf(&b, " [%s %d-%d #%d]", s.Name, s.StartNS, s.EndNS, s.Iteration)
			}
			fmt.Fprintln(&b)
		}
	}
	place := func(p Place) string {
		t := tl.Tracks[p.Track]
		return fmt.Sprintf("%s %s %d", t.Name, t.Lanes[p.Lane].Spans[p.Span].Name, p.AtNS)
	}
	for _, a := range tl.Arrows {
		fmt.Fprintf(&b, "%s > %s\n", place(a.From), place(a.To))
	}
	return b.String()
}

// iteration records the parts of an iteration: forward, backward, exposed communication and optimizer. at contains the
// five times that bound these parts.
func iteration(r *result.Result, rank, epoch, index int, at ...int64) {
	stamp(r, rank, "forward_metric/forward_pass", epoch, index, at[0], at[1])
	stamp(r, rank, "iteration_metric/backward", epoch, index, at[1], at[2])
	stamp(r, rank, "iteration_metric/exposed communication", epoch, index, at[2], at[3])
	stamp(r, rank, "iteration_metric/optimizer", epoch, index, at[3], at[4])
	stamp(r, rank, "batch_level_metric/batch_all", epoch, index, at[0], at[4])
}

func TestOf(t *testing.T) {
	tests := map[string]struct {
		make     func() *result.Result
		from, to int64
		want     string
	}{
		"push and pull, of which one bucket overtakes another": {func() *result.Result {
			r := world(2, 1, 2)
			for rank, late := range []int64{0, 30} {
				iteration(r, rank, 0, 0, 1000, 1010, 1020, 1030, 1040)
				iteration(r, rank, 0, 1, 2000+late, 2100+late, 2200, 2300, 2310)
				stamp(r, rank, "hook_future_metric/rpc_dense", 0, 0, 1011, 1012)
				stamp(r, rank, "hook_future_metric/rpc_dense", 1, 0, 2110+late, 2250)
				stamp(r, rank, "hook_future_metric/rpc_dense", 1, 1, 2120+late, 2240)
				stamp(r, rank, "codec_metric/encode", 1, 1, 2125+late, 2130+late)
			}
			stamp(r, 2, "parameter_server_batch_metric/param_index_batch", 1, 0, 2115, 2245)
			stamp(r, 2, "parameter_server_straggler_metric/param_index_straggler", 1, 0, 2115, 2150)
			stamp(r, 2, "method_metric/average computation", 1, 0, 2150, 2160)
			return r
		}, 1, 2, `trainer0
 compute: [forward 0-100 #1] [backward 100-200 #1] [exposed communication 200-300 #1] [optimizer 300-310 #1]
 communication: [bucket 0 110-250 #1]
 communication: [bucket 1 120-240 #1] [encode 125-130 #1]
trainer1
 compute: [forward 30-130 #1] [backward 130-200 #1] [exposed communication 200-300 #1] [optimizer 300-310 #1]
 communication: [bucket 0 140-250 #1]
 communication: [bucket 1 150-240 #1] [encode 155-160 #1]
server2
 work: [bucket 0 115-245 #1] [waiting for the last gradient 115-150 #1] [average computation 150-160 #1]
trainer0 bucket 0 110 > server2 bucket 0 115
server2 bucket 0 245 > trainer0 bucket 0 250
trainer1 bucket 0 140 > server2 bucket 0 140
server2 bucket 0 245 > trainer1 bucket 0 250
trainer1 bucket 1 150 > trainer0 bucket 1 240
`},
		"rounds of a traffic plan": {func() *result.Result {
			r := world(1, 1, 2)
			iteration(r, 0, 0, 0, 1000, 1100, 1200, 1300, 1310)
			stamp(r, 0, "hook_future_metric/round 0 pushpull float32", 0, 0, 1110, 1150)
			stamp(r, 0, "hook_future_metric/round 1 allgather int8", 0, 0, 1160, 1190)
			stamp(r, 1, "parameter_server_batch_metric/param_index_batch", 0, 1, 1112, 1148)
			return r
		}, 0, 1, `trainer0
 compute: [forward 0-100 #0] [backward 100-200 #0] [exposed communication 200-300 #0] [optimizer 300-310 #0]
 communication: [round 0 pushpull float32 110-150 #0] [round 1 allgather int8 160-190 #0]
server1
 work: [bucket 1 112-148 #0]
`},
		"devices": {func() *result.Result {
			r := world(1, 1, 2)
			iteration(r, 0, 0, 0, 1000, 1100, 1200, 1300, 1310)
			iteration(r, 0, 0, 1, 2000, 2100, 2200, 2300, 2310)
			for batch, at := range []int64{1000, 2000} {
				stamp(r, 0, "device_metric/device iteration", batch, 0, at+5, at+90)
				stamp(r, 0, "device_metric/device forward", batch, 0, at+5, at+90)
				stamp(r, 0, "device_metric/device transfer in", batch, 0, at+5, at+20)
				stamp(r, 0, "device_metric/device sum", batch, 1, at+80, at+115)
				stamp(r, 0, "device_metric/device copy out", batch, 0, at+120, at+140)
				stamp(r, 0, "device_metric/device copy out", batch, 1, at+140, at+150)
				stamp(r, 1, "device_metric/device copy in", batch, 1, at+150, at+160)
				stamp(r, 1, "device_metric/device average", batch, 1, at+160, at+170)
			}
			return r
		}, 1, 2, `trainer0
 compute: [forward 0-100 #1] [backward 100-200 #1] [exposed communication 200-300 #1] [optimizer 300-310 #1]
 device: [forward 5-90 #1]
 device: [transfer in 5-20 #1] [sum 80-115 #1]
 device copies: [copy out 120-140 #1] [copy out 140-150 #1]
server1
 device: [average 160-170 #1]
 device copies: [copy in 150-160 #1]
`},
		"all-reduce and an evaluation": {func() *result.Result {
			r := world(3, 0, 1)
			for rank := range 3 {
				at := int64(10 * rank)
				iteration(r, rank, 0, 0, 1000, 1100, 1200, 1300, 1310)
				stamp(r, rank, "evaluation_metric/evaluate", 0, 0, 1310, 1400)
				iteration(r, rank, 1, 0, 2000, 2100, 2200, 2300, 2310)
				stamp(r, rank, "hook_future_metric/gloo_dense_allreduce", 0, 0, 1100+at, 1150+at)
			}
			return r
		}, 0, 1, `trainer0
 compute: [forward 0-100 #0] [backward 100-200 #0] [exposed communication 200-300 #0] [optimizer 300-310 #0] [evaluation 310-400 #0]
 communication: [bucket 0 100-150 #0]
trainer1
 compute: [forward 0-100 #0] [backward 100-200 #0] [exposed communication 200-300 #0] [optimizer 300-310 #0] [evaluation 310-400 #0]
 communication: [bucket 0 110-160 #0]
trainer2
 compute: [forward 0-100 #0] [backward 100-200 #0] [exposed communication 200-300 #0] [optimizer 300-310 #0] [evaluation 310-400 #0]
 communication: [bucket 0 120-170 #0]
trainer2 bucket 0 120 > trainer0 bucket 0 150
trainer2 bucket 0 120 > trainer1 bucket 0 160
`},
		"tables": {func() *result.Result {
			r := world(2, 2, 0)
			for rank := range 2 {
				at := int64(100 * rank)
				stamp(r, rank, "lookup_metric/lookup", 0, 0, 1000+at, 1090+at)
				iteration(r, rank, 0, 0, 1090+at, 1100+at, 1200+at, 1300+at, 1310+at)
				stamp(r, rank, "update_metric/embedding_update", 0, 0, 1200+at, 1290+at)
				for server := 2; server < 4; server++ {
					stamp(r, server, "embedding_metric/lookup", 0, rank, 1010+at, 1020+at)
				}
				stamp(r, 2, "embedding_metric/update", 0, rank, 1210+at, 1220+at)
			}
			return r
		}, 0, 1, `trainer0
 compute: [lookup 0-90 #0] [forward 90-100 #0] [backward 100-200 #0] [exposed communication 200-300 #0] [optimizer 300-310 #0]
 communication: [update of tables 200-290 #0]
trainer1
 compute: [lookup 100-190 #0] [forward 190-200 #0] [backward 200-300 #0] [exposed communication 300-400 #0] [optimizer 400-410 #0]
 communication: [update of tables 300-390 #0]
server2
 work: [lookup of trainer0 10-20 #0] [lookup of trainer1 110-120 #0] [update of trainer0 210-220 #0] [update of trainer1 310-320 #0]
server3
 work: [lookup of trainer0 10-20 #0] [lookup of trainer1 110-120 #0]
trainer0 lookup 0 > server2 lookup of trainer0 10
server2 lookup of trainer0 20 > trainer0 lookup 90
trainer0 lookup 0 > server3 lookup of trainer0 10
server3 lookup of trainer0 20 > trainer0 lookup 90
trainer0 update of tables 200 > server2 update of trainer0 210
server2 update of trainer0 220 > trainer0 update of tables 290
trainer1 lookup 100 > server2 lookup of trainer1 110
server2 lookup of trainer1 120 > trainer1 lookup 190
trainer1 lookup 100 > server3 lookup of trainer1 110
server3 lookup of trainer1 120 > trainer1 lookup 190
trainer1 update of tables 300 > server2 update of trainer1 310
server2 update of trainer1 320 > trainer1 update of tables 390
`},
		"batch 0 fetches the model": {func() *result.Result {
			r := world(1, 1, 1)
			stamp(r, 0, "batch_update_metric/fetching the model", 0, 0, 900, 990)
			for batch := range 3 {
				at := int64(900 + 100*batch)
				stamp(r, 0, "hook_future_metric/rpc_dense", batch, 0, at+20, at+60)
				stamp(r, 1, "parameter_server_batch_metric/param_index_batch", batch, 0, at+30, at+50)
				if batch > 0 {
					iteration(r, 0, 0, batch-1, at, at+10, at+20, at+70, at+80)
					stamp(r, 1, "batch_update_metric/updated model", batch-1, 1, at+40, at+45)
				}
			}
			return r
		}, 1, 2, `trainer0
 compute: [forward 0-10 #1] [backward 10-20 #1] [exposed communication 20-70 #1] [optimizer 70-80 #1]
 communication: [bucket 0 20-60 #1]
server1
 work: [bucket 0 30-50 #1]
 work: [optimizer 40-45 #-1]
trainer0 bucket 0 20 > server1 bucket 0 30
server1 bucket 0 50 > trainer0 bucket 0 60
`},
		"asynchronous: by time, and no arrow where it may be either": {func() *result.Result {
			r := world(2, 1, 1)
			r.Connected = [][]int{{0}, {1}}
			iteration(r, 0, 0, 0, 1000, 1010, 1020, 1200, 1300)
			iteration(r, 1, 0, 0, 700, 710, 720, 730, 740)
			iteration(r, 1, 0, 1, 1005, 1010, 1020, 1200, 1400)
			iteration(r, 1, 0, 2, 1450, 1460, 1470, 1480, 1490)
			stamp(r, 0, "hook_future_metric/rpc_dense", 0, 0, 1020, 1100)
			stamp(r, 1, "hook_future_metric/rpc_dense", 0, 0, 715, 725)
			stamp(r, 1, "hook_future_metric/rpc_dense", 1, 0, 1030, 1090)
			stamp(r, 2, "parameter_server_batch_metric/param_index_batch", 0, 0, 717, 720)
			stamp(r, 2, "parameter_server_batch_metric/param_index_batch", 0, 0, 1040, 1050)
			stamp(r, 2, "parameter_server_batch_metric/param_index_batch", 1, 0, 1045, 1055)
			return r
		}, 0, 1, `trainer0
 compute: [forward 0-10 #0] [backward 10-20 #0] [exposed communication 20-200 #0] [optimizer 200-300 #0]
 communication: [bucket 0 20-100 #0]
trainer1
 compute: [forward 5-10 #1] [backward 10-20 #1] [exposed communication 20-200 #1] [optimizer 200-400 #1]
 communication: [bucket 0 30-90 #1]
server2
 work: [bucket 0 40-50 #0]
 work: [bucket 0 45-55 #1]
trainer0 bucket 0 20 > server2 bucket 0 40
server2 bucket 0 50 > trainer0 bucket 0 100
trainer1 bucket 0 30 > server2 bucket 0 45
server2 bucket 0 55 > trainer1 bucket 0 90
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tl, err := Of(test.make(), test.from, test.to)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, text(tl)); d != "" {
				t.Error(d)
			}
			requireSound(t, tl)
		})
	}
}

func TestOfRefuses(t *testing.T) {
	r := world(1, 0, 1)
	iteration(r, 0, 0, 0, 10, 20, 30, 40, 50)
	for _, test := range []struct {
		r        *result.Result
		from, to int64
		want     string
	}{
		{&result.Result{}, 0, 1, "no trainer stamped an iteration"},
		{world(2, 1, 1), 0, 1, "no trainer stamped an iteration"},
		{r, -1, 1, "the iterations from -1 up to 1 are an empty range: the first must be 0 or more and below the end"},
		{r, 1, 1, "the iterations from 1 up to 1 are an empty range: the first must be 0 or more and below the end"},
		{r, 0, 2, "iteration 1 does not exist: the run has the iterations 0 to 0"},
	} {
		t.Run(fmt.Sprint(test.from), func(t *testing.T) {
			if tl, err := Of(test.r, test.from, test.to); err == nil || err.Error() != test.want {
				t.Errorf("%d to %d: %v and %v, want %s", test.from, test.to, tl, err, test.want)
			}
		})
	}
}

func TestMedianIteration(t *testing.T) {
	r := world(2, 0, 0)
	at := int64(1000)
	for i, ns := range []int64{500, 100, 300, 200} {
		iteration(r, 0, 0, i, at, at+1, at+2, at+3, at+10)
		iteration(r, 1, 0, i, at, at+1, at+2, at+3, at+ns)
		at += ns
	}
	if i, ok := MedianIteration(r); i != 3 || !ok {
		t.Errorf("it is %d, %v", i, ok)
	}
	if i, ok := MedianIteration(&result.Result{}); ok {
		t.Errorf("nothing has the median %d", i)
	}
	stamp(r, 0, "batch_level_metric/batch_all", 0, 4, at, at+5) // the other trainer does not have this iteration
	if n := Count(r); n != 4 {
		t.Errorf("there are %d iterations", n)
	}
}
