// Package commtest has helpers that the tests of the data plane share.
package commtest

import (
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
)

// TB is the common interface of tests, benchmarks and property checks.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Must fails the test on an error.
func Must(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// DenseSpec is the spec of a dense bucket with this many elements.
func DenseSpec(index, elements int) tensor.BucketSpec {
	return tensor.BucketSpec{Index: index, Elements: elements}
}

// SparseSpec is the spec of a sparse bucket: a table of tableRows rows, of
// which a gradient may hold capacity rows.
func SparseSpec(index, tableRows, width, capacity int) tensor.BucketSpec {
	return tensor.BucketSpec{Index: index, Elements: tableRows * width, Sparse: true, TableRows: tableRows,
		Width: width, Capacity: capacity}
}

// Fill draws random contents for g.
func Fill(t *rapid.T, spec tensor.BucketSpec, g *tensor.Gradient, maxRows int) {
	if spec.Sparse {
		held := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(spec.TableRows-1)), 0, maxRows,
			rapid.ID[int32]).Draw(t, "rows")
		Must(t, g.SetRows(len(held)))
		copy(g.Rows, held)
		for i := range g.Rows { // insertion sort
			for j := i; j > 0 && g.Rows[j] < g.Rows[j-1]; j-- {
				g.Rows[j], g.Rows[j-1] = g.Rows[j-1], g.Rows[j]
			}
		}
	}
	Noise(rapid.Uint32().Draw(t, "seed"), g.Values)
}

// Noise fills x with numbers between -128 and 128.
func Noise(seed uint32, x []float32) {
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float32(int32(seed)) / (1 << 24)
	}
}

// Table converts g to a dense table.
func Table(spec tensor.BucketSpec, g *tensor.Gradient) []float64 {
	out := make([]float64, spec.Elements)
	if !spec.Sparse {
		for i, v := range g.Values {
			out[i] = float64(v)
		}
		return out
	}
	for i, row := range g.Rows {
		for j := range g.Width {
			out[int(row)*g.Width+j] = float64(g.Values[i*g.Width+j])
		}
	}
	return out
}

// Sum is the dense sum of gradients, in double precision.
func Sum(spec tensor.BucketSpec, gradients []*tensor.Bucket) []float64 {
	out := make([]float64, spec.Elements)
	for _, b := range gradients {
		for i, v := range Table(spec, &b.Gradient) {
			out[i] += v
		}
	}
	return out
}

// RequireNear fails unless the values are nearly equal.
func RequireNear(t TB, got, want []float64) {
	t.Helper()
	for i := range want {
		if d := got[i] - want[i]; d > 1e-3 || d < -1e-3 {
			t.Fatalf("element %d of %d is %g, want %g", i, len(want), got[i], want[i])
		}
	}
}

// RequireSame fails unless the gradients have equal bits.
func RequireSame(t TB, got, want *tensor.Gradient) {
	t.Helper()
	if string(tensor.Int32Bytes(got.Rows)) != string(tensor.Int32Bytes(want.Rows)) {
		t.Fatalf("rows are %v, want %v", got.Rows, want.Rows)
	}
	if string(tensor.Float32Bytes(got.Values)) != string(tensor.Float32Bytes(want.Values)) {
		t.Fatalf("values differ in their bits")
	}
}
