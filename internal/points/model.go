package points

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// modelPoints are those of models. What a single backward pass emits the host checks, in every
// run: each parameter once, in the memory that it was bound to, with rows of its table.
var modelPoints = []Point{
	{
		Name:    "initial",
		Promise: "Initialize writes every value, as a pure function of the seed",
		Passes:  2,
		rank: func(r *Rank) error {
			for k := range r.Values {
				for i := range r.Values[k].Data {
					r.Values[k].Data[i] = float32(math.NaN())
				}
			}
			r.Model.Initialize(11)
			for k, v := range r.Values {
				name := "parameter " + r.Model.Parameters()[k].Name
				if err := finite(name, v.Data); err != nil {
					return err
				}
				if err := r.again(name, &tensor.Gradient{Values: v.Data}); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name:    "memory",
		Promise: "values and gradients are read and written where they were bound, and not beside that",
		Unseen:  "a model's process lays its parameters and gradients out itself",
		guarded: true,
		rank: func(r *Rank) error {
			r.Model.Initialize(1)
			for _, n := range []int{1, 7} {
				_, _ = r.step(Batch(r.Model.Inputs(), r.atLeast(n), 0)) // its errors are the business of other points
			}
			return nil
		},
	},
	{
		Name:    "emits",
		Promise: "a backward pass emits the gradient of every parameter once, when it is complete",
		rank: func(r *Rank) error {
			r.Model.Initialize(1)
			emitted := make([]string, len(r.Gradients))
			if _, err := r.stepEmitting(Batch(r.Model.Inputs(), r.atLeast(4), 0), func(k int) { emitted[k] = digest(r.Gradients[k]) }); err != nil {
				return err
			}
			for k, g := range r.Gradients {
				if after := digest(g); after != emitted[k] {
					return fmt.Errorf("the gradient of parameter %s is %s when it is emitted, and %s when Backward returns", r.Model.Parameters()[k].Name, emitted[k], after)
				}
			}
			return nil
		},
	},
	{
		Name:    "sizes",
		Promise: "batches of 1, of an odd and of a huge number of samples are computed, with empty bags and bags that hold an index twice",
		Samples: 1031,
		rank: func(r *Rank) error {
			r.Model.Initialize(1)
			for _, n := range []int{1, min(7, r.Samples), r.Samples, min(2, r.Samples)} {
				if _, err := r.step(Batch(r.Model.Inputs(), r.atLeast(n), n)); err != nil {
					return fmt.Errorf("a batch of %d: %w%s", r.atLeast(n), err, r.smallestHint(n))
				}
			}
			return nil
		},
	},
	{
		Name:    "reads",
		Promise: "a batch, and the parameters, are only read",
		rank: func(r *Rank) error {
			r.Model.Initialize(1)
			b := Batch(r.Model.Inputs(), r.atLeast(6), 0)
			before := sdk.Batch{Indices: slices.Clone(b.Indices), Offsets: slices.Clone(b.Offsets), Features: slices.Clone(b.Features), Targets: slices.Clone(b.Targets)}
			var values []string
			for _, v := range r.Values {
				values = append(values, digest(&tensor.Gradient{Values: v.Data}))
			}
			if _, err := r.step(b); err != nil {
				return err
			}
			if !sameSamples(b, &before) {
				return errors.New("the batch is not what it was")
			}
			for k, v := range r.Values {
				if now := digest(&tensor.Gradient{Values: v.Data}); now != values[k] {
					return fmt.Errorf("parameter %s is %s before an iteration of the model and %s after it", r.Model.Parameters()[k].Name, values[k], now)
				}
			}
			return nil
		},
	},
	{
		Name:    "overwrites",
		Promise: "Backward overwrites gradients, whatever they held, and the same batch has the same gradients again",
		rank: func(r *Rank) error {
			r.Model.Initialize(1)
			b := Batch(r.Model.Inputs(), r.atLeast(5), 0)
			defer func(pass int) { r.Pass = pass }(r.Pass)
			for round := range 2 {
				r.restart()
				if _, err := r.step(b); err != nil {
					return err
				}
				for k, g := range r.Gradients {
					r.Pass = round
					if err := r.again("the gradient of parameter "+r.Model.Parameters()[k].Name, g); err != nil {
						return fmt.Errorf("of the same batch twice, %w, where a pass is a backward pass%s", err, r.stochasticHint())
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
		rank: func(r *Rank) error {
			r.Model.Initialize(11)
			for step := range 2 {
				loss, err := r.step(Batch(r.Model.Inputs(), r.atLeast(5), 0))
				if err != nil {
					return err
				}
				if err := r.again(fmt.Sprintf("the output of batch %d", step), &tensor.Gradient{Values: []float32{float32(loss)}}); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name:    "gradient",
		Promise: "gradients are those of the output, along their own direction and along others",
		rank:    modelGradient,
	},
}

// Batch makes n samples that a model takes; salt tells those of the same number apart. Some bags
// are empty, some hold an index twice.
func Batch(in sdk.InputSpec, n, salt int) *sdk.Batch {
	b := &sdk.Batch{}
	for i := range n {
		targets := make([]int64, max(1, in.Targets))
		for k := range targets {
			targets[k] = int64((i + k) % max(1, in.Classes))
		}
		switch {
		case len(in.Tables) > 0:
			var bag []int64
			for k, rows := range in.Tables {
				bag = append(bag, int64((i*7+k+salt)%rows))
			}
			b.Append(bag, targets...)
		case in.Rows > 0:
			b.Append(bagOf(in, i, salt), targets...)
		default:
			b.Targets = append(b.Targets, targets...)
		}
		for k := range in.Features {
			b.Features = append(b.Features, toys.Number(i*31+k+salt))
		}
	}
	return b
}

// bagOf is the bag of sample i, of the length that the model takes.
func bagOf(in sdk.InputSpec, i, salt int) []int64 {
	row, last := int64((i*5+salt)%in.Rows), int64(in.Rows-1)
	length := in.BagLength
	switch {
	case length == 0:
		return [][]int64{{row}, {}, {row, row}, {row, 0, last}}[i%4]
	case length < 0:
		length = 4
	}
	bag := make([]int64, length)
	for k := range bag {
		bag[k] = []int64{row, row, 0, last}[(k+i)%4]
	}
	return bag
}

// atLeast is n samples, or as many as the smallest batch has that the model takes.
func (r *Rank) atLeast(n int) int { return max(n, r.subject.Part.SmallestBatch) }

// restart has a model that draws random numbers draw the same ones again, with the parameters that it
// has.
func (r *Rank) restart() {
	if !r.subject.Part.Stochastic {
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

// The hints say what a model may have to declare that does not keep a point.
func (r *Rank) stochasticHint() string {
	if r.subject.Part.Stochastic {
		return ""
	}
	return "; a model that draws random numbers, as dropout does, must declare that it is stochastic"
}

func (r *Rank) smallestHint(n int) string {
	if n > 1 || r.subject.Part.SmallestBatch > 1 {
		return ""
	}
	return "; a model that needs several samples, as batch normalization does, must declare its smallest batch"
}

// step computes a batch: the loss is the output, weighted; its gradient goes backward.
func (r *Rank) step(b *sdk.Batch) (float64, error) { return r.stepEmitting(b, func(int) {}) }

// stepEmitting is step, which says what is emitted.
func (r *Rank) stepEmitting(b *sdk.Batch, emit func(parameter int)) (float64, error) {
	out, err := r.Model.Forward(b)
	if err != nil {
		return 0, err
	}
	if err := finite("the output", out.Data); err != nil {
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
		if err := finite("the gradient of parameter "+r.Model.Parameters()[k].Name, g.Values); err != nil {
			return loss, err
		}
	}
	return loss, nil
}
