package optimizer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// settingsOf draws settings of an optimizer that supports sparse gradients.
func settingsOf(t *rapid.T, names ...string) Settings {
	s := Defaults(rapid.Float64Range(1e-3, 1).Draw(t, "lr"), 0)
	s.Optimizer = rapid.SampledFrom(names).Draw(t, "optimizer")
	if s.Optimizer == SGD && rapid.Bool().Draw(t, "moving") {
		s.Momentum = rapid.Float64Range(0.1, 0.99).Draw(t, "momentum")
		s.Nesterov = rapid.Bool().Draw(t, "nesterov")
	}
	return s
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func newOptimizer(t interface{ Fatal(...any) }, s Settings, v tensor.Tensor, g *tensor.Gradient) Optimizer {
	o, err := New(engine.Host, s, []tensor.Tensor{v}, []*tensor.Gradient{g})
	if err != nil {
		t.Fatal(err)
	}
	must(t, o.Reset())
	return o
}

// table draws a table with values from -1 to 1, which is the parameter of both tests below.
func table(t *rapid.T) tensor.Tensor {
	v := tensor.New(rapid.IntRange(1, 5).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "width"))
	for i := range v.Data {
		v.Data[i] = rapid.Float32Range(-1, 1).Draw(t, "value")
	}
	return v
}

// draw gives sparse random values for some rows of v, in any order.
func draw(t *rapid.T, v tensor.Tensor, sparse *tensor.Gradient) {
	rows := make([]int32, v.Shape[0])
	for i := range rows {
		rows[i] = int32(i)
	}
	rows = rapid.Permutation(rows).Draw(t, "order")
	sparse.Rows = rows[:rapid.IntRange(0, len(rows)).Draw(t, "named")]
	sparse.Values = sparse.Values[:0]
	for range len(sparse.Rows) * sparse.Width {
		sparse.Values = append(sparse.Values, rapid.Float32Range(-4, 4).Draw(t, "gradient"))
	}
}

// With these optimizers, a missing row has the same effect as a row with gradient 0.
func TestSparseIsDenseWithZeros(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := table(t)
		other := tensor.Tensor{Shape: v.Shape, Data: slices.Clone(v.Data)}
		s := settingsOf(t, SGD, Adagrad)
		sparse, dense := &tensor.Gradient{Width: v.Shape[1]}, &tensor.Gradient{Values: make([]float32, len(v.Data))}
		a, b := newOptimizer(t, s, v, sparse), newOptimizer(t, s, other, dense)
		for step := range 4 {
			draw(t, v, sparse)
			clear(dense.Values)
			for i, r := range sparse.Rows {
				copy(row(dense.Values, sparse.Width, r), sparse.Values[i*sparse.Width:])
			}
			must(t, a.Step())
			must(t, b.Step())
			for i, want := range other.Data {
				if math.Abs(float64(v.Data[i]-want)) > 1e-5*(1+math.Abs(float64(want))) {
					t.Fatalf("step %d: value %d is %g, with zeros for the other rows %g", step, i, v.Data[i], want)
				}
			}
		}
	})
}

// With these optimizers, rows without a gradient keep their bits.
func TestSparseLeavesOtherRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := table(t)
		s := settingsOf(t, SGD, Adam, Adagrad, RowwiseAdagrad)
		s.Momentum, s.Nesterov = 0, false
		g := &tensor.Gradient{Width: v.Shape[1]}
		o := newOptimizer(t, s, v, g)
		for range 3 {
			draw(t, v, g)
			before := slices.Clone(v.Data)
			must(t, o.Step())
			for r := range int32(v.Shape[0]) {
				same := slices.Equal(row(v.Data, g.Width, r), row(before, g.Width, r))
				if !same && !slices.Contains(g.Rows, r) {
					t.Fatalf("%s moved row %d, which has no gradient, beside rows %v", s.Optimizer, r, g.Rows)
				}
			}
		}
	})
}

