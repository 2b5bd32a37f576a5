package points

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

const (
	// directions is the number of random directions for comparing a parameter's gradient. singles is the number of
	// elements that are moved alone, including the first and the last.
	directions, singles = 3, 6
	// blocks is the maximum number of pieces of all parameters, and smallestBlock the minimum number
	// of elements of a piece. The check moves one piece at a time, so that one wrong element stands
	// out.
	blocks, smallestBlock = 1024, 64
	// nudge limits the numbers that are added to initial values. Many initial values are 0, where a model may have a
	// kink.
	nudge = 0.02
	// starts is the number of starting points before a gradient counts as wrong. Near a kink of the model, a correct
	// gradient differs from the slope at some of them; a wrong gradient differs at all.
	starts = 3
)

// modelGradient compares each parameter's gradient with the change of the output when the parameter moves.
func modelGradient(r *harness.Rank) (err error) {
	chance := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same each time
	for range starts {
		if err = compareGradients(r, chance); err == nil {
			return nil
		}
	}
	return err
}

// compareGradients moves each parameter in three ways. A move along its gradient checks the gradient's length.
// Random directions find elements that the gradient lacks. Moves in pieces find single wrong elements. Two step
// sizes, one a tenth of the other, distinguish a kink of the model from a wrong gradient.
func compareGradients(r *harness.Rank, chance *rand.Rand) error {
	r.Model.Initialize(1)
	all := 0
	for _, v := range r.Values {
		for i := range v.Data {
			v.Data[i] += nudge * (2*chance.Float32() - 1)
		}
		all += len(v.Data)
	}
	b := harness.Batch(r.Model.Inputs(), atLeast(r, 8), 0)
	restart(r)
	if _, err := iterate(r, b); err != nil {
		return err
	}
	specs := r.Model.Parameters()
	var probes []*probe
	for k, spec := range specs {
		probes = append(probes, &probe{r, b, chance, r.Values[k].Data, dense(spec, r.Gradients[k])})
	}
	for k, p := range probes {
		name := specs[k].Name
		if err := p.alongGradient(name); err != nil {
			return err
		}
		if err := p.byChance(); err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
		if err := p.inPieces(max(smallestBlock, (all+blocks-1)/blocks)); err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	return nil
}

// probe moves one parameter of a model.
type probe struct {
	rank             *harness.Rank
	batch            *sdk.Batch
	chance           *rand.Rand
	values, gradient []float32
}

// alongGradient moves the parameter along its gradient, unless the gradient is almost zero.
func (p *probe) alongGradient(name string) error {
	norm := length(p.gradient)
	if !(norm >= 1e-6) {
		return nil
	}
	direction := slices.Clone(p.gradient)
	for i := range direction {
		direction[i] /= float32(norm)
	}
	tolerance := func(float64, line) float64 { return 0.05*norm + 1e-4 }
	slope, err := p.slope(0, direction, norm, tolerance, 1e-2)
	if err != nil || slope.agrees {
		return err
	}
	return fmt.Errorf("the gradient of parameter %s has length %g, but along it the output changes by %g",
		name, norm, slope.change)
}

// byChance moves every element of the parameter up or down by the same amount.
func (p *probe) byChance() error {
	norm, root := length(p.gradient), math.Sqrt(float64(len(p.gradient)))
	reach := max(length(p.values), 1) / root // per element
	for range directions {
		direction, want := signs(p.gradient, p.chance)
		tolerance := func(step float64, l line) float64 {
			return 0.05*max(norm, math.Abs(l.change)) + l.rounding(step)
		}
		slope, err := p.slope(0, direction, want, tolerance, 1e-2*reach)
		if err != nil {
			return err
		}
		if !slope.agrees {
			return fmt.Errorf("along a direction of all its %d elements the output changes by %g, but by its "+
				"gradient, of length %g, it would by %g", len(p.gradient), slope.change, norm, want)
		}
	}
	return nil
}

// inPieces moves some elements alone, and then pieces of size elements.
func (p *probe) inPieces(size int) error {
	n := len(p.gradient)
	if n == 0 {
		return nil
	}
	for i := range singles {
		at := p.chance.IntN(n)
		switch i {
		case 0:
			at = 0
		case 1:
			at = n - 1
		}
		if err := p.piece(at, at+1); err != nil {
			return err
		}
	}
	for from := 0; from < n; from += size {
		if err := p.piece(from, min(from+size, n)); err != nil {
			return err
		}
	}
	return nil
}

// piece checks one piece. piece moves all elements of the piece up or down, in total as far as it would move a
// single element. If gradient and slope differ, it tries other directions. Near a kink such as a ReLU's, a correct
// gradient differs along some directions, a wrong one along all.
func (p *probe) piece(from, to int) error {
	const reach, attempts = 0.1, 4
	share := 0.03 // one element of a piece is a larger share than this of its length
	if to == from+1 {
		share = 0.25
	}
	var slope line
	var want float64
	norm := length(p.gradient[from:to])
	tolerance := func(step float64, l line) float64 { return share*norm + l.rounding(step) }
	for range attempts {
		var direction []float32
		var err error
		direction, want = signs(p.gradient[from:to], p.chance)
		slope, err = p.slope(from, direction, want, tolerance, reach/math.Sqrt(float64(to-from)))
		if err != nil || slope.agrees {
			return err
		}
	}
	if to == from+1 {
		return fmt.Errorf("where element %d of %d moves, the output changes by %g, but by its gradient it would by %g",
			from, len(p.gradient), slope.change, want)
	}
	return fmt.Errorf("along a direction of its elements %d to %d the output changes by %g, but by its gradient, "+
		"there of length %g, it would by %g", from, to-1, slope.change, norm, want)
}

// signs returns a random direction, 1 or -1 for each element, and the slope along it according to the gradient g.
func signs(g []float32, chance *rand.Rand) (direction []float32, want float64) {
	direction = make([]float32, len(g))
	for i := range direction {
		direction[i] = float32(1 - 2*chance.IntN(2))
		want += float64(direction[i]) * float64(g[i])
	}
	return direction, want
}

// line describes the change of the output along a direction.
type line struct {
	change    float64 // per step of 1
	magnitude float64 // sum of the output's terms in magnitude
	agrees    bool    // the change matches the expected one
}

// rounding returns how much rounding to 24 bits at both ends may add to the change.
func (l line) rounding(step float64) float64 { return 1e-6 * l.magnitude / step }

// tolerance returns the allowed difference from the expected change, for a step.
type tolerance func(step float64, l line) float64

// slope moves elements of the parameter along a direction, both ways, starting at element from. slope tries a step
// and a tenth of it, until the change matches the expected one within a tolerance. Finally, it accepts a match on
// only one side, because the model may have a kink on the other. slope returns the nearest result.
func (p *probe) slope(from int, direction []float32, want float64, within tolerance, step float64) (line, error) {
	values := p.values[from : from+len(direction)]
	start := slices.Clone(values)
	defer copy(values, start)
	output := func(by float64) (sum, magnitude float64, err error) {
		for i := range values {
			values[i] = start[i] + float32(by*float64(direction[i]))
		}
		return p.output()
	}
	nearest := line{change: math.Inf(1)}
	try := func(step float64, l line) bool {
		off := math.Abs(l.change - want)
		l.agrees = off <= within(step, l)
		if l.agrees || off < math.Abs(nearest.change-want) {
			nearest = l
		}
		return l.agrees
	}
	var below, above, magnitude float64
	var err error
	for _, step = range []float64{step, step / 10} {
		if below, _, err = output(-step); err != nil {
			return nearest, err
		}
		if above, magnitude, err = output(step); err != nil {
			return nearest, err
		}
		if try(step, line{change: (above - below) / (2 * step), magnitude: 2 * magnitude}) {
			return nearest, nil
		}
	}
	here, _, err := output(0)
	if err != nil {
		return nearest, err
	}
	for _, change := range []float64{(above - here) / step, (here - below) / step} {
		if try(step, line{change: change, magnitude: 2 * magnitude}) {
			break
		}
	}
	return nearest, nil
}

// output computes the batch and returns the sum of the weighted outputs and the sum of their magnitudes.
func (p *probe) output() (sum, magnitude float64, err error) {
	restart(p.rank)
	out, err := p.rank.Model.Forward(p.batch)
	for i, y := range out.Data {
		term := float64(toys.Number(i+3)) * float64(y)
		sum += term
		magnitude += math.Abs(term)
	}
	return sum, magnitude, err
}

func length(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// dense returns a gradient with a value for each element of its parameter.
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
