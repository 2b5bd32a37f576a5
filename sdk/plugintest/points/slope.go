package points

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest/toys"
)

const (
	// directions is along how many directions by chance the gradient of a parameter is compared.
	directions = 3
	// nudge bounds what is added to initial values: many are 0, where a model may bend.
	nudge = 0.02
)

// modelGradient compares the gradient of every parameter with how the output changes when the
// parameter moves: along the gradient itself, which tells its length, and along directions of all
// elements by chance, which tell elements that the gradient should have and has not. A step and a
// tenth of it tell a bend of the model from a gradient that is wrong.
func modelGradient(r *Rank) error {
	r.Model.Initialize(1)
	chance := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same each time
	for _, v := range r.Values {
		for i := range v.Data {
			v.Data[i] += nudge * (2*chance.Float32() - 1)
		}
	}
	b := Batch(r.Model.Inputs(), 8, 0)
	if _, err := r.step(b); err != nil {
		return err
	}
	specs := r.Model.Parameters()
	gradients := make([][]float32, len(specs))
	for k := range specs {
		gradients[k] = dense(specs[k], r.Gradients[k])
	}
	for k, g := range gradients {
		norm := length(g)
		if norm >= 1e-6 {
			own := slices.Clone(g)
			for i := range own {
				own[i] /= float32(norm)
			}
			slope, err := r.slope(b, k, own, norm, func(float64, line) float64 { return 0.05*norm + 1e-4 }, 1e-2)
			if err != nil {
				return err
			}
			if !slope.agrees {
				return fmt.Errorf("the gradient of parameter %s has length %g, but along it the output changes by %g", specs[k].Name, norm, slope.change)
			}
		}
		if err := r.compareByChance(b, k, g, chance); err != nil {
			return fmt.Errorf("parameter %s: %w", specs[k].Name, err)
		}
	}
	return nil
}

// compareByChance moves every element of a parameter up or down by as much.
func (r *Rank) compareByChance(b *sdk.Batch, k int, g []float32, chance *rand.Rand) error {
	norm, root := length(g), math.Sqrt(float64(len(g)))
	reach := max(length(r.Values[k].Data), 1) / root // of an element
	direction := make([]float32, len(g))
	for range directions {
		want := 0.0
		for i := range direction {
			direction[i] = float32(1 - 2*chance.IntN(2))
			want += float64(direction[i]) * float64(g[i])
		}
		slope, err := r.slope(b, k, direction, want, func(step float64, l line) float64 {
			rounding := 1e-6 * l.magnitude / step // of the outputs, which are of 24 bits
			return 0.05*max(norm, math.Abs(l.change)) + rounding
		}, 1e-2*reach)
		if err != nil {
			return err
		}
		if !slope.agrees {
			return fmt.Errorf("along a direction of all its %d elements the output changes by %g, but by its gradient, of length %g, it would by %g", len(g), slope.change, norm, want)
		}
	}
	return nil
}

// line is how the output changes along a direction.
type line struct {
	change    float64 // for a step of 1
	magnitude float64 // of what the output is summed of
	agrees    bool    // with what was expected
}

// slope moves a parameter along a direction, both ways, by a step and by a tenth of it, until the
// change is the expected one within a tolerance. It gives the nearest.
func (r *Rank) slope(b *sdk.Batch, k int, direction []float32, want float64, tolerance func(step float64, l line) float64, step float64) (nearest line, err error) {
	values, start := r.Values[k].Data, slices.Clone(r.Values[k].Data)
	defer copy(values, start)
	for i, step := range []float64{step, step / 10} {
		l := line{}
		for _, by := range []float64{-step, step} {
			for i := range values {
				values[i] = start[i] + float32(by*float64(direction[i]))
			}
			out, err := r.Model.Forward(b)
			if err != nil {
				return l, err
			}
			for i, y := range out.Data {
				term := float64(toys.Number(i+3)) * float64(y)
				l.change += term / (2 * by)
				l.magnitude += math.Abs(term)
			}
		}
		if math.Abs(l.change-want) <= tolerance(step, l) {
			l.agrees = true
			return l, nil
		}
		if i == 0 || math.Abs(l.change-want) < math.Abs(nearest.change-want) {
			nearest = l
		}
	}
	return nearest, nil
}

func length(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// dense is a gradient as a value for each element of its parameter.
func dense(spec sdk.ParameterSpec, g *tensor.Gradient) []float32 {
	if !spec.Sparse {
		return slices.Clone(g.Values)
	}
	out := make([]float32, tensor.Elements(spec.Shape))
	for i, row := range g.Rows {
		copy(out[int(row)*g.Width:], g.Values[i*g.Width:(i+1)*g.Width])
	}
	return out
}
