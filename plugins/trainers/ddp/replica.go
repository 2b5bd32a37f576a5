package ddp

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// newDDPModel wraps the model of one pass.
type newDDPModel func(parts sdk.TrainerParts, state sdk.HookState) ddpModel

// ddpModel is a model whose gradients are reduced during the backward pass.
type ddpModel interface {
	Forward(b *sdk.Batch) (tensor.Tensor, error)
	// Backward returns once every bucket holds its reduced gradient.
	Backward(outputGradient tensor.Tensor) error
	// Waited and Record are methods of a dataparallel.Reducer.
	Waited() (fromNS, toNS int64)
	Record(key sdk.Key, startNS int64)
}

// replica is the model with a reducer.
type replica struct {
	*dataparallel.Reducer
	model sdk.Model
}

func newReplica(parts sdk.TrainerParts, state sdk.HookState) ddpModel {
	return &replica{dataparallel.NewReducer(parts, state), parts.Model}
}

func (r *replica) Forward(b *sdk.Batch) (tensor.Tensor, error) { return r.model.Forward(b) }

func (r *replica) Backward(outputGradient tensor.Tensor) error {
	r.Begin()
	return r.Wait(r.model.Backward(outputGradient, r.Emit))
}
