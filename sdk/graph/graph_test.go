package graph

import (
	"math"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/gorgonia"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// perceptron computes y = tanh(V tanh(W x + b)) for 2 samples, with n inputs, n hidden values and n
// outputs.
type perceptron struct {
	*Graph
	x, w, b, v []float32
	gradients  [3][]float32 // gradients of w, b and v
}

func newPerceptron(t testing.TB, n int) *perceptron {
	t.Helper()
	p := &perceptron{Graph: New(), x: ramp(2 * n), w: ramp(n * n), b: ramp(n), v: ramp(n * n)}
	p.gradients = [3][]float32{make([]float32, n*n), make([]float32, n), make([]float32, n*n)}
	x := p.Input("x", p.x, n, 2)
	w := p.Parameter("w", p.w, p.gradients[0], n, n)
	b := p.Parameter("b", p.b, p.gradients[1], n, 1)
	v := p.Parameter("v", p.v, p.gradients[2], n, n)
	hidden := gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(w, x)), b, nil, []byte{1}))
	y := gorgonia.Must(gorgonia.Mul(v, gorgonia.Must(gorgonia.Tanh(hidden))))
	if err := p.Compile(gorgonia.Must(gorgonia.Tanh(y))); err != nil {
		t.Fatal(err)
	}
	return p
}

func ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%7)/7 - 0.4
	}
	return x
}

// loss is the sum of the outputs, each multiplied by its position, so that the output's gradient is
// 1, 2, ...
func (p *perceptron) loss(t testing.TB) float64 {
	t.Helper()
	output, err := p.Forward()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i, y := range output {
		sum += float64(i+1) * float64(y)
	}
	return sum
}

func upstream(n int) []float32 {
	u := make([]float32, n)
	for i := range u {
		u[i] = float32(i + 1)
	}
	return u
}

func TestGradientsMatchFiniteDifferences(t *testing.T) {
	p := newPerceptron(t, 3)
	for range 2 { // the second pass finds the state that the first one left
		p.loss(t)
		if err := p.Backward(upstream(6), func(int) {}); err != nil {
			t.Fatal(err)
		}
		for k, values := range [][]float32{p.w, p.b, p.v} {
			for i, at := range values {
				const step = 1e-2
				values[i] = at + step
				above := p.loss(t)
				values[i] = at - step
				below := p.loss(t)
				values[i] = at
				if want := (above - below) / (2 * step); math.Abs(float64(p.gradients[k][i])-want) > 5e-3 {
					t.Errorf("parameter %d, element %d: gradient is %g, the loss rises by %g", k, i, p.gradients[k][i],
						want)
				}
			}
		}
	}
}

func TestEmitsWhileTheTapeGoesOn(t *testing.T) {
	p := newPerceptron(t, 3)
	p.loss(t)
	nan := float32(math.NaN())
	for _, g := range p.gradients {
		g[0] = nan
	}
	var emitted []int
	err := p.Backward(upstream(6), func(k int) {
		emitted = append(emitted, k)
		if p.gradients[k][0] != p.gradients[k][0] {
			t.Errorf("gradient %d was emitted before it was written", k)
		}
		if first := p.gradients[0][0]; k == 2 && first == first {
			t.Error("gradient 2 was emitted only when gradient 0 was there")
		}
	})
	if err != nil || !slices.Equal(emitted, []int{2, 1, 0}) {
		t.Errorf("emitted %v with error %v, want 2, 1, 0", emitted, err)
	}
}

func TestOutputOutlivesBackward(t *testing.T) {
	p := newPerceptron(t, 3)
	output, err := p.Forward()
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(output)
	if err := p.Backward(upstream(6), func(int) {}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(output, before) {
		t.Errorf("the output is %v after backward but was %v", output, before)
	}
}

// counter counts matrix products.
type counter struct {
	gonum.Implementation
	products int
}

func (c *counter) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, dst []float32, ldc int) {
	c.products++
	c.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, dst, ldc)
}

// Forward needs two matrix products. Backward needs three, since the gradient of the input is not
// computed.
func TestComputesNothingTwice(t *testing.T) {
	c := &counter{}
	gorgonia.Use(c)
	defer gorgonia.Use(gonum.Implementation{})
	p := newPerceptron(t, 3)
	p.loss(t)
	if c.products != 2 {
		t.Errorf("forward took %d products, want 2", c.products)
	}
	if err := p.Backward(upstream(6), func(int) {}); err != nil {
		t.Fatal(err)
	}
	if c.products != 5 {
		t.Errorf("forward and backward took %d products, want 5", c.products)
	}
}

