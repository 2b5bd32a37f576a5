package points

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// trainerPoints are the points of trainers, for every service that they need.
var trainerPoints = []harness.Point{
	{
		Name:    "plan",
		Promise: "Plan puts every parameter into one bucket, and gives the same answer on every rank",
		Ranks:   2,
		OnRank: func(r *harness.Rank) error {
			plan, err := r.Trainer.Plan(r.Model.Parameters())
			if err != nil {
				return err
			}
			if err := layout.CheckPlan(r.Model.Parameters(), plan); err != nil {
				return err
			}
			r.Told["the plan"] = fmt.Sprint(plan)
			return nil
		},
	},
	{
		Name: "order",
		Promise: "Forward, the loss, its gradient and Backward of a batch come in this order, its buckets in theirs, " +
			"and none is written while it is reduced",
		Ranks: 2,
		OnRank: func(r *harness.Rank) error {
			_ = harness.Recovered(func() error { // other points report its errors
				_, err := train(context.Background(), r, nil)
				return err
			})
			return r.Disorder()
		},
	},
	{
		Name:    "trains",
		Promise: "Train reports the finite loss of every iteration of every epoch, after that iteration",
		Ranks:   2,
		OnRank: func(r *harness.Rank) error {
			told, err := train(context.Background(), r, nil)
			if err != nil {
				return err
			}
			if want := harness.TrainedEpochs * r.Batches.Len(); len(told) != want {
				return fmt.Errorf("Train reported %d losses but ran %d iterations", len(told), want)
			}
			for i, loss := range told {
				if !numeral.Finite(loss) {
					return fmt.Errorf("the loss of iteration %d is %g", i, loss)
				}
			}
			return nil
		},
	},
	{
		Name:    "reset",
		Promise: "after Reset a pass has the losses of the first one",
		Ranks:   2,
		Passes:  2,
		OnRank: func(r *harness.Rank) error {
			told, err := train(context.Background(), r, nil)
			if err != nil {
				return err
			}
			losses := make([]float32, len(told))
			for i, loss := range told {
				losses[i] = float32(loss)
			}
			return r.Again("the list of losses", &tensor.Gradient{Values: losses})
		},
	},
	{
		Name:      "equal",
		Promise:   "all ranks end with the same parameters",
		Ranks:     2,
		Agreement: true,
		OnRank: func(r *harness.Rank) error {
			if _, err := train(context.Background(), r, nil); err != nil {
				return err
			}
			for k, v := range r.Values {
				r.Same("parameter "+r.Model.Parameters()[k].Name, &tensor.Gradient{Values: v.Data})
			}
			return nil
		},
	},
	{
		Name:    "ends",
		Promise: "no iteration begins once the context has ended: Train returns, and its error is the cause",
		OnRank: func(r *harness.Rank) error {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			told, err := train(ctx, r, func(done int) {
				if done == 1 {
					cancel(errEnough)
				}
			})
			switch {
			case len(told) != 1:
				return fmt.Errorf("the context ended after iteration 1, but %d were done", len(told))
			case !errors.Is(err, errEnough):
				return fmt.Errorf("the context ended because %q, but Train gives %q",
					fmt.Sprint(errEnough), fmt.Sprint(err))
			}
			return nil
		},
	},
}

var errEnough = errors.New("it is enough")

// train runs a pass and returns the losses that it reported.
func train(ctx context.Context, r *harness.Rank, each func(done int)) ([]float64, error) {
	if err := r.Trainer.Reset(); err != nil {
		return nil, err
	}
	report := &told{each: each}
	err := r.Trainer.Train(ctx, report)
	if errors.Is(err, sdk.ErrPassOver) {
		err = nil
	}
	return report.losses, err
}

// told records the reports of a pass.
type told struct {
	losses []float64
	each   func(done int)
}

func (t *told) Epoch(int) {}

func (t *told) Loss(loss float64) {
	if t.losses = append(t.losses, loss); t.each != nil {
		t.each(len(t.losses))
	}
}
