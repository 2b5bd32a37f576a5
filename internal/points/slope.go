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
	// directions is along how many directions by chance the gradient of a parameter is compared, singles
	// how many of its elements are by themselves, the first and the last among them.
	directions, singles = 3, 6
	// blocks is how many pieces all parameters are cut into at most, and smallestBlock what a piece has
	// at least. A piece is moved by itself, so that one wrong element of it stands out.
	blocks, smallestBlock = 1024, 64
	// nudge bounds what is added to initial values: many are 0, where a model may bend.
	nudge = 0.02
	// starts is from how many places a gradient is compared before it is taken to be wrong: near a bend
	// of the model it differs from the slope at one of them, a wrong gradient at all.
	starts = 3
)

// modelGradient compares the gradient of every parameter with how the output changes when the
// parameter moves.
func modelGradient(r *harness.Rank) (err error) {
	chance := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same each time
	for range starts {
		if err = compareGradients(r, chance); err == nil {
			return nil
		}
	}
	return err
}

// compareGradients moves each parameter along its gradient, which tells its length, along directions by
// chance, which tell elements that the gradient should have and has not, and in pieces. A step and
// a tenth of it tell a bend of the model from a gradient that is wrong.
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
			slope, err := slopeAlong(r, b, k, 0, own, norm, func(float64, line) float64 { return 0.05*norm + 1e-4 }, 1e-2)
			if err != nil {
				return err
			}
			if !slope.agrees {
				return fmt.Errorf("the gradient of parameter %s has length %g, but along it the output changes by %g", specs[k].Name, norm, slope.change)
			}
		}
		if err := compareByChance(r, b, k, g, chance); err != nil {
			return fmt.Errorf("parameter %s: %w", specs[k].Name, err)
		}
		if err := compareInPieces(r, b, k, g, chance, max(smallestBlock, (all+blocks-1)/blocks)); err != nil {
			return fmt.Errorf("parameter %s: %w", specs[k].Name, err)
		}
	}
	return nil
}

// compareByChance moves every element of a parameter up or down by as much.
func compareByChance(r *harness.Rank, b *sdk.Batch, k int, g []float32, chance *rand.Rand) error {
	norm, root := length(g), math.Sqrt(float64(len(g)))
	reach := max(length(r.Values[k].Data), 1) / root // of an element
	for range directions {
		direction, want := signs(g, chance)
		slope, err := slopeAlong(r, b, k, 0, direction, want, func(step float64, l line) float64 {
			return 0.05*max(norm, math.Abs(l.change)) + l.rounding(step)
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

// compareInPieces moves some elements of a parameter by themselves, and then pieces of so many.
func compareInPieces(r *harness.Rank, b *sdk.Batch, k int, g []float32, chance *rand.Rand, size int) error {
	if len(g) == 0 {
		return nil
	}
	for i := range singles {
		at := chance.IntN(len(g))
		switch i {
		case 0:
			at = 0
		case 1:
			at = len(g) - 1
		}
		if err := comparePiece(r, b, k, g, at, at+1, chance); err != nil {
			return err
		}
	}
	for from := 0; from < len(g); from += size {
		if err := comparePiece(r, b, k, g, from, min(from+size, len(g)), chance); err != nil {
			return err
		}
	}
	return nil
}

// comparePiece moves the elements of a piece up or down, all of them together by as much as a single one,
// along several directions where it must: near a bend of the model, as that of a ReLU, the gradient
// differs from the slope along some, a wrong one along all.
func comparePiece(r *harness.Rank, b *sdk.Batch, k int, g []float32, from, to int, chance *rand.Rand) error {
	const reach, attempts = 0.1, 4
	tolerance := 0.03 // an element of a piece is a larger share of its length
	if to == from+1 {
		tolerance = 0.25
	}
	var slope line
	var want float64
	norm := length(g[from:to])
	for range attempts {
		var direction []float32
		var err error
		direction, want = signs(g[from:to], chance)
		slope, err = slopeAlong(r, b, k, from, direction, want, func(step float64, l line) float64 {
			return tolerance*norm + l.rounding(step)
		}, reach/math.Sqrt(float64(to-from)))
		if err != nil || slope.agrees {
			return err
		}
	}
	if to == from+1 {
		return fmt.Errorf("where element %d of %d moves, the output changes by %g, but by its gradient it would by %g", from, len(g), slope.change, want)
	}
	return fmt.Errorf("along a direction of its elements %d to %d the output changes by %g, but by its gradient, there of length %g, it would by %g", from, to-1, slope.change, norm, want)
}

// signs are a direction by chance, 1 or -1 for each element, and the slope along it by the gradient g.
func signs(g []float32, chance *rand.Rand) (direction []float32, want float64) {
	direction = make([]float32, len(g))
	for i := range direction {
		direction[i] = float32(1 - 2*chance.IntN(2))
		want += float64(direction[i]) * float64(g[i])
	}
	return direction, want
}

// line is how the output changes along a direction.
type line struct {
	change    float64 // for a step of 1
	magnitude float64 // of what the output is summed of
	agrees    bool    // with what was expected
}

// rounding is what the outputs of both ends, of 24 bits, may add to the change.
func (l line) rounding(step float64) float64 { return 1e-6 * l.magnitude / step }

// slopeAlong moves elements of a parameter, from one on, along a direction, both ways, by a step and by a tenth
// of it, until the change is the expected one within a tolerance: at last also where it is that on one
// side, since the model may bend on the other. It gives the nearest.
func slopeAlong(r *harness.Rank, b *sdk.Batch, k, from int, direction []float32, want float64, tolerance func(step float64, l line) float64, step float64) (nearest line, err error) {
	values := r.Values[k].Data[from : from+len(direction)]
	start := slices.Clone(values)
	defer copy(values, start)
	output := func(by float64) (sum, magnitude float64, err error) {
		for i := range values {
			values[i] = start[i] + float32(by*float64(direction[i]))
		}
		restart(r)
		out, err := r.Model.Forward(b)
		for i, y := range out.Data {
			term := float64(toys.Number(i+3)) * float64(y)
			sum += term
			magnitude += math.Abs(term)
		}
		return sum, magnitude, err
	}
	nearest.change = math.Inf(1)
	try := func(step float64, l line) bool {
		if l.agrees = math.Abs(l.change-want) <= tolerance(step, l); l.agrees || math.Abs(l.change-want) < math.Abs(nearest.change-want) {
			nearest = l
		}
		return l.agrees
	}
	var below, above, magnitude float64
	for _, step = range []float64{step, step / 10} {
		if below, _, err = output(-step); err != nil {
			return nearest, err
		}
		if above, magnitude, err = output(step); err != nil || try(step, line{change: (above - below) / (2 * step), magnitude: 2 * magnitude}) {
			return nearest, err
		}
	}
	here, _, err := output(0)
	for _, change := range []float64{(above - here) / step, (here - below) / step} {
		if err != nil || try(step, line{change: change, magnitude: 2 * magnitude}) {
			return nearest, err
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