// The learning rate of a row depends only on the mean of its squared gradients. For gradients of 1,
// the mean is 1, however wide the row is.
func TestRowwiseAdagradTakesTheMean(t *testing.T) {
	for _, width := range []int{1, 7, 64} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			v := tensor.New(2, width)
			s := Defaults(0.5, 0)
			s.Optimizer = RowwiseAdagrad
			g := &tensor.Gradient{Rows: []int32{1}, Width: width, Values: slices.Repeat([]float32{1}, width)}
			must(t, newOptimizer(t, s, v, g).Step())
			want := append(make([]float32, width), slices.Repeat([]float32{-0.5}, width)...)
			if d := cmp.Diff(want, v.Data); d != "" {
				t.Errorf("width %d: %s", width, d)
			}
		})
	}
}

// A first gradient of 0 must not cause a division by 0.
func TestGradientOfZero(t *testing.T) {
	for name := range uses {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{0, 2} {
				s := Defaults(1, 0)
				s.Optimizer = name
				v := tensor.Tensor{Shape: []int{1, 2}, Data: []float32{1, 2}}
				g := &tensor.Gradient{Width: width, Values: make([]float32, 2)}
				if width > 0 {
					g.Rows = []int32{0}
				}
				must(t, newOptimizer(t, s, v, g).Step())
				if d := cmp.Diff([]float32{1, 2}, v.Data); d != "" {
					t.Errorf("%s, width %d: %s", name, width, d)
				}
			}
		})
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	for name := range uses {
		t.Run(name, func(t *testing.T) {
			s := Defaults(0.1, 0)
			s.Optimizer = name
			if name == SGD {
				s.Momentum, s.Nesterov = 0.5, true
			}
			values := []tensor.Tensor{tensor.New(50), tensor.New(9, 3)}
			o, err := New(engine.Host, s, values, []*tensor.Gradient{
				{Values: make([]float32, 50)},
				{Rows: []int32{2, 7}, Width: 3, Values: make([]float32, 6)},
			})
			if err != nil {
				t.Fatal(err)
			}
			must(t, o.Reset())
			if n := testing.AllocsPerRun(20, func() { must(t, o.Step()) }); n != 0 {
				t.Errorf("a step of %s allocates %v times", name, n)
			}
			if n := testing.AllocsPerRun(20, func() { must(t, o.Reset()) }); n != 0 {
				t.Errorf("a later reset of %s allocates %v times", name, n)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	values := []tensor.Tensor{{Shape: []int{5}}, {Shape: []int{3, 2}}}
	gradients := []*tensor.Gradient{{}, {Width: 2}}
	for name := range uses {
		t.Run(name, func(t *testing.T) {
			s := Defaults(0.1, 0)
			s.Optimizer, s.WeightDecay = name, 0.25
			want :=
				"weight_decay is 0.25 but must be 0: the gradient of parameter 1, of shape [3 2], is sparse, and rows without a gradient would not decay"
			if _, err := New(engine.Host, s, values, gradients); err == nil || err.Error() != want {
				t.Errorf("%s gives %v, want %s", name, err, want)
			}
			if _, err := New(engine.Host, s, values[:1], gradients[:1]); err != nil {
				t.Errorf("%s with dense gradients gives %v", name, err)
			}
		})
	}
	if _, err := New(engine.Host, Settings{Optimizer: "lamb"}, nil, nil); err == nil {
		t.Error("an unknown optimizer was made")
	}
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		`optimizer is "Adam" but must be sgd, adam, adagrad or rowwise_adagrad`: func(s *Settings) {
			s.Optimizer = "Adam"
		},
		"lr is 0 but must be above 0":                 func(s *Settings) { s.LR = 0 },
		"momentum is 1 but must be from 0 to below 1": func(s *Settings) { s.Momentum = 1 },
		"momentum is 0.999999999999 but must be from 0 to below 1": func(s *Settings) {
			s.Momentum = 0.999999999999
		},
		"momentum is NaN but must be from 0 to below 1": func(s *Settings) {
			s.Momentum = math.NaN()
		},
		"lr is 1e-50 but must be above 0":                      func(s *Settings) { s.LR = 1e-50 },
		"lr is 1e+39 but must be a finite number as a float32": func(s *Settings) { s.LR = 1e39 },
		"lr is NaN but must be a finite number": func(s *Settings) {
			s.LR = math.NaN()
		},
		"weight_decay is 1e+39 but must be a finite number": func(s *Settings) {
			s.WeightDecay = 1e39
		},
		"eps is +Inf but must be a finite number": func(s *Settings) {
			s.Optimizer, s.Epsilon = Adam, math.Inf(1)
		},
		"beta1 is 1.5 but must be from 0 to below 1": func(s *Settings) {
			s.Optimizer, s.Beta1 = Adam, 1.5
		},
		"beta2 is -0.1 but must be from 0 to below 1": func(s *Settings) {
			s.Optimizer, s.Beta2 = Adam, -0.1
		},
		"weight_decay is -1 but must be at least 0": func(s *Settings) {
			s.WeightDecay = -1
		},
		"eps is 1e-60 but must be 0, which stands for the optimizer's": func(s *Settings) {
			s.Optimizer, s.Epsilon = Adam, 1e-60
		},
		"nesterov is true but momentum is 0": func(s *Settings) {
			s.Nesterov = true
		},
		"nesterov is true but the optimizer adam has none: its settings are lr, weight_decay, beta1, beta2, eps": func(s *Settings) {
			s.Optimizer, s.Nesterov = Adam, true
		},
		"momentum is 0.5 but the optimizer adagrad has none": func(s *Settings) {
			s.Optimizer, s.Momentum = Adagrad, 0.5
		},
		"beta1 is 0.5 but the optimizer sgd has none": func(s *Settings) { s.Beta1 = 0.5 },
		"beta2 is 0.5 but the optimizer rowwise_adagrad has none": func(s *Settings) {
			s.Optimizer, s.Beta2 = RowwiseAdagrad, 0.5
		},
		"eps is 0.1 but the optimizer sgd has none: its settings are": func(s *Settings) { s.Epsilon = 0.1 },
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			s := Defaults(0.1, 0)
			change(&s)
			if err := s.Check(Defaults(0.1, 0)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", s, err, want)
			}
		})
	}
	for name, change := range map[string]func(*Settings){
		"the part's default":   func(s *Settings) { s.Optimizer = Adam },
		"no momentum for Adam": func(s *Settings) { s.Optimizer, s.Momentum = Adam, 0 },
		"nesterov":             func(s *Settings) { s.Nesterov = true },
	} {
		t.Run(name, func(t *testing.T) {
			defaults := Defaults(0.1, 0.9)
			s := defaults
			change(&s)
			if err := s.Check(defaults); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// BenchmarkStep updates 1 Mi dense parameters, or 1024 rows of a table with 16 Ki rows and 64
// columns.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{SGD, "momentum", Adam, Adagrad, RowwiseAdagrad} {
		s := Defaults(0.1, 0)
		if s.Optimizer = name; name == "momentum" {
			s.Optimizer, s.Momentum = SGD, 0.9
		}
		value := tensor.New(16<<10, 64)
		rows := &tensor.Gradient{Width: 64, Values: make([]float32, 1024*64)}
		for i := range 1024 {
			rows.Rows = append(rows.Rows, int32(i*16))
		}
		for _, g := range []*tensor.Gradient{{Values: make([]float32, len(value.Data))}, rows} {
			b.Run(fmt.Sprintf("%s/sparse=%v", name, g.Sparse()), func(b *testing.B) {
				for i := range g.Values {
					g.Values[i] = float32(i%7 - 3)
				}
				o := newOptimizer(b, s, value, g)
				b.SetBytes(4 * int64(len(g.Values)))
				b.ReportAllocs()
				for b.Loop() {
					must(b, o.Step())
				}
			})
		}
	}
}
