package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/fault"
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

func TestFailuresCrossGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fault.Failure{
			Cause:   rapid.SampledFrom([]fault.Cause{fault.Other, fault.Wait, fault.Peer}).Draw(t, "cause"),
			Message: rapid.String().Draw(t, "message"), About: rapid.SliceOf(rapid.String()).Draw(t, "about"),
		}
		if d := cmp.Diff(f, FailureFromProto(FailureToProto(f))); d != "" {
			t.Fatal(d)
		}
	})
}

func TestPartsCrossGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.String()
		p := sdk.Part{
			Kind: sdk.Kind(word.Draw(t, "kind")), Key: word.Draw(t, "key"),
			Serves: sdk.Service(word.Draw(t, "serves")), Needs: sdk.Service(word.Draw(t, "needs")),
		}
		for range rapid.IntRange(0, 3).Draw(t, "links") {
			p.Links = append(p.Links, sdk.Link(word.Draw(t, "link")))
		}
		for range rapid.IntRange(0, 3).Draw(t, "settings") {
			p.Settings = append(p.Settings, sdk.Setting{
				Name: word.Draw(t, "name"), Type: word.Draw(t, "type"), Default: []byte(word.Draw(t, "default")), Doc: word.Draw(t, "doc"),
			})
		}
		if d := cmp.Diff(p, PartFromProto(PartToProto(p)), cmpopts.IgnoreUnexported(sdk.Part{})); d != "" {
			t.Fatal(d)
		}
	})
}
