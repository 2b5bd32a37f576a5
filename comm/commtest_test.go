// Package commtest is what the tests of the data plane have in common.
package comm

import "pgregory.net/rapid"

// tb is what tests, benchmarks and property checks have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// must fails on an error.
func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// denseSpec is a dense bucket of so many elements.
func denseSpec(index, elements int) BucketSpec {
	return BucketSpec{Index: index, Elements: elements}
}

// sparseSpec is a table of tableRows rows of which capacity fit.
func sparseSpec(index, tableRows, width, capacity int) BucketSpec {
	return BucketSpec{Index: index, Elements: tableRows * width, Sparse: true, TableRows: tableRows, Width: width, Capacity: capacity}
}

// fill draws the contents of g.
func fill(t *rapid.T, spec BucketSpec, g *Gradient, maxRows int) {
	if spec.Sparse {
		held := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(spec.TableRows-1)), 0, maxRows, rapid.ID[int32]).Draw(t, "rows")
		must(t, g.SetRows(len(held)))
		copy(g.Rows, held)
		for i := range g.Rows { // insertion sort
			for j := i; j > 0 && g.Rows[j] < g.Rows[j-1]; j-- {
				g.Rows[j], g.Rows[j-1] = g.Rows[j-1], g.Rows[j]
			}
		}
	}
	noise(rapid.Uint32().Draw(t, "seed"), g.Values)
}

// noise fills x with numbers between -128 and 128.
func noise(seed uint32, x []float32) {
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float32(int32(seed)) / (1 << 24)
	}
}

// table is g as a dense table.
func table(spec BucketSpec, g *Gradient) []float64 {
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

// sum is the dense sum of gradients, in double precision.
func sum(spec BucketSpec, gradients []*Bucket) []float64 {
	out := make([]float64, spec.Elements)
	for _, b := range gradients {
		for i, v := range table(spec, &b.Gradient) {
			out[i] += v
		}
	}
	return out
}

// requireNear fails unless the values are nearly equal.
func requireNear(t tb, got, want []float64) {
	t.Helper()
	for i := range want {
		if d := got[i] - want[i]; d > 1e-3 || d < -1e-3 {
			t.Fatalf("element %d of %d is %g, want %g", i, len(want), got[i], want[i])
		}
	}
}

// requireSame fails unless the gradients have equal bits.
func requireSame(t tb, got, want *Gradient) {
	t.Helper()
	if string(Int32Bytes(got.Rows)) != string(Int32Bytes(want.Rows)) {
		t.Fatalf("rows are %v, want %v", got.Rows, want.Rows)
	}
	if string(Float32Bytes(got.Values)) != string(Float32Bytes(want.Values)) {
		t.Fatalf("values differ in their bits")
	}
}
