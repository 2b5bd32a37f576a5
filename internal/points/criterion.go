package points

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/toys"
)

// criterionPoints are those of a criterion.
var criterionPoints = []Point{
	{
		Name:    "sizes",
		Promise: "batches of 1, of an odd and of a huge number of samples have a finite loss and a finite gradient",
		Samples: 4099,
		rank: func(r *Rank) error {
			for _, n := range []int{1, min(7, r.Samples), r.Samples} {
				if _, _, err := r.loss(n, 1); err != nil {
					return fmt.Errorf("a batch of %d: %w", n, err)
				}
			}
			return nil
		},
	},
	{
		Name:    "output",
		Promise: "Forward and Backward leave the output and the targets as they are",
		rank: func(r *Rank) error {
			if _, _, err := r.loss(5, 1); err != nil {
				return err
			}
			before, targets := outputs(5, 1, r.output.Shape[1])
			for i, v := range r.output.Data {
				if v != before.Data[i] {
					return fmt.Errorf("element %d of the output was %g and is %g", i, before.Data[i], v)
				}
			}
			if !slices.Equal(targets, r.targets) {
				return fmt.Errorf("the targets were %d and are %d", targets, r.targets)
			}
			return nil
		},
	},
	{
		Name:    "memory",
		Promise: "an output is read, and its gradient written, from its first element to its last",
		Unseen:  "the memory of a criterion's calls is its own process's",
		guarded: true,
		rank:    criterionMemory,
	},
	{
		Name:    "gradient",
		Promise: "Backward writes the gradient of the loss that Forward gave",
		rank:    criterionGradient,
	},
	floatTargets,
	{
		Name:    "mean",
		Promise: "the loss is the mean over the batch: a batch with every sample twice has the same",
		rank: func(r *Rank) error {
			once, g, err := r.loss(5, 1)
			if err != nil {
				return err
			}
			twice, h, err := r.loss(5, 2)
			if err != nil {
				return err
			}
			if math.Abs(once-twice) > 1e-5*max(1, math.Abs(once)) {
				return fmt.Errorf("the loss of 5 samples is %g, that of each of them twice %g", once, twice)
			}
			for i := range g.Data {
				if math.Abs(float64(g.Data[i]-2*h.Data[i])) > 1e-4*max(1e-3, math.Abs(float64(g.Data[i]))) {
					return fmt.Errorf("the gradient at element %d is %g, that of a batch with each sample twice %g and not half", i, g.Data[i], h.Data[i])
				}
			}
			return nil
		},
	},
	{
		Name:    "again",
		Promise: "the same batch has the same loss and gradient, whatever came between",
		rank: func(r *Rank) error {
			first, g, err := r.loss(7, 1)
			if err != nil {
				return err
			}
			want := slices.Clone(g.Data)
			if _, _, err := r.loss(3, 1); err != nil {
				return err
			}
			second, h, err := r.loss(7, 1)
			if err == nil && (first != second || !slices.Equal(want, h.Data)) {
				err = fmt.Errorf("the loss of a batch is %g and then %g, its gradient begins with %v and then %v", first, second, want[:1], h.Data[:1])
			}
			return err
		},
	},
}

// outputs are those of n samples that a criterion may be given, each so many times.
func outputs(n, times, columns int) (tensor.Tensor, []int64) {
	out, targets := tensor.New(n*times, columns), make([]int64, n*times)
	for i := range n {
		for k := range times {
			for j := range columns {
				x := toys.Number(i*columns + j)
				out.Data[(k*n+i)*columns+j] = x + float32(math.Copysign(0.13, float64(x))) // off 0 and 1, where there may be a kink
			}
			targets[k*n+i] = int64(i % max(2, columns))
		}
	}
	return out, targets
}

// loss computes the loss of a batch and its gradient. There are two classes, or one column where
// the criterion takes logits.
func (r *Rank) loss(n, times int) (float64, tensor.Tensor, error) {
	var errs []error
	for _, columns := range []int{2, 1} {
		out, targets := outputs(n, times, columns)
		r.output, r.targets = out, targets
		loss, err := r.Criterion.Forward(out, targets)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		g := tensor.New(out.Shape...)
		for i := range g.Data {
			g.Data[i] = float32(math.NaN()) // which it must overwrite
		}
		if err := r.Criterion.Backward(g); err != nil {
			return 0, g, err
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return loss, g, fmt.Errorf("the loss is %g", loss)
		}
		return loss, g, finite("the output's gradient", g.Data)
	}
	return 0, tensor.Tensor{}, errors.Join(errs...)
}

// criterionGradient compares a gradient with differences of the loss.
func criterionGradient(r *Rank) error {
	_, g, err := r.loss(3, 1)
	if err != nil {
		return err
	}
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
			return fmt.Errorf("the gradient of element %d of an output of %v is %g, differences of the loss give %g", i, g.Shape, g.Data[i], want)
		}
	}
	return nil
}

// criterionMemory computes losses of outputs that may not be written.
func criterionMemory(r *Rank) error {
	for _, columns := range []int{2, 1} {
		for _, n := range []int{1, 7} {
			out, targets := outputs(n, 1, columns)
			output, freeze, freeOutput, err := guardedFloats(len(out.Data))
			if err != nil {
				return err
			}
			defer freeOutput()
			copy(output, out.Data)
			if err := freeze(); err != nil {
				return err
			}
			gradient, _, freeGradient, err := guardedFloats(len(out.Data))
			if err != nil {
				return err
			}
			defer freeGradient()
			if _, err := r.Criterion.Forward(tensor.Tensor{Shape: out.Shape, Data: output}, targets); err != nil {
				break // it takes outputs of another width
			}
			if err := r.Criterion.Backward(tensor.Tensor{Shape: out.Shape, Data: gradient}); err != nil {
				return err
			}
		}
	}
	return nil
}
