//go:build nvidia

package kernels

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// drawShape draws rows and columns for a warp or for a block.
func drawShape(t *rapid.T) (rows, columns int) {
	columns = rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 700)).Draw(t, "columns")
	return rapid.IntRange(1, max(1, min(9, 2000/columns))).Draw(t, "rows"), columns
}

func TestBias(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r := drawNumbers(t)
		rows, columns := drawShape(t)
		y, bias := r.floats(rows*columns), r.floats(columns)
		dy, dbias := place(b, y, 1), place(b, bias, 2)
		b.AddBias(dy, dbias)
		for i := range y {
			y[i] += bias[i%columns]
		}
		same(t, "y", fetched(b, dy), y)
	})
}

func TestColumnSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r := drawNumbers(t)
		rows := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(sliceRows-1, 3*sliceRows)).Draw(t, "rows")
		columns := rapid.IntRange(1, 70).Draw(t, "columns")
		dy := r.floats(rows * columns)
		want := make([]float32, columns)
		(&nn.Linear{Out: columns}).BiasGradient(want, dy)
		dst := place(b, r.floats(columns), 1)
		b.ColumnSum(dst, place(b, dy, 3))
		got := fetched(b, dst)
		if rows <= sliceRows {
			same(t, "sums", got, want)
		} else if !r.special {
			near(t, "sums", got, want, 0, 1e-5*float64(rows))
		}
	})
}

// Results that are added in another order than on the CPU differ by some roundings of the largest term.
func TestSoftmaxes(t *testing.T) {
	for _, c := range []struct {
		name           string
		device         func(b *bench, dx, dy, y []float32, classes int)
		cpu            func(dx, dy, y []float32, classes int)
		relative, part float64 // relative to a value, and to the row's largest |dy|
	}{
		{
			"softmax", func(b *bench, dx, _, _ []float32, n int) { b.Softmax(dx, n) },
			func(dx, _, _ []float32, n int) { nn.Softmax(dx, n) }, 3e-6, 0,
		},
		{
			"log softmax", func(b *bench, dx, _, _ []float32, n int) { b.LogSoftmax(dx, n) },
			func(dx, _, _ []float32, n int) { nn.LogSoftmax(dx, n) }, 3e-7, 1e-9,
		},
		{
			"softmax gradient", func(b *bench, dx, dy, y []float32, n int) {
				b.Softmax(y, n)
				b.SoftmaxGradient(dx, dy, y, n)
			},
			func(dx, dy, y []float32, n int) { nn.Softmax(y, n); nn.SoftmaxGradient(dx, dy, y, n) }, 3e-6, 3e-6,
		},
		{
			"log softmax gradient",
			func(b *bench, dx, dy, y []float32, n int) { b.LogSoftmax(y, n); b.LogSoftmaxGradient(dx, dy, y, n) },
			func(dx, dy, y []float32, n int) { nn.LogSoftmax(y, n); nn.LogSoftmaxGradient(dx, dy, y, n) }, 3e-6, 1e-5,
		},
	} {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			b := begin(t)
			defer b.end()
			r := drawNumbers(t)
			rows, classes := drawShape(t)
			at := offsets(t, 3)
			var host, device [3][]float32
			for i := range host {
				host[i] = r.floats(rows * classes)
			}
			largest := 0.
			for i, v := range host[1] {
				switch size := math.Abs(float64(v)); {
				case size == math.MaxFloat32: // the float32 sum overflows where the float64 sum does not
					host[1][i] = 1
				case !math.IsInf(size, 0) && size > largest:
					largest = size
				}
			}
			for i := range host {
				device[i] = place(b, host[i], at[i])
			}
			c.device(b, device[0], device[1], device[2], classes)
			got := fetched(b, device[0])
			c.cpu(host[0], host[1], host[2], classes)
			near(t, "dx", got, host[0], c.relative, c.part*largest+1e-44)
		}))
	}
}

