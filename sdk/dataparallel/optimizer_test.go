package dataparallel_test

import (
	"errors"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// A model with its own Step replaces the optimizer. If both were used, the parameters would be
// updated twice.
func TestOptimizerOfAModel(t *testing.T) {
	value := tensor.New(1)
	parts := sdk.TrainerParts{
		Engine: engine.Host, Values: []tensor.Tensor{value}, Gradients: []*tensor.Gradient{{Values: []float32{2}}},
	}
	stepped := errors.New("stepped")
	for name, c := range map[string]struct {
		step func() error
		err  error
		want float32
	}{
		"the trainer's": {want: -2},
		"the model's":   {step: func() error { return stepped }, err: stepped},
	} {
		value.Data[0], parts.Step = 0, c.step
		o, err := dataparallel.NewOptimizer(optimizer.Settings{Optimizer: optimizer.SGD, LR: 1}, parts)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Reset(); err != nil {
			t.Fatal(err)
		}
		if err := o.Step(); !errors.Is(err, c.err) || value.Data[0] != c.want {
			t.Errorf("%s: a step gave %v and %v, want %v and %v", name, err, value.Data[0], c.err, c.want)
		}
	}
}
