package models

import (
	"math"

	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// perceptron is an mlp with the storage of its parameters.
type perceptron struct {
	*mlp
	*storage
}

func newPerceptron(t fatal, s MLPSettings, env sdk.ModelEnv) *perceptron {
	if s.BLAS == "" {
		s.BLAS = blas.Gonum
	}
	if s.Output == "" {
		s.Output = Linear
	}
	env.Engine = engine.Host
	model, err := NewMLP(s, env)
	if err != nil {
		t.Fatal(err)
	}
	p := &perceptron{model.(*mlp), bind(t, model)}
	p.Initialize(1)
	return p
}

// numbered returns a batch of samples with numbers from stream number.
func numbered(rows, features, number int) *sdk.Batch {
	b := &sdk.Batch{Features: make([]float32, rows*features), Targets: make([]int64, rows)}
	splitmix.Uniform(3, uint64(number), b.Features, 1)
	return b
}

// plain does forward and backward of an mlp in float64, without a matrix product. plain returns the output and the
// gradients of the parameters and the input. kink reports that some ReLU's input is so close to 0 that rounding
// determines its gradient.
func (p *perceptron) plain(b *sdk.Batch,
	upstream []float32) (output []float64, gradients [][]float64, input []float64, kink bool) {
	rows, last := b.Size(), len(p.stack.layers)
	x := make([][]float64, last+1)
	for _, v := range b.Features {
		x[0] = append(x[0], float64(v))
	}
	for l, layer := range p.stack.layers {
		for i := range rows {
			for o := range layer.Out {
				y := float64(layer.Bias[o])
				for j := range layer.In {
					y += float64(layer.Weight[o*layer.In+j]) * x[l][i*layer.In+j]
				}
				if p.stack.relu[l] {
					kink = kink || math.Abs(y) < 1e-5
					y = max(y, 0)
				}
				x[l+1] = append(x[l+1], y)
			}
		}
	}
	gradients = make([][]float64, 2*last)
	for _, v := range upstream {
		input = append(input, float64(v))
	}
	for l := last - 1; l >= 0; l-- {
		layer, dy := p.stack.layers[l], input
		weight, bias := make([]float64, layer.Out*layer.In), make([]float64, layer.Out)
		input = make([]float64, rows*layer.In)
		for i := range rows {
			for o := range layer.Out {
				g := dy[i*layer.Out+o]
				if p.stack.relu[l] && x[l+1][i*layer.Out+o] == 0 {
					continue
				}
				bias[o] += g
				for j := range layer.In {
					weight[o*layer.In+j] += g * x[l][i*layer.In+j]
					input[i*layer.In+j] += g * float64(layer.Weight[o*layer.In+j])
				}
			}
		}
		gradients[2*l], gradients[2*l+1] = weight, bias
	}
	return x[last], gradients, input, kink
}
