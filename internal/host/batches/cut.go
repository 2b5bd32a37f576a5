package batches

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/sdk"
)

// Cut divides samples into batches in sample order. Cut uses the batch sizes that the data
// declares, or otherwise size samples per batch; then the last batch may be short.
func Cut(s *sdk.Samples, size int) ([]sdk.Batch, error) {
	if s.Batches == nil {
		return CutEvery(&s.Batch, size), nil
	}
	var out []sdk.Batch
	from := 0
	for i, n := range s.Batches {
		if n <= 0 || n > s.Size()-from {
			return nil,
				fmt.Errorf("batch %d of the data has %d samples; it must have at least one, and at most the remaining %d of %d",
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

// CutEvery divides a batch into batches of size samples; the last one may be short. The results
// share the memory of b, except their offsets.
func CutEvery(b *sdk.Batch, size int) (out []sdk.Batch) {
	for from := 0; from < b.Size(); from += size {
		out = append(out, Slice(b, from, min(from+size, b.Size())))
	}
	return out
}

// Slice returns the samples i with from <= i < to.
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

// Distinct counts the distinct table rows that the indices of a batch name. If there are several
// tables, index k of a sample names a row of table k.
func Distinct(b *sdk.Batch, tables []int) int {
	rows := slices.Clone(b.Indices)
	first := int64(0) // row number of table k's first row when all tables are stacked
	for k, n := range tables {
		for i := k; i < len(rows); i += len(tables) {
			rows[i] += first
		}
		first += int64(n)
	}
	slices.Sort(rows)
	return len(slices.Compact(rows))
}
