package hosttest

import (
	"pgregory.net/rapid"

	"github.com/psbench/psbench/sdk"
)

// Samples are bags with a target each.
func Samples(bags [][]int64, targets ...int64) *sdk.Samples {
	s := &sdk.Samples{}
	for i, bag := range bags {
		s.Append(bag, targets[i])
	}
	return s
}

// Rows are samples of numbers alone, with target 0.
func Rows(numbers int, features ...float32) *sdk.Samples {
	return &sdk.Samples{Batch: sdk.Batch{Features: features, Targets: make([]int64, len(features)/numbers)}}
}

// AnySamples draws samples of every form, some with batches of their own.
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

// Numbered are n batches of one sample whose target is the batch's number.
func Numbered(n int) []sdk.Batch {
	out := make([]sdk.Batch, n)
	for i := range out {
		out[i].Append([]int64{0}, int64(i))
	}
	return out
}

// AnyInputs fit what Bags gives.
var AnyInputs = sdk.InputSpec{Rows: 10, Classes: 10}

// Bags are n samples of a bag each, with its number as the target.
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
