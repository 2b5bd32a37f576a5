package batches

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/sdk"
)

// Cut makes batches in sample order. It uses the sizes that the data gives, or else
// size samples each; the last batch may then be short.
func Cut(s *sdk.Samples, size int) ([]sdk.Batch, error) {
	if s.Batches == nil {
		return CutEvery(&s.Batch, size), nil
	}
	var out []sdk.Batch
	from := 0
	for i, n := range s.Batches {
		if n <= 0 || n > s.Size()-from {
			return nil,
				fmt.Errorf("batch %d of the data has %d samples; it must have one at least, and at most the %d that are left of %d",
					i, n, s.Size()-from, s.Size())
		}
		out = append(out, Slice(&s.Batch, from, from+n))
		from += n
	}
	if from < s.Size() {
		return nil, fmt.Errorf("the data's %d batches have %d samples; they must add up to all %d", len(s.Batches),
			from, s.Size())
	}
	return out, nil
}

// CutEvery makes batches of size samples; the last one may be short. They are views
// of b, except their offsets.
func CutEvery(b *sdk.Batch, size int) (out []sdk.Batch) {
	for from := 0; from < b.Size(); from += size {
		out = append(out, Slice(b, from, min(from+size, b.Size())))
	}
	return out
}

// Slice is the batch of samples from to to.
func Slice(b *sdk.Batch, from, to int) sdk.Batch {
	numbers, targets := len(b.Features)/b.Size(), len(b.Targets)/b.Size()
	part := sdk.Batch{
		Features:     b.Features[from*numbers : to*numbers],
		Targets:      b.Targets[from*targets : to*targets],
		FloatTargets: b.FloatTargets[from*b.TargetWidth : to*b.TargetWidth],
		TargetWidth:  b.TargetWidth,
	}
	if len(b.Offsets) == 0 {
		return part
	}
	first := b.Offsets[from]
	part.Indices = b.Indices[first:b.Offsets[to]]
	part.Offsets = make([]int64, to-from+1)
	for i := range part.Offsets {
		part.Offsets[i] = b.Offsets[from+i] - first
	}
	return part
}

// Distinct is how many rows the indices of a batch name. Where there are several tables, index k of
// a bag names a row of table k.
func Distinct(b *sdk.Batch, tables []int) int {
	rows := slices.Clone(b.Indices)
	first := int64(0) // of table k, in a stack of all tables
	for k, n := range tables {
		for i := k; i < len(rows); i += len(tables) {
			rows[i] += first
		}
		first += int64(n)
	}
	slices.Sort(rows)
	return len(slices.Compact(rows))
}
