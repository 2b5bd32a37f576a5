package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
)

// MismatchWith accepts a gradient that holds the answer and finds any other
// value, in sparse buckets and in dense buckets longer than a block.
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
		t.Run(name, func(t *testing.T) {
			b, v := tensor.NewBucket(spec), NewValues(0.5, false)
			byRow := map[int32][]float32{} // values of each row; a dense bucket is one row
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
		})
	}
}

// Difference finds a wrong value or wrong rows, and accepts a value within the
// slack.
func TestDifference(t *testing.T) {
	dense := func(values ...float32) tensor.Gradient { return tensor.Gradient{Values: values} }
	sparse := func(rows []int32, values ...float32) tensor.Gradient {
		return tensor.Gradient{Values: values, Rows: rows, Width: 2}
	}
	for want, c := range map[string][2]tensor.Gradient{
		"":                              {dense(1, 2), dense(1, 2.00001)},
		"element 1 is 2 instead of 2.1": {dense(1, 2), dense(1, 2.1)},
		"the gradient has 1 elements instead of 2": {dense(1), dense(1, 2)},
		" ":                                {sparse([]int32{3, 5}, 1, 2, 3, 4), sparse([]int32{3, 5}, 1, 2, 3, 4)},
		"element 11 is 4 instead of 5":     {sparse([]int32{3, 5}, 1, 2, 3, 4), sparse([]int32{3, 5}, 1, 2, 3, 5)},
		"row 5 is missing":                 {sparse([]int32{3}, 1, 2), sparse([]int32{3, 5}, 1, 2, 3, 4)},
		"row 3 is missing":                 {sparse([]int32{5}, 3, 4), sparse([]int32{3, 5}, 1, 2, 3, 4)},
		"row 3 is present but must not be": {sparse([]int32{3, 5}, 1, 2, 3, 4), sparse([]int32{5}, 3, 4)},
		"row 5 is present but must not be": {sparse([]int32{3, 5}, 1, 2, 3, 4), sparse([]int32{3}, 1, 2)},
	} {
		t.Run(want, func(t *testing.T) {
			if where, how := Difference(&c[0], &c[1]); strings.TrimSpace(where+" "+how) != strings.TrimSpace(want) {
				t.Errorf("%v is not %v: %s %s, want %s", c[0], c[1], where, how, want)
			}
		})
	}
}