// Two parameters may have the same gradient, and a gradient may be a sum of two terms.
func TestGradientsThatShareTerms(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, m := rapid.IntRange(1, 4).Draw(rt, "n"), rapid.IntRange(1, 4).Draw(rt, "m")
		x, z, u := draw(rt, "x", n*m), draw(rt, "z", n*m), draw(rt, "u", n*m)
		g := New()
		gradients := [2][]float32{make([]float32, n*n), make([]float32, n*n)}
		a := g.Parameter("same", draw(rt, "a", n*n), gradients[0], n, n)
		b := g.Parameter("same", draw(rt, "b", n*n), gradients[1], n, n)
		in, other := g.Input("same", x, n, m), g.Input("same", z, n, m)
		y := gorgonia.Must(gorgonia.Add(gorgonia.Must(gorgonia.Mul(a, in)), gorgonia.Must(gorgonia.Mul(b, in))))
		y = gorgonia.Must(gorgonia.Add(y, gorgonia.Must(gorgonia.Mul(b, other))))
		if err := g.Compile(y); err != nil {
			rt.Fatal(err)
		}
		if _, err := g.Forward(); err != nil {
			rt.Fatal(err)
		}
		if err := g.Backward(u, func(int) {}); err != nil {
			rt.Fatal(err)
		}
		for i := range n {
			for j := range n {
				var ofA, ofB float64
				for s := range m {
					ofA += float64(u[i*m+s]) * float64(x[j*m+s])
					ofB += float64(u[i*m+s]) * float64(x[j*m+s]+z[j*m+s])
				}
				for k, want := range []float64{ofA, ofB} {
					if got := float64(gradients[k][i*n+j]); math.Abs(got-want) > 1e-5 {
						rt.Fatalf("parameter %d, element %d,%d: gradient is %g, want %g", k, i, j, got, want)
					}
				}
			}
		}
	})
}

func draw(t *rapid.T, name string, n int) []float32 {
	return rapid.SliceOfN(rapid.Float32Range(-1, 1), n, n).Draw(t, name)
}

func TestErrors(t *testing.T) {
	four, three := make([]float32, 4), make([]float32, 3)
	square := func(g *Graph) *gorgonia.Node {
		return g.Parameter("w", four, make([]float32, 4), 2, 2)
	}
	for message, build := range map[string]func(g *Graph) error{
		"x has 3 elements and shape [2 2]": func(g *Graph) error {
			x := g.Input("x", three, 2, 2)
			return g.Compile(gorgonia.Must(gorgonia.Mul(square(g), x)))
		},
		"x has 0 elements and shape [0 2]": func(g *Graph) error {
			g.Input("x", nil, 0, 2)
			return g.Compile(square(g))
		},
		"x has 1 elements and shape []": func(g *Graph) error {
			g.Input("x", four[:1])
			return g.Compile(square(g))
		},
		"w has 4 elements but its gradient has 3": func(g *Graph) error {
			return g.Compile(g.Parameter("w", four, three, 2, 2))
		},
		"the graph has no parameters": func(g *Graph) error {
			return g.Compile(g.Input("x", four, 2, 2))
		},
		"the output must be a node of the graph": func(g *Graph) error {
			square(g)
			return g.Compile(square(New()))
		},
		"gorgonia cannot differentiate": func(g *Graph) error {
			square(g)
			return g.Compile(g.Parameter("v", four, make([]float32, 4), 2, 2))
		},
		"the graph is compiled already": func(g *Graph) error {
			w := square(g)
			if err := g.Compile(w); err != nil {
				return err
			}
			return g.Compile(w)
		},
		"the graph must be compiled": func(g *Graph) error {
			_, err := g.Forward()
			return err
		},
		"goes backward once after": func(g *Graph) error {
			if err := g.Compile(square(g)); err != nil {
				return err
			}
			return g.Backward(four, func(int) {})
		},
		"gradient has 3 elements but the output has 4": func(g *Graph) error {
			if err := g.Compile(square(g)); err != nil {
				return err
			}
			if _, err := g.Forward(); err != nil {
				return err
			}
			return g.Backward(three, func(int) {})
		},
	} {
		t.Run(message, func(t *testing.T) {
			if err := build(New()); err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("got %v, want an error with %q", err, message)
			}
		})
	}
}
