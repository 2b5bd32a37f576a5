package bench

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
)

// A gradient that holds what was answered is right, and any other value in it is found: of dense
// buckets, longer than a block, and of sparse ones.
func TestMismatchWithAnAnswer(t *testing.T) {
	largest := func(sum []float32, others [][]float32) {
		for _, other := range others {
			for i, v := range other {
				sum[i] = max(sum[i], v)
			}
		}
	}
	const round = 5
	ranks := []int{1, 4, 6}
	for name, spec := range map[string]tensor.BucketSpec{
		"dense":  {Elements: 1300},
		"sparse": {Elements: 60, Sparse: true, TableRows: 20, Width: 3, Capacity: 20},
	} {
		b, v := tensor.NewBucket(spec), NewValues(0.5, false)
		byRow := map[int32][]float32{} // element by element: a dense one is one row
		for _, rank := range ranks {
			if err := v.Fill(b, rank, round); err != nil {
				t.Fatal(err)
			}
			rows := b.Gradient.Rows
			if !spec.Sparse {
				rows = []int32{0}
			}
			width := len(b.Gradient.Values) / len(rows)
			for i, row := range rows {
				values := b.Gradient.Values[i*width:][:width]
				if byRow[row] == nil {
					byRow[row] = slices.Clone(values)
				} else {
					largest(byRow[row], [][]float32{values})
				}
			}
		}
		if spec.Sparse {
			if err := b.Gradient.SetRows(len(byRow)); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for row := range int32(max(1, spec.TableRows)) {
			if values := byRow[row]; values != nil {
				if spec.Sparse {
					b.Gradient.Rows[n/len(values)] = row
				}
				n += copy(b.Gradient.Values[n:], values)
			}
		}
		if where, how := v.MismatchWith(largest, b, round, ranks); where != "" {
			t.Errorf("%s: %s %s", name, where, how)
		}
		for i := range b.Gradient.Values {
			b.Gradient.Values[i]++
			if where, _ := v.MismatchWith(largest, b, round, ranks); where == "" {
				t.Errorf("%s: value %d is off, which is not found", name, i)
			}
			b.Gradient.Values[i]--
		}
		if where, _ := v.MismatchWith(largest, b, round+1, ranks); where == "" {
			t.Errorf("%s: another round is not found", name)
		}
	}
}
