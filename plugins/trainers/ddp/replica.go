package ddp

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// newDDPModel wraps the model of one pass.
type newDDPModel func(parts sdk.TrainerParts, state sdk.HookState) ddpModel

// ddpModel is a model whose gradients are reduced while backward computes them.
type ddpModel interface {
	Forward(b *sdk.Batch) (tensor.Tensor, error)
	// Backward returns once every bucket holds its reduced gradient.
	Backward(outputGradient tensor.Tensor) error
}

// replica is the model with a reducer.
type replica struct {
	model   sdk.Model
	reducer *dataparallel.Reducer
}

func newReplica(parts sdk.TrainerParts, state sdk.HookState) ddpModel {
	return &replica{parts.Model, dataparallel.NewReducer(parts, state)}
}

func (r *replica) Forward(b *sdk.Batch) (tensor.Tensor, error) { return r.model.Forward(b) }

func (r *replica) Backward(outputGradient tensor.Tensor) error {
	r.reducer.Begin()
	return r.reducer.Wait(r.model.Backward(outputGradient, r.reducer.Emit))
}
