package criteria

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// meanSquaredError is the mean over all outputs of (output - target)². If targets are classes, every output of a
// row should equal the class number.
type meanSquaredError struct{ pass }

// NewMeanSquaredError builds the criterion mse.
func NewMeanSquaredError(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	return &meanSquaredError{}, engine.NeedAddressable(env.Engine)
}

// Forward sums in float64.
func (c *meanSquaredError) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if err := c.begin(output, targets); err != nil {
		return 0, err
	}
	var sum float64
	for i, target := range targets {
		for _, v := range c.row(output, i) {
			d := float64(v) - float64(target)
			sum += d * d
		}
	}
	return sum / float64(len(output.Data)), nil
}

// ForwardFloats implements sdk.FloatCriterion.
func (c *meanSquaredError) ForwardFloats(output tensor.Tensor, targets []float32) (float64, error) {
	if err := c.beginFloats(sdk.NumberTargets, output, targets); err != nil {
		return 0, err
	}
	var sum float64
	for i, v := range output.Data {
		d := float64(v) - float64(targets[i])
		sum += d * d
	}
	return sum / float64(len(output.Data)), nil
}

// Backward writes 2 (output - target) / (rows * columns).
func (c *meanSquaredError) Backward(outputGradient tensor.Tensor) error {
	if err := c.checkGradient(outputGradient); err != nil {
		return err
	}
	share := 2 / float32(len(c.output.Data))
	for i, target := range c.numbers {
		outputGradient.Data[i] = (c.output.Data[i] - target) * share
	}
	for i, target := range c.targets {
		gradient := c.row(outputGradient, i)
		for j, v := range c.row(c.output, i) {
			gradient[j] = (v - float32(target)) * share
		}
	}
	return nil
}
