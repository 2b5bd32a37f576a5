package hosttest

import (
	"pgregory.net/rapid"

	"github.com/psbench/psbench/sdk"
)

// Samples returns samples with one bag and one target each.
func Samples(bags [][]int64, targets ...int64) *sdk.Samples {
	s := &sdk.Samples{}
	for i, bag := range bags {
		s.Append(bag, targets[i])
	}
	return s
}

// Rows returns samples of numeric features with target 0.
func Rows(numbers int, features ...float32) *sdk.Samples {
	return &sdk.Samples{Batch: sdk.Batch{Features: features, Targets: make([]int64, len(features)/numbers)}}
}

// AnySamples draws samples of every form. Some define their own batches.
func AnySamples(t *rapid.T) *sdk.Samples {
	s := &sdk.Samples{}
	sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 12).Draw(t, "batches")
	size := 0
	for _, n := range sizes {
		size += n
	}
	numbers, targets := rapid.IntRange(0, 3).Draw(t, "numbers"), 1
	if rapid.Bool().Draw(t, "bags") {
		targets = rapid.IntRange(1, 3).Draw(t, "targets")
		for range size {
			s.Append(rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 4).Draw(t, "bag"))
		}
	}
	s.Features = rapid.SliceOfN(rapid.Float32Range(-1, 1), size*numbers, size*numbers).Draw(t, "features")
	if rapid.Bool().Draw(t, "float targets") {
		s.TargetWidth = targets
		s.FloatTargets = rapid.SliceOfN(rapid.Float32Range(-1, -0.5), size*targets, size*targets).Draw(t,
			"numbers as targets")
	} else {
		s.Targets = rapid.SliceOfN(rapid.Int64Range(0, 9), size*targets, size*targets).Draw(t, "classes")
	}
	if rapid.Bool().Draw(t, "own batches") {
		s.Batches = sizes
	}
	return s
}

// Numbered returns n batches of one sample each. The target is the batch's number.
func Numbered(n int) []sdk.Batch {
	out := make([]sdk.Batch, n)
	for i := range out {
		out[i].Append([]int64{0}, int64(i))
	}
	return out
}

// AnyInputs are input limits that fit the samples of Bags.
var AnyInputs = sdk.InputSpec{Rows: 10, Classes: 10}

// Bags returns n samples of one bag each. The target is the sample's number.
func Bags(n int) *sdk.Samples {
	s := &sdk.Samples{}
	for i := range int64(n) {
		s.Append([]int64{i % 10, (i * i) % 10}[:1+i%2], i%10)
	}
	return s
}

// Loaded is data in memory.
type Loaded struct{ Samples *sdk.Samples }

// Load implements sdk.Data.
func (d Loaded) Load() (*sdk.Samples, error) { return d.Samples, nil }
