package sdk

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Criterion is a loss function. Outputs and their gradients lie in the memory of the process's
// engine, targets in ordinary memory. One whose targets may be numbers is a FloatCriterion.
type Criterion interface {
	// Forward returns the mean loss of a batch. output is [batch, classes]
	// and must stay unchanged until Backward; targets has one class per row.
	Forward(output tensor.Tensor, targets []int64) (float64, error)
	// Backward writes the gradient of that loss with respect to output into
	// outputGradient, which has output's shape.
	Backward(outputGradient tensor.Tensor) error
}

// CriterionEnv is what a criterion knows of its run.
type CriterionEnv struct {
	MaxBatch int // the run's --batch-size; batches that the data cuts itself may be larger
	Recorder *Recorder
	// Engine owns the memory of outputs and their gradients.
	Engine engine.Engine
}
