package dataparallel

import (
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/optimizer"
)

// NewOptimizer returns the optimizer of a rank's parameters: the model's own if parts.Step is set,
// otherwise the one that s chooses.
func NewOptimizer(s optimizer.Settings, parts sdk.TrainerParts) (optimizer.Optimizer, error) {
	if parts.Step != nil {
		return ofModel{parts.Step}, nil
	}
	return optimizer.New(parts.Engine, s, parts.Values, parts.Gradients)
}

// ofModel is a model's own optimizer. The model's Initialize resets the optimizer.
type ofModel struct{ step func() error }

func (o ofModel) Reset() error { return nil }
func (o ofModel) Step() error  { return o.step() }
