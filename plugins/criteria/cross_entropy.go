package criteria

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// crossEntropy is the mean over the batch of -log softmax(output)[target]. The
// original's model ends in a softmax of its own, and so does psbench's: the
// softmax here comes on top of that.
type crossEntropy struct {
	classes int
	targets []int64   // of the last Forward
	exp     []float32 // exp(output - the row's largest), [batch, classes]
	sum     []float64 // of each row of exp
}

// NewCrossEntropy builds the criterion cel, which has no settings.
func NewCrossEntropy(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	if env.MaxBatch < 1 {
		return nil, fmt.Errorf("the largest batch has %d samples but must have at least 1", env.MaxBatch)
	}
	return &crossEntropy{sum: make([]float64, env.MaxBatch)}, nil
}

// Forward keeps the exponentials for Backward. The first call sizes that buffer
// for the largest batch.
func (c *crossEntropy) Forward(output comm.Tensor, targets []int64) (float64, error) {
	if err := c.check(output, targets); err != nil {
		return 0, err
	}
	c.classes, c.targets = output.Shape[1], targets
	if len(c.exp) < len(c.sum)*c.classes {
		c.exp = make([]float32, len(c.sum)*c.classes)
	}
	var loss float64
	for i, target := range targets {
		row := output.Data[i*c.classes : (i+1)*c.classes]
		top := slices.Max(row)
		var sum float64
		for j, v := range row {
			e := math.Exp(float64(v - top))
			sum += e
			c.exp[i*c.classes+j] = float32(e)
		}
		c.sum[i] = sum
		loss += math.Log(sum) - (float64(row[target]) - float64(top))
	}
	return loss / float64(len(targets)), nil
}

// Backward writes (softmax(output) - one-hot(target)) / batch.
func (c *crossEntropy) Backward(outputGradient comm.Tensor) error {
	batch := len(c.targets)
	if batch == 0 {
		return errors.New("the criterion cannot go backward before it went forward")
	}
	shape, gradient := outputGradient.Shape, outputGradient.Data
	if len(shape) != 2 || shape[0] != batch || shape[1] != c.classes || len(gradient) != batch*c.classes {
		return fmt.Errorf("the output's gradient has shape %v and %d elements but the output had shape [%d %d]",
			shape, len(gradient), batch, c.classes)
	}
	copy(gradient, c.exp)
	for i, target := range c.targets {
		row := gradient[i*c.classes : (i+1)*c.classes]
		vec.Scale(float32(1/(c.sum[i]*float64(batch))), row)
		row[target] -= 1 / float32(batch)
	}
	return nil
}

func (c *crossEntropy) check(output comm.Tensor, targets []int64) error {
	if len(targets) < 1 || len(targets) > len(c.sum) {
		return fmt.Errorf("a batch has %d targets but the criterion was built for 1 to %d", len(targets), len(c.sum))
	}
	if len(output.Shape) != 2 || output.Shape[0] != len(targets) || output.Shape[1] < 1 {
		return fmt.Errorf("the output has shape %v but must be [%d, classes], a row for each target", output.Shape, len(targets))
	}
	if err := output.Check(); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	for i, target := range targets {
		if target < 0 || target >= int64(output.Shape[1]) {
			return fmt.Errorf("target %d of the batch is class %d but there are classes 0 to %d", i, target, output.Shape[1]-1)
		}
	}
	return nil
}
