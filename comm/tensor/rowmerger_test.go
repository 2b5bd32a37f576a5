package tensor_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
)

func TestRowMerger(t *testing.T) {
	merger := tensor.NewRowMerger(2)
	rapid.Check(t, func(t *rapid.T) {
		width, lists := rapid.IntRange(1, 9).Draw(t, "width"), rapid.IntRange(0, 5).Draw(t, "lists")
		spec := commtest.SparseSpec(0, 12, width, 12)
		merger.Reset()
		var parts []*tensor.Bucket
		held := map[int32][]float32{}
		for range lists {
			b := tensor.NewBucket(spec)
			commtest.Fill(t, spec, &b.Gradient, 12)
			parts = append(parts, b)
			merger.Add(&b.Gradient)
			for i, row := range b.Gradient.Rows {
				values := b.Gradient.Values[i*width : (i+1)*width]
				if held[row] == nil {
					held[row] = append([]float32(nil), values...)
					continue
				}
				for j, v := range values {
					held[row][j] += v
				}
			}
		}
		got := tensor.NewGradient(spec)
		commtest.Must(t, merger.Sum(&got))
		commtest.Must(t, spec.CheckRows(got.Rows))
		commtest.Must(t, spec.Check(&got))
		want := tensor.NewGradient(spec)
		for row := range int32(12) {
			if held[row] != nil {
				want.Rows = append(want.Rows, row)
				want.Values = append(want.Values, held[row]...)
			}
		}
		commtest.RequireSame(t, &got, &want)
		commtest.RequireNear(t, commtest.Table(spec, &got), commtest.Sum(spec, parts))
		combined := tensor.NewGradient(spec)
		commtest.Must(t, merger.Combine(&combined, func(row []float32, others [][]float32) {
			for _, other := range others {
				for i, v := range other {
					row[i] += v
				}
			}
		}))
		commtest.RequireSame(t, &combined, &want)
		if lists > 0 && len(want.Rows) > 0 {
			tight := tensor.NewGradient(commtest.SparseSpec(0, 12, width, len(want.Rows)-1))
			if err := merger.Sum(&tight); err == nil || !strings.Contains(err.Error(), "capacity") {
				t.Fatalf("a sum beyond the capacity gave %v", err)
			}
		}
	})
}

func TestRowMergerRefusesOtherWidths(t *testing.T) {
	a, b := tensor.NewGradient(commtest.SparseSpec(0, 4, 2, 4)), tensor.NewGradient(commtest.SparseSpec(0, 4, 3, 4))
	m := tensor.NewRowMerger(1)
	m.Add(&b)
	if err := m.Sum(&a); err == nil {
		t.Fatal("a sum of different widths gave no error")
	}
}

func TestRowMergerDoesNotAllocate(t *testing.T) {
	spec := commtest.SparseSpec(0, 64, 16, 64)
	a, b, dst := tensor.NewGradient(spec), tensor.NewGradient(spec), tensor.NewGradient(spec)
	commtest.Must(t, a.SetRows(20))
	commtest.Must(t, b.SetRows(30))
	for i := range a.Rows {
		a.Rows[i] = int32(3 * i)
	}
	for i := range b.Rows {
		b.Rows[i] = int32(2 * i)
	}
	m := tensor.NewRowMerger(2)
	allocs := testing.AllocsPerRun(100, func() {
		m.Reset()
		m.Add(&a)
		m.Add(&b)
		commtest.Must(t, m.Sum(&dst))
	})
	if allocs != 0 {
		t.Fatalf("a sum allocates %g times, want 0", allocs)
	}
}
