package sdk

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
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

func TestAsFailure(t *testing.T) {
	wait := &comm.WaitError{Waiter: "trainer0", For: []string{"trainer1", "trainer2"}, What: "a part", Seconds: 1}
	peer := &comm.PeerError{Waiter: "trainer0", Peer: "server2", What: "a push", Err: io.EOF}
	for _, c := range []struct {
		err   error
		cause proto.Failure_Cause
		about []string
	}{
		{fmt.Errorf("epoch 0: %w", wait), proto.Failure_CAUSE_WAIT, wait.For},
		{fmt.Errorf("epoch 0: %w", peer), proto.Failure_CAUSE_PEER, []string{"server2"}},
		{errors.New("bad luck"), proto.Failure_CAUSE_UNSPECIFIED, nil},
	} {
		got := asFailure(c.err)
		if got.GetCause() != c.cause || got.GetMessage() != c.err.Error() || !cmp.Equal(got.GetAbout(), c.about) {
			t.Errorf("%v became %v", c.err, got)
		}
		s, _ := status.FromError(asStatus(c.err))
		if d := s.Details(); len(d) != 1 || d[0].(*proto.Failure).GetCause() != c.cause {
			t.Errorf("the status of %v has details %v", c.err, d)
		}
	}
	if asStatus(nil) != nil {
		t.Error("no error became one")
	}
}

func TestLayOutRefuses(t *testing.T) {
	params := []ParameterSpec{{Name: "table", Shape: []int{4, 2}, Sparse: true}, {Name: "bias", Shape: []int{3}}}
	good := func() []tensor.BucketSpec {
		return []tensor.BucketSpec{
			{Parameters: []tensor.Span{{Parameter: 1, Elements: 3}}, Elements: 3},
			{Parameters: []tensor.Span{{Parameter: 0, Elements: 8}}, Elements: 8, Sparse: true, TableRows: 4, Width: 2, Capacity: 4},
		}
	}
	gradients, store, err := layOut(params, good(), heapStore)
	must(t, err)
	if b := store.Buckets; &gradients[1].Values[0] != &b[0].Gradient.Values[0] || gradients[0] != &b[1].Gradient {
		t.Error("a good plan gave gradients outside of their buckets")
	}
	for want, spoil := range map[string]func([]tensor.BucketSpec) []tensor.BucketSpec{
		"leaves parameter table out of every bucket": func(b []tensor.BucketSpec) []tensor.BucketSpec { return b[:1] },
		"there is no parameter 2":                    func(b []tensor.BucketSpec) []tensor.BucketSpec { b[0].Parameters[0].Parameter = 2; return b },
		"there is no parameter -1":                   func(b []tensor.BucketSpec) []tensor.BucketSpec { b[0].Parameters[0].Parameter = -1; return b },
		"parameter bias is planned twice":            func(b []tensor.BucketSpec) []tensor.BucketSpec { return append(b, b[0]) },
		"as 4 elements at 0":                         func(b []tensor.BucketSpec) []tensor.BucketSpec { b[0].Parameters[0].Elements = 4; return b },
		"as 3 elements at 1":                         func(b []tensor.BucketSpec) []tensor.BucketSpec { b[0].Parameters[0].Offset = 1; return b },
		"it has -1 elements":                         func(b []tensor.BucketSpec) []tensor.BucketSpec { b[0].Elements = -1; return b },
		"as sparse as its bucket is not":             func(b []tensor.BucketSpec) []tensor.BucketSpec { b[1].Sparse = false; return b },
		"room for 5 rows":                            func(b []tensor.BucketSpec) []tensor.BucketSpec { b[1].Capacity = 5; return b },
	} {
		if _, _, err := layOut(params, spoil(good()), heapStore); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestParameterShapes(t *testing.T) {
	for _, c := range []struct {
		spec ParameterSpec
		good bool
	}{
		{ParameterSpec{Shape: []int{1024, 1024}, Sparse: true}, true},
		{ParameterSpec{Shape: []int{7}}, true},
		{ParameterSpec{Shape: []int{7}, Sparse: true}, false},
		{ParameterSpec{Shape: []int{0, 4}}, false},
		{ParameterSpec{Shape: []int{-1}}, false},
		{ParameterSpec{Shape: []int{1 << 40, 1 << 40}}, false},
	} {
		if err := c.spec.check(); (err == nil) != c.good {
			t.Errorf("shape %v, sparse %v: %v", c.spec.Shape, c.spec.Sparse, err)
		}
	}
}
