package criteria

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// negativeLogLikelihood is the mean over the batch of -output[target]. The outputs are the logarithms of the class
// probabilities.
type negativeLogLikelihood struct{ pass }

// NewNegativeLogLikelihood builds the criterion nll.
func NewNegativeLogLikelihood(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	return &negativeLogLikelihood{}, engine.NeedAddressable(env.Engine)
}

// Forward sums in float64.
func (c *negativeLogLikelihood) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if err := c.beginClasses(output, targets); err != nil {
		return 0, err
	}
	var sum float64
	for i, target := range targets {
		sum -= float64(c.row(output, i)[target])
	}
	return sum / float64(len(targets)), nil
}

// Backward writes -one-hot(target) / batch.
func (c *negativeLogLikelihood) Backward(outputGradient tensor.Tensor) error {
	if err := c.checkGradient(outputGradient); err != nil {
		return err
	}
	clear(outputGradient.Data)
	for i, target := range c.targets {
		c.row(outputGradient, i)[target] = -1 / float32(len(c.targets))
	}
	return nil
}
