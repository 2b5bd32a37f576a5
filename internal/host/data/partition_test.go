package data

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// numbers returns the batch numbers in each share.
func numbers(shares [][]sdk.Batch) [][]int64 {
	out := make([][]int64, len(shares))
	for t, share := range shares {
		for _, b := range share {
			out[t] = append(out[t], b.Targets...)
		}
	}
	return out
}

func TestPartitionBatches(t *testing.T) {
	for name, c := range map[string]struct {
		batches int
		sets    [][]int
		want    [][]int64
		dropped int
		err     string
	}{
		"even":            {6, [][]int{{0, 1, 2}}, [][]int64{{0, 3}, {1, 4}, {2, 5}}, 0, ""},
		"uneven":          {8, [][]int{{0, 1, 2}}, [][]int64{{0, 3}, {1, 4}, {2, 5}}, 2, ""},
		"alone":           {5, [][]int{{0}, {1}}, [][]int64{{0, 2, 4}, {1, 3}}, 0, ""},
		"a set of two":    {7, [][]int{{0, 1}, {2, 3}}, [][]int64{{0, 4}, {1, 5}, {2}, {3}}, 1, ""},
		"one each":        {2, [][]int{{0, 1}}, [][]int64{{0}, {1}}, 0, ""},
		"too few":         {2, [][]int{{0, 1, 2}}, nil, 0, "too few batches (2) for 3 trainers"},
		"too few for one": {3, [][]int{{0, 1}, {2, 3}}, nil, 0, "too few batches (3) for 4 trainers"},
		"none":            {0, [][]int{{0}}, nil, 0, "too few batches (0)"},
	} {
		t.Run(name, func(t *testing.T) {
			shares, dropped, err := partitionBatches(hosttest.Numbered(c.batches), c.sets)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: %v, want %q", name, err, c.err)
				}
				return
			}
			if d := cmp.Diff(c.want, numbers(shares)); err != nil || d != "" || dropped != c.dropped {
				t.Errorf("%s: %v, %d dropped, %s", name, err, dropped, d)
			}
		})
	}
}

func TestPartitionBatchesLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sets [][]int
		trainers := 0
		for range rapid.IntRange(1, 4).Draw(t, "sets") {
			var set []int
			for range rapid.IntRange(1, 3).Draw(t, "members") {
				set, trainers = append(set, trainers), trainers+1
			}
			sets = append(sets, set)
		}
		n := rapid.IntRange(trainers, 40).Draw(t, "batches")
		shares, dropped, err := partitionBatches(hosttest.Numbered(n), sets)
		if err != nil {
			t.Fatal(err)
		}
		for trainer, share := range numbers(shares) {
			for i, number := range share {
				if number != int64(i*trainers+trainer) {
					t.Fatalf("batch %d of trainer %d is number %d", i, trainer, number)
				}
			}
			dropped += len(share)
		}
		if dropped != n {
			t.Fatalf("%d of %d batches are partitioned or dropped", dropped, n)
		}
		for _, set := range sets {
			least := n
			for _, trainer := range set {
				least = min(least, (n-trainer+trainers-1)/trainers)
			}
			for _, trainer := range set {
				if len(shares[trainer]) != least {
					t.Fatalf("trainer %d of set %v has %d batches, the poorest %d", trainer, set, len(shares[trainer]),
						least)
				}
			}
		}
	})
}
