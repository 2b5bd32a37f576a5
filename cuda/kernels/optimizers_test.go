//go:build nvidia

package kernels

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

func TestStepsByRows(t *testing.T) {
	rowOf := func(x []float32, width int, row int32) []float32 { return x[int(row)*width : (int(row)+1)*width] }
	for _, c := range []struct {
		name   string
		device func(q *Queue, w, g, m, v []float32, width int, rows []int32)
		cpu    func(w, g, m, v []float32)
	}{
		{
			"adam", func(q *Queue, w, g, m, v []float32, width int, rows []int32) {
				q.AdamRows(w, g, m, v, width, rows, step)
			},
			func(w, g, m, v []float32) { vec.Adam(w, g, m, v, step) },
		},
		{
			"adagrad", func(q *Queue, w, g, m, _ []float32, width int, rows []int32) {
				q.AdagradRows(w, g, m, width, rows, 0.1, 1e-10)
			},
			func(w, g, m, _ []float32) { vec.Adagrad(w, g, m, 0.1, 1e-10) },
		},
	} {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			b := begin(t)
			defer b.end()
			r := drawNumbers(t)
			rows, width := drawTable(t)
			at := offsets(t, 4)
			var host, device [3][]float32
			for i := range host {
				if host[i] = r.floats(rows * width); i >= 1 {
					host[i] = r.state(rows * width)
				}
				device[i] = place(b, host[i], at[i])
			}
			var named []int32
			for _, row := range r.Perm(rows)[:r.IntN(rows+1)] {
				named = append(named, int32(row))
			}
			g := r.floats(len(named) * width)
			c.device(b.Queue, device[0], place(b, g, at[3]), device[1], device[2], width, place(b, named, 0))
			for i, row := range named {
				c.cpu(rowOf(host[0], width, row), g[i*width:(i+1)*width], rowOf(host[1], width, row),
					rowOf(host[2], width, row))
			}
			for i := range host {
				same(t, "an array", fetched(b, device[i]), host[i])
			}
		}))
	}
}

// The squares are added in another order than on the CPU.
func TestRowwiseAdagrad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r := drawNumbers(t)
		r.special = false
		rows, width := drawTable(t)
		at := offsets(t, 2)
		w, sums := r.floats(rows*width), make([]float32, rows)
		g := &tensor.Gradient{Width: width, Values: r.floats(rows * width)}
		for _, row := range r.Perm(rows) {
			g.Rows = append(g.Rows, int32(row))
		}
		dw, ds := place(b, w, at[0]), place(b, sums, 0)
		dg, dr := place(b, g.Values, at[1]), place(b, g.Rows, 0)

		s := optimizer.Defaults(0.1, 0)
		s.Optimizer = optimizer.RowwiseAdagrad
		o, err := optimizer.New(engine.Host, s, []tensor.Tensor{{Shape: []int{rows, width}, Data: w}},
			[]*tensor.Gradient{g})
		b.must(err)
		b.must(o.Reset())
		for range 3 {
			b.must(o.Step())
			b.RowwiseAdagrad(dw, dg, ds, width, dr, 0.1, 1e-10)
		}
		near(t, "w", fetched(b, dw), w, 1e-6, 1e-6)
	})
}

// golden has optimizer steps that PyTorch computed in float64, see sdk/optimizer.
type golden struct {
	Settings    json.RawMessage
	Sparse      bool
	Rows, Width int
	Start       []float32
	Steps       []struct {
		Gradient []float32
		Rows     []int32
		Values   []float64
	}
}

// stepper is an optimizer of one parameter that uses the kernels.
type stepper struct {
	optimizer.Settings
	w, m, v []float32
	width   int
	steps   float64
}

func (s *stepper) step(b *bench, g []float32, rows []int32) {
	lr, mu, decay, epsilon := float32(s.LR), float32(s.Momentum), float32(s.WeightDecay), s.Epsilon
	switch {
	case epsilon != 0:
	case s.Optimizer == optimizer.Adam:
		epsilon = 1e-8
	default:
		epsilon = 1e-10
	}
	s.steps++
	c := vec.AdamStep{
		LR: s.LR, Beta1: s.Beta1, Beta2: s.Beta2, Epsilon: epsilon, WeightDecay: s.WeightDecay,
		Correction1: 1 - math.Pow(s.Beta1, s.steps), Correction2: 1 - math.Pow(s.Beta2, s.steps),
	}
	sparse := rows != nil
	switch {
	case s.Optimizer == optimizer.Adam && sparse:
		c.Epsilon /= math.Sqrt(c.Correction2)
		b.AdamRows(s.w, g, s.m, s.v, s.width, rows, c)
	case s.Optimizer == optimizer.Adam:
		b.Adam(s.w, g, s.m, s.v, c)
	case s.Optimizer == optimizer.SGD && mu == 0 && sparse:
		b.ScatterRows(-lr, g, s.w, s.width, rows)
	case s.Optimizer == optimizer.SGD && mu == 0:
		b.SGD(s.w, g, lr, decay)
	case s.Optimizer == optimizer.SGD && sparse:
		b.Scale(mu, s.v)
		b.ScatterRows(1, g, s.v, s.width, rows)
		if s.Nesterov {
			b.Axpy(-lr*mu, s.v, s.w)
			b.ScatterRows(-lr, g, s.w, s.width, rows)
		} else {
			b.Axpy(-lr, s.v, s.w)
		}
	case s.Optimizer == optimizer.SGD:
		b.Momentum(s.w, g, s.v, lr, mu, decay, s.Nesterov)
	case !sparse:
		b.Adagrad(s.w, g, s.v, lr, float32(epsilon), decay)
	case s.Optimizer == optimizer.RowwiseAdagrad:
		b.RowwiseAdagrad(s.w, g, s.v[:len(s.v)/s.width], s.width, rows, lr, float32(epsilon))
	default:
		b.AdagradRows(s.w, g, s.v, s.width, rows, lr, float32(epsilon))
	}
}

func TestStepsMatchPyTorch(t *testing.T) {
	data, err := os.ReadFile("../../sdk/optimizer/testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s, sparse %v", c.Settings, c.Sparse), func(t *testing.T) {
			b := begin(t)
			defer b.end()
			s := stepper{Settings: optimizer.Defaults(0, 0), width: c.Width}
			b.must(json.Unmarshal(c.Settings, &s.Settings))
			seen[fmt.Sprintf("%s %v", s.Optimizer, c.Sparse)] = true
			zeros := make([]float32, len(c.Start))
			s.w, s.m, s.v = place(b, c.Start, 0), place(b, zeros, 0), place(b, zeros, 0)
			for _, step := range c.Steps {
				var rows []int32
				if c.Sparse {
					rows = place(b, step.Rows, 0)
				}
				s.step(b, place(b, step.Gradient, 0), rows)
				for j, got := range fetched(b, s.w) {
					if want := step.Values[j]; math.Abs(float64(got)-want) > 1e-6*max(1, math.Abs(want)) {
						t.Fatalf("step %v: value %d is %.9g, PyTorch has %.9g", s.steps, j, got, want)
					}
				}
			}
		})
	}
	if len(seen) != 8 {
		t.Errorf("the cases are of %v, want all optimizers with dense and sparse gradients", seen)
	}
}
