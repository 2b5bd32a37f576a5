package timeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/record/result"
)

// If work of an asynchronous server on two buckets fits both trainers, it is assigned to neither.
func TestNoArrowWhereItMayBeEither(t *testing.T) {
	r := world(2, 1, 1)
	r.Connected = [][]int{{0}, {1}}
	for rank := range 2 {
		iteration(r, rank, 0, 0, 1000, 1010, 1020, 1200, 1300)
		stamp(r, rank, "hook_future_metric/rpc_dense", 0, 0, 1020, 1100)
		stamp(r, 2, "parameter_server_batch_metric/param_index_batch", 0, 0, 1040, 1050)
	}
	tl, err := Of(r, 0, 1)
	if err != nil || len(tl.Arrows) != 0 {
		t.Errorf("%v, arrows %v", err, tl.Arrows)
	}
}

// With several hosts, the names of tracks include the hosts. An all-reduce has arrows from the last trainer only if the
// clocks are accurate enough to find it.
func TestTimelineOfHosts(t *testing.T) {
	for boundNS, arrows := range map[int64]int{0: 2, 9: 2, 10: 0} {
		t.Run(fmt.Sprint(boundNS), func(t *testing.T) { // trainer2 is ready 10 after trainer1
			r := world(3, 0, 1)
			r.Connected = [][]int{{0, 1, 2}}
			for rank := range 3 {
				at := int64(10 * rank)
				iteration(r, rank, 0, 0, 1000+at, 1010+at, 1020+at, 1200, 1300)
				stamp(r, rank, "hook_future_metric/gloo_dense_allreduce", 0, 0, 1020+at, 1100)
			}
			for i := range r.Processes {
				r.Processes[i].Host = []string{"a", "b", "c"}[i]
			}
			r.Clocks = []result.HostClock{{Host: "b"}, {Host: "c", Estimate: clocks.Estimate{BoundNS: boundNS}}}
			tl, err := Of(r, 0, 1)
			if err != nil || len(tl.Arrows) != arrows {
				t.Fatalf("± %d: %v, arrows %v", boundNS, err, tl.Arrows)
			}
			want := []string{"trainer0 on a", "trainer1 on b", "trainer2 on c"}
			if boundNS > 0 {
				want[2] = fmt.Sprintf("trainer2 on c (± %.3g µs)", float64(boundNS)/1e3)
			}
			for i, track := range tl.Tracks {
				if track.Name != want[i] {
					t.Errorf("track %d is %s, want %s", i, track.Name, want[i])
				}
			}
		})
	}
}

// Arrows begin where hooks called their links. trainer0 had its bucket first, but its hook called last.
func TestArrowsBeginWhereHooksCall(t *testing.T) {
	for name, servers := range map[string]int{"all-reduce": 0, "server": 1} {
		t.Run(name, func(t *testing.T) {
			r := world(2, servers, 1)
			r.Connected = [][]int{{0, 1}}
			for rank, called := range []int64{1060, 1031} {
				at := int64(10 * rank)
				iteration(r, rank, 0, 0, 1000, 1010, 1020+at, 1200, 1300)
				stamp(r, rank, "hook_future_metric/any", 0, 0, 1020+at, 1100)
				stamp(r, rank, "hook_time_metric/hook beside", 0, 0, 1020+at, called)
			}
			want := []int64{60}
			if servers > 0 {
				stamp(r, 2, "parameter_server_straggler_metric/param_index_straggler", 0, 0, 1040, 1065)
				stamp(r, 2, "parameter_server_batch_metric/param_index_batch", 0, 0, 1040, 1090)
				want = []int64{60, 31}
			}
			tl, err := Of(r, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			var from []int64
			for _, a := range tl.Arrows {
				if tl.Tracks[a.From.Track].Kind == "trainer" {
					from = append(from, a.From.AtNS)
				}
			}
			if !slices.Equal(from, want) {
				t.Errorf("arrows lead from %v, want %v", from, want)
			}
		})
	}
}
