package criteria

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// crossEntropy is the mean over the batch of -log softmax(output)[target]. The
// original's model ends in a softmax of its own, and so does psbench's: the
// softmax here comes on top of that. A batch costs an exponential for each output.
type crossEntropy struct {
	pass
	maxBatch int
	memory   engine.Engine
	softmax  []float32 // of the output, [batch, classes]
}

// NewCrossEntropy builds the criterion cel.
func NewCrossEntropy(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	return &crossEntropy{maxBatch: env.MaxBatch, memory: env.Engine}, engine.NeedAddressable(env.Engine)
}

// Forward keeps the softmax for Backward. The first call makes room for the run's
// batch size, and only a larger batch makes more.
func (c *crossEntropy) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if err := c.beginClasses(output, targets); err != nil {
		return 0, err
	}
	classes := output.Shape[1]
	if len(c.softmax) < len(output.Data) {
		var err error
		if c.softmax, err = engine.Grow(c.memory, c.softmax, max(len(targets), c.maxBatch)*classes); err != nil {
			return 0, err
		}
	}
	copy(c.softmax, output.Data)
	var loss float64
	for i, target := range targets {
		logSum := vec.Softmax(c.softmax[i*classes : (i+1)*classes])
		loss += logSum - float64(output.Data[i*classes+int(target)])
	}
	return loss / float64(len(targets)), nil
}

// Backward writes (softmax(output) - one-hot(target)) / batch.
func (c *crossEntropy) Backward(outputGradient tensor.Tensor) error {
	if err := c.checkGradient(outputGradient); err != nil {
		return err
	}
	share := 1 / float32(len(c.targets))
	copy(outputGradient.Data, c.softmax)
	vec.Scale(share, outputGradient.Data)
	for i, target := range c.targets {
		c.row(outputGradient, i)[target] -= share
	}
	return nil
}
