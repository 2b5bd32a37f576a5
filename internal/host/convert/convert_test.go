package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
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
				specs[i].Parameters = append(specs[i].Parameters,
					tensor.Span{Parameter: n.Draw(t, "k"), Offset: n.Draw(t, "at"), Elements: n.Draw(t, "length")})
			}
		}
		if d := cmp.Diff(specs, BucketsFromProto(BucketsToProto(specs))); d != "" {
			t.Fatal(d)
		}
	})
}

func TestTrafficCrossesGRPC(t *testing.T) {
	operation := rapid.Custom(func(t *rapid.T) sdk.Operation {
		return sdk.Operation{
			Kind: sdk.OperationKind(rapid.String().Draw(t, "kind")), Type: tensor.Type(rapid.String().Draw(t, "type")),
			Elements: rapid.Int().Draw(t, "elements"), Root: int(rapid.Int32().Draw(t, "root")),
		}
	})
	round := rapid.Custom(func(t *rapid.T) sdk.Round { return rapid.SliceOfN(operation, 0, 3).Draw(t, "round") })
	rapid.Check(t, func(t *rapid.T) {
		plan := sdk.Traffic(rapid.SliceOfN(rapid.SliceOfN(round, 0, 3), 0, 4).Draw(t, "plan"))
		if d := cmp.Diff(plan, TrafficFromProto(TrafficToProto(plan)), cmpopts.EquateEmpty()); d != "" {
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
			Timing:   rapid.SampledFrom([]sdk.Timing{0, sdk.OnArrival, sdk.OnLastArrival}).Draw(t, "timing"),
			Computes: word.Draw(t, "computes"), Answers: sdk.Answers(word.Draw(t, "answers")),
			Asynchronous: rapid.Bool().Draw(t, "asynchronous"), Quorum: word.Draw(t, "quorum"),
			Protocol:    rapid.Bool().Draw(t, "protocol"),
			RanksDiffer: rapid.Bool().Draw(t, "ranks differ"),
			Adds:        rapid.Bool().Draw(t, "adds"), Plans: rapid.Bool().Draw(t, "plans"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "links") {
			p.Links = append(p.Links, sdk.Link(word.Draw(t, "link")))
		}
		for range rapid.IntRange(0, 3).Draw(t, "settings") {
			p.Settings = append(p.Settings, sdk.Setting{
				Name: word.Draw(t, "name"), Type: word.Draw(t, "type"), Default: []byte(word.Draw(t, "default")),
				Doc: word.Draw(t, "doc"),
			})
		}
		if d := cmp.Diff(p, PartFromProto(PartToProto(p)), cmpopts.IgnoreUnexported(sdk.Part{})); d != "" {
			t.Fatal(d)
		}
	})
}

func TestModelsCrossGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<31-1)
		flag := rapid.Bool()
		m := layout.Model{FeatureGradient: flag.Draw(t, "gradient"), Steps: flag.Draw(t, "steps"),
			Evaluates: flag.Draw(t, "evaluates"), Inputs: sdk.InputSpec{
				Rows: n.Draw(t, "rows"), Features: n.Draw(t, "features"), Classes: n.Draw(t, "classes"),
				Targets: 1 + n.Draw(t, "targets"),
				Tables:  rapid.SliceOfN(n, 0, 3).Draw(t, "tables"), LookedUp: n.Draw(t, "looked up"),
			}}
		for range rapid.IntRange(0, 3).Draw(t, "parameters") {
			m.Parameters = append(m.Parameters, sdk.ParameterSpec{
				Name: rapid.String().Draw(t, "name"), Shape: rapid.SliceOfN(n, 0, 3).Draw(t, "shape"),
				Sparse: rapid.Bool().Draw(t, "sparse"),
			})
		}
		if d := cmp.Diff(m, ModelFromProto(ModelToProto(m)), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
	if got := InputsFromProto(InputsToProto(sdk.InputSpec{})).Targets; got != 1 {
		t.Errorf("no targets became %d, want 1", got)
	}
}

func TestLookupsCrossGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<62)
		l := &comm.LookupSpec{Bags: n.Draw(t, "bags"), Indices: n.Draw(t, "indices")}
		for range rapid.IntRange(0, 3).Draw(t, "tables") {
			l.Tables = append(l.Tables, comm.TableSpec{Rows: n.Draw(t, "rows"), Width: n.Draw(t, "width")})
		}
		if d := cmp.Diff(l, LookupFromProto(LookupToProto(l))); d != "" {
			t.Fatal(d)
		}
	})
	if LookupToProto(nil) != nil || LookupFromProto(nil) != nil {
		t.Error("no lookup became one")
	}
}

func TestPartitionsCrossGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<62)
		p := &batches.Partition{
			Samples: n.Draw(t, "samples"), Batches: n.Draw(t, "batches"), Dropped: n.Draw(t, "dropped"),
			HeldOut:    n.Draw(t, "held out"),
			OwnBatches: rapid.Bool().Draw(t, "own"), Streamed: rapid.Bool().Draw(t, "streamed"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "shares") {
			p.Shares = append(p.Shares, batches.Share{
				Batches: n.Draw(t, "batches"), Samples: n.Draw(t, "samples"), DistinctRows: n.Draw(t, "rows"),
				BatchSamples: n.Draw(t, "largest"), BatchIndices: n.Draw(t, "indices"),
				HeldOutBatches: n.Draw(t, "held out"),
			})
		}
		if d := cmp.Diff(p, PartitionFromProto(PartitionToProto(p))); d != "" {
			t.Fatal(d)
		}
	})
}

func TestPeersCrossGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := process.Peer{Name: rapid.String().Draw(t, "name"), Address: rapid.String().Draw(t, "address"),
			Protocol: rapid.Bool().Draw(t, "protocol")}
		if got := PeerFromProto(PeerToProto(p)); got != p {
			t.Fatalf("%+v became %+v", p, got)
		}
	})
}
