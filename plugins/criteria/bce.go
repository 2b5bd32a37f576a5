package criteria

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// binaryCrossEntropy is the mean over the outputs of -t log p - (1-t) log (1-p). The output is a logit, p is its
// sigmoid, and t is the target, from 0 to 1. If targets are classes, 0 or 1, there is one logit for each sample.
// Computing in float64 avoids overflow for large logits and a logarithm of a rounded 1-p.
type binaryCrossEntropy struct{ pass }

// NewBinaryCrossEntropy builds the criterion bce.
func NewBinaryCrossEntropy(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	return &binaryCrossEntropy{}, engine.NeedAddressable(env.Engine)
}

// Forward sums max(x, 0) - x*target + log(1 + exp(-|x|)) over the logits x.
func (c *binaryCrossEntropy) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if err := CheckLogits(output, targets); err != nil {
		return 0, err
	}
	if err := c.begin(output, targets); err != nil {
		return 0, err
	}
	var sum float64
	for i, target := range targets {
		sum += surprise(float64(output.Data[i]), float64(target))
	}
	return sum / float64(len(targets)), nil
}

// ForwardFloats implements sdk.FloatCriterion.
func (c *binaryCrossEntropy) ForwardFloats(output tensor.Tensor, targets []float32) (float64, error) {
	if err := c.beginFloats(sdk.ShareTargets, output, targets); err != nil {
		return 0, err
	}
	var sum float64
	for i, target := range targets {
		sum += surprise(float64(output.Data[i]), float64(target))
	}
	return sum / float64(len(targets)), nil
}

// surprise returns the loss of one logit.
func surprise(x, target float64) float64 {
	return max(x, 0) - x*target + math.Log1p(math.Exp(-math.Abs(x)))
}

// Backward writes (sigmoid(output) - target) / outputs.
func (c *binaryCrossEntropy) Backward(outputGradient tensor.Tensor) error {
	if err := c.checkGradient(outputGradient); err != nil {
		return err
	}
	for i, target := range c.targets {
		outputGradient.Data[i] = float32(excess(float64(c.output.Data[i]), float64(target)) / float64(len(c.targets)))
	}
	for i, target := range c.numbers {
		outputGradient.Data[i] = float32(excess(float64(c.output.Data[i]), float64(target)) / float64(len(c.numbers)))
	}
	return nil
}

// excess returns sigmoid(x) - target. If the target is 1, it computes -sigmoid(-x), which stays accurate when
// sigmoid(x) rounds to 1.
func excess(x, target float64) float64 {
	if target == 1 {
		return -1 / (1 + math.Exp(x))
	}
	return 1/(1+math.Exp(-x)) - target
}

// CheckLogits returns an error unless the output has one logit for each target, 0 or 1. CheckLogits reads no
// element of the output.
func CheckLogits(output tensor.Tensor, targets []int64) error {
	if len(targets) > 0 && !slices.Equal(output.Shape, []int{len(targets), 1}) {
		return fmt.Errorf("the output has shape %v but bce needs [%d, 1], one logit for each target: the model must end in one output",
			output.Shape, len(targets))
	}
	for i, target := range targets {
		if target != 0 && target != 1 {
			return fmt.Errorf("target %d of the batch is %d but bce needs 0 or 1", i, target)
		}
	}
	return nil
}
