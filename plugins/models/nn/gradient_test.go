package nn

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest/gradcheck"
)

// Outputs are float32, so a weighted sum of several dozen outputs has a rounding error of about 1e-6. The step of
// 1/16 divides this error.
const tolerance = 1e-4

func TestLinearGradients(t *testing.T) {
	engine, err := blas.Open(blas.Gonum, 1)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		rows, in, out := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t,
			"in"), rapid.IntRange(1, 5).Draw(t, "out")
		l := Linear{
			BLAS: engine, In: in, Out: out,
			Weight: gradcheck.Grid(t, "weight", out*in), Bias: gradcheck.Grid(t, "bias", out),
		}
		x, dy, y := gradcheck.Grid(t, "x", rows*in), gradcheck.Grid(t, "dy", rows*out), make([]float32, rows*out)
		loss := func() float64 {
			l.Forward(y, x)
			return gradcheck.Weighted(dy, y)
		}
		weight, bias, dx := garbage(out*in), garbage(out), garbage(rows*in)
		l.WeightGradient(weight, dy, x)
		l.BiasGradient(bias, dy)
		l.InputGradient(dx, dy)
		gradcheck.Check(t, "weight", loss, l.Weight, weight, tolerance)
		gradcheck.Check(t, "bias", loss, l.Bias, bias, tolerance)
		gradcheck.Check(t, "input", loss, x, dx, tolerance)
	})
}

func TestEmbeddingBagGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, width := rapid.IntRange(1, 6).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "width")
		b := &sdk.Batch{}
		for range rapid.IntRange(1, 4).Draw(t, "bags") { // some are empty, and rows recur
			b.Append(rapid.SliceOfN(rapid.Int64Range(0, int64(rows-1)), 0, 5).Draw(t, "bag"), 0)
		}
		e := EmbeddingBag{Rows: rows, Width: width, Sum: rapid.Bool().Draw(t, "sum"),
			Table: gradcheck.Grid(t, "table", rows*width)}
		y, dy := make([]float32, b.Size()*width), gradcheck.Grid(t, "dy", b.Size()*width)
		loss := func() float64 {
			if err := e.Forward(y, b); err != nil {
				t.Fatal(err)
			}
			return gradcheck.Weighted(dy, y)
		}
		dense := garbage(rows * width)
		e.DenseGradient(dense, dy, b)
		gradcheck.Check(t, fmt.Sprintf("dense, sum %v", e.Sum), loss, e.Table, dense, tolerance)

		sparse := tensor.NewGradient(tensor.BucketSpec{Sparse: true, Width: width, Capacity: rows})
		copy(sparse.Values[:cap(sparse.Values)], garbage(rows*width))
		if err := e.SparseGradient(&sparse, dy, b); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(sparse.Rows) || len(slices.Compact(slices.Clone(sparse.Rows))) != len(sparse.Rows) {
			t.Fatalf("the rows are %v", sparse.Rows)
		}
		spread := make([]float32, rows*width)
		for i, row := range sparse.Rows {
			copy(spread[int(row)*width:], sparse.Values[i*width:(i+1)*width])
		}
		gradcheck.Check(t, fmt.Sprintf("sparse, sum %v", e.Sum), loss, e.Table, spread, tolerance)
	})
}

func TestSoftmaxGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, classes := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "classes")
		x, dy := gradcheck.Grid(t, "x", rows*classes), gradcheck.Grid(t, "dy", rows*classes)
		y, dx := make([]float32, len(x)), garbage(len(x))
		loss := func() float64 {
			copy(y, x)
			Softmax(y, classes)
			return gradcheck.Weighted(dy, y)
		}
		loss()
		SoftmaxGradient(dx, dy, y, classes)
		gradcheck.Check(t, "softmax", loss, x, dx, tolerance)
	})
}

func TestReLUGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		x, dy, y := gradcheck.OffZero(t, "x", n), gradcheck.Grid(t, "dy", n), make([]float32, n)
		loss := func() float64 {
			copy(y, x)
			vec.ReLU(y)
			return gradcheck.Weighted(dy, y)
		}
		loss()
		dx := slices.Clone(dy)
		vec.ReLUGradient(dx, y)
		gradcheck.Check(t, "ReLU", loss, x, dx, tolerance)
	})
}

// garbage returns values that a gradient must overwrite.
func garbage(n int) []float32 { return slices.Repeat([]float32{9}, n) }