func TestCriteria(t *testing.T) {
	type launch func(b *bench, losses, gradient, output []float32, targets []int64, columns int)
	for _, c := range []struct {
		name   string
		make   func(struct{}, sdk.CriterionEnv) (sdk.Criterion, error)
		device launch
		exact  bool // the gradient has the same bits as on the CPU
		whole  bool // losses are sums over elements, not over rows
	}{
		{"cel", criteria.NewCrossEntropy, func(b *bench, l, g, o []float32, t []int64, n int) {
			b.CrossEntropy(l, g, o, t, n)
		}, false, false},
		{"nll", criteria.NewNegativeLogLikelihood, func(b *bench, l, g, o []float32, t []int64, n int) {
			b.NLL(l, g, o, t, n)
		}, true, false},
		{"mse", criteria.NewMeanSquaredError, func(b *bench, l, g, o []float32, t []int64, n int) {
			b.MSE(l, g, o, t, n)
		}, true, true},
		{"l1", criteria.NewL1, func(b *bench, l, g, o []float32, t []int64, n int) { b.L1(l, g, o, t, n) }, true, true},
		{"bce", criteria.NewBinaryCrossEntropy, func(b *bench, l, g, o []float32, t []int64, _ int) {
			b.BCE(l, g, o, t)
		}, false, false},
	} {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			b := begin(t)
			defer b.end()
			r := drawNumbers(t)
			rows, columns := drawShape(t)
			classes := columns
			if c.name == "bce" {
				rows, columns, classes = columns, 1, 2
			}
			output, targets := r.floats(rows*columns), r.indices(rows, classes)
			criterion, err := c.make(struct{}{}, sdk.CriterionEnv{Engine: engine.Host, MaxBatch: rows})
			b.must(err)
			shape := []int{rows, columns}
			loss, err := criterion.Forward(tensor.Tensor{Shape: shape, Data: output}, targets)
			b.must(err)
			want := make([]float32, len(output))
			b.must(criterion.Backward(tensor.Tensor{Shape: shape, Data: want}))

			out, to := place(b, output, 1), place(b, targets, 0)
			losses, gradient := place(b, make([]float32, rows), 2), place(b, make([]float32, len(output)), 3)
			c.device(b, losses, nil, out, to, columns)
			c.device(b, nil, gradient, out, to, columns)
			var sum float64
			for _, v := range fetched(b, losses) {
				sum += float64(v)
			}
			count := float64(rows)
			if c.whole {
				count *= float64(columns)
			}
			if math.Abs(loss) < 1e30 { // otherwise a row's float32 may overflow
				near(t, "the loss", []float32{float32(sum / count)}, []float32{float32(loss)}, 1e-6, 1e-6)
			}
			if c.exact {
				same(t, "the gradient", fetched(b, gradient), want)
			} else {
				near(t, "the gradient", fetched(b, gradient), want, 3e-6, 1e-7/float64(rows))
			}
		}))
	}
}

// Targets are numbers here: any numbers, numbers from 0 to 1, or probabilities.
func TestCriteriaOfFloatTargets(t *testing.T) {
	type launch func(b *bench, losses, gradient, output, targets []float32, columns int)
	for _, c := range []struct {
		name   string
		make   func(struct{}, sdk.CriterionEnv) (sdk.Criterion, error)
		device launch
		exact  bool // the gradient has the same bits as on the CPU
	}{
		{"cel", criteria.NewCrossEntropy, func(b *bench, l, g, o, t []float32, n int) {
			b.CrossEntropyFloats(l, g, o, t, n)
		}, false},
		{"mse", criteria.NewMeanSquaredError, func(b *bench, l, g, o, t []float32, n int) {
			b.MSEFloats(l, g, o, t, n)
		}, true},
		{"l1", criteria.NewL1, func(b *bench, l, g, o, t []float32, n int) { b.L1Floats(l, g, o, t, n) }, true},
		{"bce", criteria.NewBinaryCrossEntropy, func(b *bench, l, g, o, t []float32, _ int) { b.BCEFloats(l, g, o, t) },
			false},
	} {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			b := begin(t)
			defer b.end()
			r := drawNumbers(t)
			rows, columns := drawShape(t)
			output, targets := r.floats(rows*columns), make([]float32, rows*columns)
			for i := range targets {
				switch c.name {
				case "mse", "l1":
					targets[i] = float32(i%23)*0.37 - 4
				case "bce":
					targets[i] = float32(i%9) / 8
				default: // their sum must be 1
					targets[i] = 1 / float32(columns)
				}
			}
			criterion, err := c.make(struct{}{}, sdk.CriterionEnv{Engine: engine.Host, MaxBatch: rows})
			b.must(err)
			shape := []int{rows, columns}
			loss, err := criterion.(sdk.FloatCriterion).ForwardFloats(tensor.Tensor{Shape: shape, Data: output},
				targets)
			b.must(err)
			want := make([]float32, len(output))
			b.must(criterion.Backward(tensor.Tensor{Shape: shape, Data: want}))

			count, each := rows, float64(len(output))
			if c.name == "bce" {
				count = len(output)
			}
			if c.name == "cel" {
				each = float64(rows)
			}
			out, to := place(b, output, 1), place(b, targets, 0)
			losses, gradient := place(b, make([]float32, count), 2), place(b, make([]float32, len(output)), 3)
			c.device(b, losses, nil, out, to, columns)
			c.device(b, nil, gradient, out, to, columns)
			var sum float64
			for _, v := range fetched(b, losses) {
				sum += float64(v)
			}
			if math.Abs(loss) < 1e30 { // otherwise a row's float32 may overflow
				near(t, "the loss", []float32{float32(sum / each)}, []float32{float32(loss)}, 1e-6, 1e-6)
			}
			if c.exact {
				same(t, "the gradient", fetched(b, gradient), want)
			} else {
				near(t, "the gradient", fetched(b, gradient), want, 3e-6, 1e-6/float64(rows))
			}
		}))
	}
}

func TestTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r, n := drawNumbers(t), rapid.IntRange(0, 2000).Draw(t, "n")
		r.special = false
		x, want := r.floats(n), 0.
		for _, v := range x {
			want += float64(v) / 8
		}
		dst := place(b, []float32{7}, 0)
		b.Total(dst, 0.125, place(b, x, 1))
		near(t, "the total", fetched(b, dst), []float32{float32(want)}, 1e-7, 1e-12)
	})
}
