package points

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
)

// criterionPoints are the points of a criterion.
var criterionPoints = []harness.Point{
	{
		Name:    "sizes",
		Promise: "batches of 1, of an odd and of a huge number of samples have a finite loss and a finite gradient",
		Samples: 4099,
		OnRank: func(r *harness.Rank) error {
			for _, n := range []int{1, min(7, r.Samples), r.Samples} {
				if _, err := compute(r, n, 1); err != nil {
					return fmt.Errorf("a batch of %d: %w", n, err)
				}
			}
			return nil
		},
	},
	{
		Name:    "output",
		Promise: "Forward and Backward leave the output and the targets as they are",
		OnRank: func(r *harness.Rank) error {
			after, err := compute(r, 5, 1)
			if err != nil {
				return err
			}
			before, targets := outputs(5, 1, after.output.Shape[1])
			for i, v := range after.output.Data {
				if v != before.Data[i] {
					return fmt.Errorf("element %d of the output was %g and is %g", i, before.Data[i], v)
				}
			}
			if !slices.Equal(targets, after.targets) {
				return fmt.Errorf("the targets were %d and are %d", targets, after.targets)
			}
			return nil
		},
	},
	{
		Name:    "memory",
		Promise: "an output is read, and its gradient written, from its first element to its last",
		Unseen:  "the memory of a criterion's calls is its own process's",
		Guarded: true,
		OnRank:  criterionMemory,
	},
	{
		Name:    "gradient",
		Promise: "Backward writes the gradient of the loss that Forward gave",
		OnRank:  criterionGradient,
	},
	floatTargets,
	{
		Name:    "mean",
		Promise: "the loss is the mean over the batch: a batch with every sample twice has the same loss",
		OnRank: func(r *harness.Rank) error {
			once, err := compute(r, 5, 1)
			if err != nil {
				return err
			}
			twice, err := compute(r, 5, 2)
			if err != nil {
				return err
			}
			if math.Abs(once.loss-twice.loss) > 1e-5*max(1, math.Abs(once.loss)) {
				return fmt.Errorf("the loss is %g for 5 samples and %g for a batch with each of them twice; the two must "+
					"be equal", once.loss, twice.loss)
			}
			g, h := once.gradient, twice.gradient
			for i := range g.Data {
				if math.Abs(float64(g.Data[i]-2*h.Data[i])) > 1e-4*max(1e-3, math.Abs(float64(g.Data[i]))) {
					return fmt.Errorf("the gradient at element %d is %g for 5 samples, and %g for a batch with each of "+
						"them twice but must be half there",
						i, g.Data[i], h.Data[i])
				}
			}
			return nil
		},
	},
	{
		Name:    "again",
		Promise: "the same batch has the same loss and gradient, whatever came between",
		OnRank: func(r *harness.Rank) error {
			first, err := compute(r, 7, 1)
			if err != nil {
				return err
			}
			g := slices.Clone(first.gradient.Data)
			if _, err := compute(r, 3, 1); err != nil {
				return err
			}
			second, err := compute(r, 7, 1)
			if err != nil {
				return err
			}
			h := second.gradient.Data
			if first.loss != second.loss || !slices.Equal(g, h) {
				return fmt.Errorf("the loss of a batch is %g and then %g, its gradient begins with %v and then %v",
					first.loss, second.loss, g[:1], h[:1])
			}
			return nil
		},
	},
}

// outputs returns valid outputs of n samples with their targets. Each sample occurs so many times.
func outputs(n, times, columns int) (tensor.Tensor, []int64) {
	out, targets := tensor.New(n*times, columns), make([]int64, n*times)
	for i := range n {
		for k := range times {
			for j := range columns {
				x := toys.Number(i*columns + j)
				off := float32(math.Copysign(0.13, float64(x))) // a criterion may have a kink at 0 and 1
				out.Data[(k*n+i)*columns+j] = x + off
			}
			targets[k*n+i] = int64(i % max(2, columns))
		}
	}
	return out, targets
}

// computed holds a loss, its gradient and their inputs.
type computed struct {
	output, gradient tensor.Tensor
	targets          []int64
	loss             float64
}

// compute lets the criterion compute the loss and the gradient of a batch with n samples, each repeated so many
// times. There are two classes, or one column if the criterion takes logits.
func compute(r *harness.Rank, n, times int) (*computed, error) {
	var errs []error
	for _, columns := range []int{2, 1} {
		c := &computed{}
		c.output, c.targets = outputs(n, times, columns)
		var err error
		if c.loss, err = r.Criterion.Forward(c.output, c.targets); err == nil {
			return c, c.backward(r)
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// backward lets the criterion compute the gradient.
func (c *computed) backward(r *harness.Rank) error {
	c.gradient = tensor.New(c.output.Shape...)
	for i := range c.gradient.Data {
		c.gradient.Data[i] = float32(math.NaN()) // Backward must overwrite it
	}
	if err := r.Criterion.Backward(c.gradient); err != nil {
		return err
	}
	if !numeral.Finite(c.loss) {
		return fmt.Errorf("the loss is %g", c.loss)
	}
	return harness.Finite("the output's gradient", c.gradient.Data)
}

// criterionGradient compares a gradient with finite differences of the loss.
func criterionGradient(r *harness.Rank) error {
	c, err := compute(r, 3, 1)
	if err != nil {
		return err
	}
	g := c.gradient
	const step = 1.0 / 64
	for i := range g.Data {
		var moved [2]float64
		for k, by := range []float32{-step, step} {
			out, targets := outputs(3, 1, g.Shape[1])
			out.Data[i] += by
			if moved[k], err = r.Criterion.Forward(out, targets); err != nil {
				return err
			}
		}
		want := (moved[1] - moved[0]) / (2 * step)
		if math.Abs(float64(g.Data[i])-want) > 2e-3*max(1, math.Abs(want)) {
			return fmt.Errorf("the gradient of element %d of an output of %v is %g, differences of the loss give %g",
				i, g.Shape, g.Data[i], want)
		}
	}
	return nil
}

// criterionMemory computes losses of outputs in read-only memory.
func criterionMemory(r *harness.Rank) error {
	for _, columns := range []int{2, 1} {
		for _, n := range []int{1, 7} {
			out, targets := outputs(n, 1, columns)
			output, freeze, freeOutput, err := harness.GuardedFloats(len(out.Data))
			if err != nil {
				return err
			}
			defer freeOutput()
			copy(output, out.Data)
			if err := freeze(); err != nil {
				return err
			}
			gradient, _, freeGradient, err := harness.GuardedFloats(len(out.Data))
			if err != nil {
				return err
			}
			defer freeGradient()
			if _, err := r.Criterion.Forward(tensor.Tensor{Shape: out.Shape, Data: output}, targets); err != nil {
				break // the criterion needs outputs of another width
			}
			if err := r.Criterion.Backward(tensor.Tensor{Shape: out.Shape, Data: gradient}); err != nil {
				return err
			}
		}
	}
	return nil
}
