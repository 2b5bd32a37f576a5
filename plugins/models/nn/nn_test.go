package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
)

func bags() *sdk.Batch {
	b := &sdk.Batch{}
	b.Append([]int64{2, 0, 2}, 0)
	b.Append(nil, 0)
	b.Append([]int64{1}, 0)
	return b
}

func TestEmbeddingBag(t *testing.T) {
	table := []float32{1, 2, 10, 20, 100, 200}
	dy := []float32{3, 6, 5, 5, 7, 8}
	for name, c := range map[string]struct {
		sum         bool
		y, gradient []float32
	}{
		"mean": {false, []float32{67, 134, 0, 0, 10, 20}, []float32{1, 2, 7, 8, 2, 4}},
		"sum":  {true, []float32{201, 402, 0, 0, 10, 20}, []float32{3, 6, 7, 8, 6, 12}},
	} {
		t.Run(name, func(t *testing.T) {
			e := EmbeddingBag{Rows: 3, Width: 2, Sum: c.sum, Table: table}
			y := make([]float32, 6)
			if err := e.Forward(y, bags()); err != nil {
				t.Fatal(err)
			}
			near(t, y, c.y)
			dense := slices.Repeat([]float32{9}, 6)
			e.DenseGradient(dense, dy, bags())
			near(t, dense, c.gradient)
			sparse := tensor.NewGradient(tensor.BucketSpec{Sparse: true, Width: 2, Capacity: 3})
			if err := e.SparseGradient(&sparse, dy, bags()); err != nil {
				t.Fatal(err)
			}
			near(t, sparse.Values, c.gradient)
		})
	}
}

func TestLinear(t *testing.T) {
	engine, err := blas.Open(blas.Gonum, 1)
	if err != nil {
		t.Fatal(err)
	}
	l := Linear{BLAS: engine, In: 2, Out: 3, Weight: []float32{1, 2, 3, 4, 5, 6}, Bias: []float32{10, 20, 30}}
	x, dy := []float32{1, 1, 0, 2}, []float32{1, 0, 2, 0, 3, 0}
	y, dx := make([]float32, 6), make([]float32, 4)
	weight, bias := slices.Repeat([]float32{9}, 6), slices.Repeat([]float32{9}, 3)
	l.Forward(y, x)
	l.BiasGradient(bias, dy)
	l.WeightGradient(weight, dy, x)
	l.InputGradient(dx, dy)
	near(t, y, []float32{13, 27, 41, 14, 28, 42})
	near(t, bias, []float32{1, 3, 2})
	near(t, weight, []float32{1, 1, 0, 6, 2, 2})
	near(t, dx, []float32{11, 14, 9, 12})
}

func TestSoftmaxOfLargeValues(t *testing.T) {
	x := []float32{1000, 1000, -1000, 0, 0, 0}
	Softmax(x, 3)
	near(t, x, []float32{0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3})
}

func TestSoftmaxGradient(t *testing.T) {
	dx := make([]float32, 2)
	SoftmaxGradient(dx, []float32{1, 0}, []float32{0.25, 0.75}, 2)
	near(t, dx, []float32{0.1875, -0.1875})
}

func near(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) < 1e-4) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
