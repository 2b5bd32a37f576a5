package points

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// modelPoints are the points of models. The host checks the emissions of a backward pass in every run: each
// parameter once, in its bound memory, with rows of its table.
var modelPoints = []harness.Point{
	{
		Name:    "initial",
		Promise: "Initialize writes every value, as a pure function of the seed",
		Passes:  2,
		OnRank: func(r *harness.Rank) error {
			for k := range r.Values {
				for i := range r.Values[k].Data {
					r.Values[k].Data[i] = float32(math.NaN())
				}
			}
			r.Model.Initialize(11)
			for k, v := range r.Values {
				name := "parameter " + r.Model.Parameters()[k].Name
				if err := harness.Finite(name, v.Data); err != nil {
					return err
				}
				if err := r.Again(name, &tensor.Gradient{Values: v.Data}); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name:    "memory",
		Promise: "values and gradients are read and written only where they were bound",
		Unseen:  "a model's process lays its parameters and gradients out itself",
		Guarded: true,
		OnRank: func(r *harness.Rank) error {
			r.Model.Initialize(1)
			for _, n := range []int{1, 7} {
				// Other points report its errors.
				_, _ = iterate(r, harness.Batch(r.Model.Inputs(), atLeast(r, n), 0))
			}
			return nil
		},
	},
	{
		Name:    "emits",
		Promise: "a backward pass emits the gradient of every parameter once, when it is complete",
		OnRank: func(r *harness.Rank) error {
			r.Model.Initialize(1)
			emitted := make([]string, len(r.Gradients))
			note := func(k int) { emitted[k] = harness.Digest(r.Gradients[k]) }
			if _, err := iterateEmitting(r, harness.Batch(r.Model.Inputs(), atLeast(r, 4), 0), note); err != nil {
				return err
			}
			for k, g := range r.Gradients {
				if after := harness.Digest(g); after != emitted[k] {
					return fmt.Errorf("the gradient of parameter %s is %s when it is emitted, and %s when Backward "+
						"returns",
						r.Model.Parameters()[k].Name, emitted[k], after)
				}
			}
			return nil
		},
	},
	{
		Name: "sizes",
		Promise: "batches of 1, of an odd and of a huge number of samples are computed, with empty bags and bags " +
			"that hold an index twice",
		Samples: 1031,
		OnRank: func(r *harness.Rank) error {
			r.Model.Initialize(1)
			for _, n := range []int{1, min(7, r.Samples), r.Samples, min(2, r.Samples)} {
				if _, err := iterate(r, harness.Batch(r.Model.Inputs(), atLeast(r, n), n)); err != nil {
					return fmt.Errorf("a batch of %d: %w%s", atLeast(r, n), err, smallestHint(r, n))
				}
			}
			return nil
		},
	},
	{
		Name:    "reads",
		Promise: "a batch, and the parameters, are only read",
		OnRank: func(r *harness.Rank) error {
			r.Model.Initialize(1)
			b := harness.Batch(r.Model.Inputs(), atLeast(r, 6), 0)
			before := sdk.Batch{
				Indices: slices.Clone(b.Indices), Offsets: slices.Clone(b.Offsets),
				Features: slices.Clone(b.Features), Targets: slices.Clone(b.Targets),
			}
			var values []string
			for _, v := range r.Values {
				values = append(values, harness.Digest(&tensor.Gradient{Values: v.Data}))
			}
			if _, err := iterate(r, b); err != nil {
				return err
			}
			if !sameSamples(b, &before) {
				return errors.New("the batch is not what it was")
			}
			for k, v := range r.Values {
				if now := harness.Digest(&tensor.Gradient{Values: v.Data}); now != values[k] {
					return fmt.Errorf("parameter %s is %s before an iteration of the model and %s after it",
						r.Model.Parameters()[k].Name, values[k], now)
				}
			}
			return nil
		},
	},
	{
		Name:    "overwrites",
		Promise: "Backward overwrites gradients, whatever they held, and the same batch has the same gradients again",
		OnRank: func(r *harness.Rank) error {
			r.Model.Initialize(1)
			b := harness.Batch(r.Model.Inputs(), atLeast(r, 5), 0)
			defer func(pass int) { r.Pass = pass }(r.Pass)
			for round := range 2 {
				restart(r)
				if _, err := iterate(r, b); err != nil {
					return err
				}
				for k, g := range r.Gradients {
					r.Pass = round
					if err := r.Again("the gradient of parameter "+r.Model.Parameters()[k].Name, g); err != nil {
						return fmt.Errorf("of the same batch twice, %w, where a pass is a backward pass%s",
							err, stochasticHint(r))
					}
				}
				for _, g := range r.Gradients {
					for i := range g.Values {
						g.Values[i] = 3
					}
				}
			}
			return nil
		},
	},
	{
		Name:    "reset",
		Promise: "after Initialize a pass is as the first one was",
		Passes:  2,
		OnRank: func(r *harness.Rank) error {
			r.Model.Initialize(11)
			for step := range 2 {
				loss, err := iterate(r, harness.Batch(r.Model.Inputs(), atLeast(r, 5), 0))
				if err != nil {
					return err
				}
				if err := r.Again(fmt.Sprintf("the output of batch %d",
					step), &tensor.Gradient{Values: []float32{float32(loss)}}); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name:    "gradient",
		Promise: "gradients are the derivatives of the output, along their own direction and along others",
		OnRank:  modelGradient,
	},
}

// atLeast returns n, or the model's smallest batch size if that is larger.
func atLeast(r *harness.Rank, n int) int { return max(n, r.Subject.Part.SmallestBatch) }

// restart makes a stochastic model draw the same random numbers again. The model's parameters stay unchanged.
func restart(r *harness.Rank) {
	if !r.Subject.Part.Stochastic {
		return
	}
	kept := make([][]float32, len(r.Values))
	for k, v := range r.Values {
		kept[k] = slices.Clone(v.Data)
	}
	r.Model.Initialize(1)
	for k, v := range r.Values {
		copy(v.Data, kept[k])
	}
}

// The hints name declarations that a model may need if it violates a point.
func stochasticHint(r *harness.Rank) string {
	if r.Subject.Part.Stochastic {
		return ""
	}
	return "; a model that draws random numbers, as dropout does, must declare that it is stochastic"
}

func smallestHint(r *harness.Rank, n int) string {
	if n > 1 || r.Subject.Part.SmallestBatch > 1 {
		return ""
	}
	return "; a model that needs several samples, as batch normalization does, must declare its smallest batch"
}

// iterate computes a batch. The loss is the weighted output; its gradient goes backward.
func iterate(r *harness.Rank, b *sdk.Batch) (float64, error) {
	return iterateEmitting(r, b, func(int) {})
}

// iterateEmitting does the work of iterate and calls emit for each emission.
func iterateEmitting(r *harness.Rank, b *sdk.Batch, emit func(parameter int)) (float64, error) {
	out, err := r.Model.Forward(b)
	if err != nil {
		return 0, err
	}
	if err := harness.Finite("the output", out.Data); err != nil {
		return 0, err
	}
	loss, up := 0.0, tensor.New(out.Shape...)
	for i, y := range out.Data {
		up.Data[i] = toys.Number(i + 3)
		loss += float64(up.Data[i]) * float64(y)
	}
	if err := r.Model.Backward(up, emit); err != nil {
		return loss, err
	}
	for k, g := range r.Gradients {
		if err := harness.Finite("the gradient of parameter "+r.Model.Parameters()[k].Name, g.Values); err != nil {
			return loss, err
		}
	}
	return loss, nil
}
