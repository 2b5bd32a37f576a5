package criteria

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// crossEntropy is the mean over the batch of -log softmax(output)[target]. If targets are probabilities, it is the
// mean of the sum over the classes, weighted by their probabilities. The original's model ends in a softmax, and so
// does psbench's dummy model, so this softmax is a second one. A batch costs one exponential per output.
type crossEntropy struct {
	pass
	maxBatch int
	memory   engine.Engine
	softmax  []float32 // softmax of the output, [batch, classes]
}

// NewCrossEntropy builds the criterion cel.
func NewCrossEntropy(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	return &crossEntropy{maxBatch: env.MaxBatch, memory: env.Engine}, engine.NeedAddressable(env.Engine)
}

// Forward stores the softmax for Backward. The first call allocates memory for the run's batch size. Only a larger
// batch allocates more.
func (c *crossEntropy) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if err := c.beginClasses(output, targets); err != nil {
		return 0, err
	}
	if err := c.keep(output); err != nil {
		return 0, err
	}
	classes := output.Shape[1]
	var loss float64
	for i, target := range targets {
		logSum := vec.Softmax(c.softmax[i*classes : (i+1)*classes])
		loss += logSum - float64(output.Data[i*classes+int(target)])
	}
	return loss / float64(len(targets)), nil
}

// ForwardFloats implements sdk.FloatCriterion: targets are probabilities.
func (c *crossEntropy) ForwardFloats(output tensor.Tensor, targets []float32) (float64, error) {
	if err := c.beginFloats(sdk.ProbabilityTargets, output, targets); err != nil {
		return 0, err
	}
	if err := c.keep(output); err != nil {
		return 0, err
	}
	rows, classes := output.Shape[0], output.Shape[1]
	var loss float64
	for i := range rows {
		logSum := vec.Softmax(c.softmax[i*classes : (i+1)*classes])
		for j, p := range targets[i*classes : (i+1)*classes] {
			loss += float64(p) * (logSum - float64(output.Data[i*classes+j]))
		}
	}
	return loss / float64(rows), nil
}

// keep copies the output to the memory for its softmax.
func (c *crossEntropy) keep(output tensor.Tensor) error {
	if len(c.softmax) < len(output.Data) {
		var err error
		if c.softmax, err = engine.Grow(c.memory, c.softmax,
			max(output.Shape[0], c.maxBatch)*output.Shape[1]); err != nil {
			return err
		}
	}
	copy(c.softmax, output.Data)
	return nil
}

// Backward writes (softmax(output) - one-hot(target)) / batch. For probabilities, it uses their sum times the
// softmax, minus the probabilities.
func (c *crossEntropy) Backward(outputGradient tensor.Tensor) error {
	if err := c.checkGradient(outputGradient); err != nil {
		return err
	}
	if len(c.numbers) > 0 {
		c.backwardFloats(outputGradient)
		return nil
	}
	share := 1 / float32(len(c.targets))
	copy(outputGradient.Data, c.softmax)
	vec.Scale(share, outputGradient.Data)
	for i, target := range c.targets {
		c.row(outputGradient, i)[target] -= share
	}
	return nil
}

func (c *crossEntropy) backwardFloats(outputGradient tensor.Tensor) {
	rows, classes := c.output.Shape[0], c.output.Shape[1]
	for i := range rows {
		targets, softmax := c.numbers[i*classes:(i+1)*classes], c.softmax[i*classes:(i+1)*classes]
		sum := float32(0)
		for _, p := range targets {
			sum += p
		}
		for j, g := 0, c.row(outputGradient, i); j < classes; j++ {
			g[j] = (sum*softmax[j] - targets[j]) / float32(rows)
		}
	}
}
