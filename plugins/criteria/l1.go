package criteria

import (
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// l1 is the mean over all outputs of |output - target|. If targets are classes, every output of a row should equal
// the class number.
type l1 struct{ pass }

// NewL1 builds the criterion l1.
func NewL1(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	return &l1{}, engine.NeedAddressable(env.Engine)
}

// Forward sums in float64.
func (c *l1) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if err := c.begin(output, targets); err != nil {
		return 0, err
	}
	var sum float64
	for i, target := range targets {
		for _, v := range c.row(output, i) {
			sum += math.Abs(float64(v) - float64(target))
		}
	}
	return sum / float64(len(output.Data)), nil
}

// ForwardFloats implements sdk.FloatCriterion.
func (c *l1) ForwardFloats(output tensor.Tensor, targets []float32) (float64, error) {
	if err := c.beginFloats(sdk.NumberTargets, output, targets); err != nil {
		return 0, err
	}
	var sum float64
	for i, v := range output.Data {
		sum += math.Abs(float64(v) - float64(targets[i]))
	}
	return sum / float64(len(output.Data)), nil
}

// Backward writes sign(output - target) / (rows * columns), and 0 where they are equal,
// as PyTorch does.
func (c *l1) Backward(outputGradient tensor.Tensor) error {
	if err := c.checkGradient(outputGradient); err != nil {
		return err
	}
	share := 1 / float32(len(c.output.Data))
	for i, target := range c.numbers {
		outputGradient.Data[i] = sign(c.output.Data[i], target, share)
	}
	for i, target := range c.targets {
		gradient := c.row(outputGradient, i)
		for j, v := range c.row(c.output, i) {
			gradient[j] = sign(v, float32(target), share)
		}
	}
	return nil
}

// sign returns share with the sign of v - target.
func sign(v, target, share float32) float32 {
	switch {
	case v > target:
		return share
	case v < target:
		return -share
	default:
		return v - target // 0, or NaN if v is NaN
	}
}
