package sdk

import "github.com/psbench/psbench/comm/tensor"

// Criterion is a loss function.
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
}
