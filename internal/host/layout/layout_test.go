package layout

import (
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

func TestLayOutRefuses(t *testing.T) {
	params := []sdk.ParameterSpec{{Name: "table", Shape: []int{4, 2}, Sparse: true}, {Name: "bias", Shape: []int{3}}}
	good := func() []tensor.BucketSpec {
		return []tensor.BucketSpec{
			{Parameters: []tensor.Span{{Parameter: 1, Elements: 3}}, Elements: 3},
			{Parameters: []tensor.Span{{Parameter: 0, Elements: 8}}, Elements: 8, Sparse: true, TableRows: 4, Width: 2,
				Capacity: 4},
		}
	}
	gradients, store, err := New(params, good(), heap)
	hosttest.Must(t, err)
	if b := store.Buckets; &gradients[1].Values[0] != &b[0].Gradient.Values[0] || gradients[0] != &b[1].Gradient {
		t.Error("a good plan gave gradients outside of their buckets")
	}
	for want, spoil := range map[string]func([]tensor.BucketSpec) []tensor.BucketSpec{
		`elements of type "int64", but gradients are float32`: func(b []tensor.BucketSpec) []tensor.BucketSpec {
			b[0].Type = tensor.Int64
			return b
		},
		"leaves parameter table out of every bucket": func(b []tensor.BucketSpec) []tensor.BucketSpec { return b[:1] },
		"there is no parameter 2": func(b []tensor.BucketSpec) []tensor.BucketSpec {
			b[0].Parameters[0].Parameter = 2
			return b
		},
		"there is no parameter -1": func(b []tensor.BucketSpec) []tensor.BucketSpec {
			b[0].Parameters[0].Parameter = -1
			return b
		},
		"parameter bias is planned twice": func(b []tensor.BucketSpec) []tensor.BucketSpec {
			return append(b, b[0])
		},
		"as 4 elements at 0": func(b []tensor.BucketSpec) []tensor.BucketSpec {
			b[0].Parameters[0].Elements = 4
			return b
		},
		"as 3 elements at 1": func(b []tensor.BucketSpec) []tensor.BucketSpec {
			b[0].Parameters[0].Offset = 1
			return b
		},
		"it has -1 elements": func(b []tensor.BucketSpec) []tensor.BucketSpec {
			b[0].Elements = -1
			return b
		},
		"and its bucket must both be sparse or both be dense": func(b []tensor.BucketSpec) []tensor.BucketSpec {
			b[1].Sparse = false
			return b
		},
		"room for 5 rows": func(b []tensor.BucketSpec) []tensor.BucketSpec {
			b[1].Capacity = 5
			return b
		},
	} {
		t.Run(want, func(t *testing.T) {
			if _, _, err := New(params, spoil(good()), heap); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

func TestParameterShapes(t *testing.T) {
	for i, c := range []struct {
		spec sdk.ParameterSpec
		good bool
	}{
		{sdk.ParameterSpec{Shape: []int{1024, 1024}, Sparse: true}, true},
		{sdk.ParameterSpec{Shape: []int{7}}, true},
		{sdk.ParameterSpec{Shape: []int{7}, Sparse: true}, false},
		{sdk.ParameterSpec{Shape: []int{0, 4}}, false},
		{sdk.ParameterSpec{Shape: []int{-1}}, false},
		{sdk.ParameterSpec{Shape: []int{1 << 40, 1 << 40}}, false},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if err := CheckShape(&c.spec); (err == nil) != c.good {
				t.Errorf("shape %v, sparse %v: %v", c.spec.Shape, c.spec.Sparse, err)
			}
		})
	}
}

// heap allocates buckets in ordinary memory.
func heap(specs []tensor.BucketSpec) (*comm.Store, error) { return comm.NewStore(specs), nil }
