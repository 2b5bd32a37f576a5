package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
)

// These servers do not wait for all trainers: eager never waits, and stale limits how far a trainer may be ahead.
func TestAsynchronousServers(t *testing.T) {
	registry := "--registry " + foreignPlugin(t, "stale")
	t.Run("own clocks", func(t *testing.T) { testOwnClocks(t, registry) })
	t.Run("rounds of some", testRoundsOfSome)
	t.Run("unequal shares", func(t *testing.T) { testUnequalShares(t, registry) })
	t.Run("no staleness", func(t *testing.T) { testNoStaleness(t, registry) })
}

// Each trainer ends a timed pass by its own clock and iterates at its own pace. The server measures every push, and
// there is no straggler.
func testOwnClocks(t *testing.T, registry string) {
	transports, servers := []string{"shm", "unix", "tcp", "grpc"}, []string{"eager", "stale"}
	for i, transport := range transports {
		for j, server := range servers {
			if leftOut(i, j, len(servers)) || raceDetector && i > 0 {
				continue
			}
			flags := registry + " --server " + server + " --transport " + transport +
				" --ntrainer 3 --ddp-hook tardy --seconds 0.6 --warmup 5" + small
			res := runs(t, append(withTestPlugin(t), strings.Fields(flags)...)...)
			if d := cmp.Diff([][]int{{0}, {1}, {2}}, res.Connected); d != "" {
				t.Errorf("%s, %s: connected are %s", server, transport, d)
			}
			if b := breakdown.Of(res); b == nil || b.Waiting != nil {
				t.Errorf("%s, %s: the breakdown is %+v", server, transport, b)
			}
			// The hook of trainer 2 waits 20 ms. If no other trainer waits for trainer 2, the first trainer meanwhile
			// completes many iterations.
			if got := iterations(res); slices.Min(got) < 1 || server == "eager" && got[0] < 2*got[2] {
				t.Errorf("%s, %s: the trainers measured %d iterations", server, transport, got)
			}
			requirePushes(t, res)
		}
	}
}

// A server that waits for only some trainers never delays the others, even at the end of the pass.
func testRoundsOfSome(t *testing.T) {
	flags := "--trainer batch_update --set server.batch_update_size=1 --ddp-hook tardy --seconds 0.6 --warmup 5"
	res := runs(t, append(withTestPlugin(t), strings.Fields(flags)...)...)
	if got := iterations(res); len(res.Connected) != 3 || got[0] < 2*got[2] {
		t.Errorf("of the sets %v the trainers measured %d iterations", res.Connected, got)
	}
	res = runs(t, strings.Fields("--trainer batch_update --set server.batch_update_size=2 --seconds 0.3 --warmup 5")...)
	if got := iterations(res); len(res.Connected) != 3 || slices.Min(got) < 1 {
		t.Errorf("of the sets %v the trainers measured %d iterations", res.Connected, got)
	}
}

// requirePushes requires that the server measured each push separately.
func requirePushes(t *testing.T, res *result.Result) {
	t.Helper()
	want, measured := 0, 0
	for _, n := range iterations(res) {
		want += n * len(res.Buckets)
	}
	for _, s := range res.Series {
		switch s.Name {
		case "param_index_batch":
			measured += s.Len()
		case "param_index_straggler":
			t.Errorf("%d stragglers are measured", s.Len())
		}
	}
	if measured != want {
		t.Errorf("the server measured %d pushes of %d", measured, want)
	}
}

// If the batches do not divide evenly, some trainers get one more. No trainer waits for a trainer that has no batches
// left.
func testUnequalShares(t *testing.T, registry string) {
	for _, server := range []string{"eager", "stale --set server.staleness=0", "stale --set server.staleness=1"} {
		flags := registry + " --server " + server + " --ntrainer 3 --epochs 8 --warmup 1 --set data.sample_count=70" +
			small // 7 batches
		res := runs(t, strings.Fields(flags)...)
		if got := iterations(res); !slices.Equal(got, []int{24, 16, 16}) || res.Data.DroppedBatches != 0 {
			t.Errorf("%s: the trainers measured %d iterations, and %d batches were dropped", server, got,
				res.Data.DroppedBatches)
		}
		requirePushes(t, res)
	}
}

// With a staleness of 0, no trainer may be ahead of another. The losses then equal the losses with a server that
// waits for all trainers.
func testNoStaleness(t *testing.T, registry string) {
	flags := "--ntrainer 2 --iterations 20 --warmup none --set trainer.lr=1" + small
	want := runs(t, strings.Fields(flags+" --server average")...)
	got := runs(t, strings.Fields(flags+" "+registry+" --server stale --set server.staleness=0")...)
	if d := cmp.Diff(want.Losses, got.Losses); d != "" {
		t.Error(d)
	}
}
