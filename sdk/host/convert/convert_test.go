package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
)

func TestBucketsCrossGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<31-1)
		specs := make([]tensor.BucketSpec, rapid.IntRange(0, 4).Draw(t, "buckets"))
		for i := range specs {
			specs[i] = tensor.BucketSpec{
				Index: i, Elements: n.Draw(t, "elements"), Sparse: rapid.Bool().Draw(t, "sparse"),
				TableRows: n.Draw(t, "rows"), Width: n.Draw(t, "width"), Capacity: n.Draw(t, "capacity"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "spans") {
				specs[i].Parameters = append(specs[i].Parameters, tensor.Span{Parameter: n.Draw(t, "k"), Offset: n.Draw(t, "at"), Elements: n.Draw(t, "length")})
			}
		}
		if d := cmp.Diff(specs, BucketsFromProto(BucketsToProto(specs))); d != "" {
			t.Fatal(d)
		}
	})
}
