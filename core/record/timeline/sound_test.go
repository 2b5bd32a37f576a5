package timeline

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// requireSound checks the properties that every timeline must have.
func requireSound(t interface {
	Helper()
	Fatalf(string, ...any)
}, tl *Timeline) {
	t.Helper()
	for _, track := range tl.Tracks {
		for _, lane := range track.Lanes {
			var open []Span
			for i, s := range lane.Spans {
				if s.StartNS < 0 || s.EndNS < s.StartNS || i > 0 && s.StartNS < lane.Spans[i-1].StartNS {
					t.Fatalf("%s, %s: %+v is not in order", track.Name, lane.Name, s)
				}
				for len(open) > 0 && open[len(open)-1].EndNS <= s.StartNS {
					open = open[:len(open)-1]
				}
				if len(open) > 0 && open[len(open)-1].EndNS < s.EndNS {
					t.Fatalf("%s, %s: %+v overlaps %+v", track.Name, lane.Name, s, open[len(open)-1])
				}
				open = append(open, s)
			}
		}
	}
	for _, a := range tl.Arrows {
		for _, p := range []Place{a.From, a.To} {
			if s := tl.Tracks[p.Track].Lanes[p.Lane].Spans[p.Span]; p.AtNS < s.StartNS || p.AtNS > s.EndNS {
				t.Fatalf("an arrow is at %d of %+v", p.AtNS, s)
			}
		}
		if a.From.AtNS > a.To.AtNS {
			t.Fatalf("%+v leads back", a)
		}
	}
}

// For any recorded data in any order, the timeline has these properties and contains all buckets.
func TestOfIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers, servers := rapid.IntRange(1, 4).Draw(t, "trainers"), rapid.IntRange(0, 2).Draw(t, "servers")
		r := world(trainers, servers, 3)
		if rapid.Bool().Draw(t, "apart") {
			r.Connected = nil
		}
		at := rapid.Int64Range(1000, 1100)
		pair := func() (int64, int64) {
			a, b := at.Draw(t, "from"), at.Draw(t, "to")
			return min(a, b), max(a, b)
		}
		for rank := range trainers {
			list := rapid.SliceOfN(at, 5, 5).Draw(t, "times")
			slices.Sort(list)
			iteration(r, rank, 0, 0, list...)
			for bucket := range 3 {
				from, to := pair()
				stamp(r, rank, "hook_future_metric/any", 0, bucket, from, to)
				from, to = pair()
				stamp(r, rank, "codec_metric/encode", 0, bucket, from, to)
			}
		}
		for server := trainers; server < trainers+servers; server++ {
			for bucket := range 3 {
				for _, series := range []string{
					"parameter_server_batch_metric/param_index_batch", "method_metric/x computation",
					"embedding_metric/lookup", "batch_update_metric/got update",
				} {
					from, to := pair()
					stamp(r, server, series, 0, bucket, from, to)
				}
			}
		}
		tl, err := Of(r, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		requireSound(t, tl)
		buckets := 0
		for _, lane := range tl.Tracks[0].Lanes {
			for _, s := range lane.Spans {
				if strings.HasPrefix(s.Name, "bucket ") {
					buckets++
				}
			}
		}
		if buckets != 3 {
			t.Fatalf("trainer0 has %d buckets", buckets)
		}
	})
}
