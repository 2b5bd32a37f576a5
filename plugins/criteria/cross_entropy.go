package criteria

import (
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
	maxBatch int
	classes  int
	targets  []int64   // of the last Forward
	exp      []float32 // exp(output - the row's largest), [batch, classes]
	sum      []float64 // of each row of exp
}

// NewCrossEntropy builds the criterion cel, which has no settings.
func NewCrossEntropy(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	return &crossEntropy{maxBatch: env.MaxBatch}, nil
}

// Forward keeps the exponentials for Backward. The first call makes room for the run's
// batch size, and only a larger batch makes more.
func (c *crossEntropy) Forward(output comm.Tensor, targets []int64) (float64, error) {
	if err := c.check(output, targets); err != nil {
		return 0, err
	}
	c.classes, c.targets = output.Shape[1], targets
	if len(c.sum) < len(targets) || len(c.exp) < len(targets)*c.classes {
		rows := max(len(targets), c.maxBatch)
		c.exp, c.sum = make([]float32, rows*c.classes), make([]float64, rows)
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
	batch, gradient := len(c.targets), outputGradient.Data
	if err := checkGradient(outputGradient, batch, c.classes); err != nil {
		return err
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
	if err := checkOutput(output, targets); err != nil {
		return err
	}
	for i, target := range targets {
		if target < 0 || target >= int64(output.Shape[1]) {
			return fmt.Errorf("target %d of the batch is class %d but there are classes 0 to %d", i, target, output.Shape[1]-1)
		}
	}
	return nil
}
