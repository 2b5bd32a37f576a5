package points

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// floatTargets is the point for criteria whose targets are numbers.
var floatTargets = harness.Point{
	Name:    "float targets",
	Promise: "targets that are numbers have a loss and its gradient, and a class has the loss and gradient of its number",
	Floats:  true,
	OnRank: func(r *harness.Rank) error {
		c, ok := r.Criterion.(sdk.FloatCriterion)
		if !ok {
			return fmt.Errorf("it is declared to take %s, but has no ForwardFloats", r.Subject.Part.Targets.Takes())
		}
		const rows, columns = 5, 3
		output, _ := outputs(rows, 1, columns)
		if err := floatGradient(c, output, numbersFor(r.Subject.Part.Targets, rows, columns)); err != nil {
			return err
		}
		return sameAsClasses(c, r.Subject.Part.Targets)
	},
}

// numbersFor returns targets of a kind.
func numbersFor(kind sdk.TargetKind, rows, columns int) []float32 {
	out := make([]float32, rows*columns)
	for i := range out {
		v := 2.7 * toys.Number(i)
		if kind != sdk.NumberTargets {
			v = float32(1 / (1 + math.Exp(-float64(v))))
		}
		out[i] = v
	}
	if kind == sdk.ProbabilityTargets {
		for from := 0; from < len(out); from += columns {
			sum := float32(0)
			for _, v := range out[from : from+columns] {
				sum += v
			}
			for i := range columns {
				out[from+i] /= sum
			}
		}
	}
	return out
}

// floatGradient compares the gradient of a loss with finite differences.
func floatGradient(c sdk.FloatCriterion, output tensor.Tensor, targets []float32) error {
	loss, err := c.ForwardFloats(output, targets)
	if err != nil {
		return err
	}
	if !numeral.Finite(loss) {
		return fmt.Errorf("the loss of targets that are numbers is %g", loss)
	}
	g := tensor.New(output.Shape...)
	for i := range g.Data {
		g.Data[i] = float32(math.NaN()) // Backward must overwrite it
	}
	if err := c.Backward(g); err != nil {
		return err
	}
	const step = 1.0 / 64
	for i := range g.Data {
		was := output.Data[i]
		var moved [2]float64
		for k, by := range []float32{-step, step} {
			output.Data[i] = was + by
			if moved[k], err = c.ForwardFloats(output, targets); err != nil {
				return err
			}
		}
		output.Data[i] = was
		want := (moved[1] - moved[0]) / (2 * step)
		if !(math.Abs(float64(g.Data[i])-want) <= 2e-3*max(1, math.Abs(want))) {
			return fmt.Errorf("the gradient of element %d of an output of %v with numbers as targets is %g, "+
				"differences of the loss give %g",
				i, g.Shape, g.Data[i], want)
		}
	}
	return nil
}

// sameAsClasses compares targets as classes with the equivalent numbers. For probabilities, the equivalent rows
// have a 1 at the class.
func sameAsClasses(c sdk.FloatCriterion, kind sdk.TargetKind) error {
	columns := 1
	if kind == sdk.ProbabilityTargets {
		columns = 3
	}
	output, classes := outputs(4, 1, columns)
	floats := make([]float32, len(output.Data))
	for i, class := range classes {
		if columns == 1 {
			floats[i] = float32(class)
		} else {
			floats[i*columns+int(class)] = 1
		}
	}
	want, err := c.Forward(output, classes)
	if err != nil {
		return err
	}
	got, err := c.ForwardFloats(output, floats)
	if err == nil && !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
		err = fmt.Errorf("the loss of classes %d is %g, but the loss of the same targets as numbers is %g", classes,
			want, got)
	}
	return err
}
