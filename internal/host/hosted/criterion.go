package hosted

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// namedCriterion wraps a criterion so that its errors name it.
type namedCriterion struct {
	sdk.Criterion
	title string
}

func (c *namedCriterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	loss, err := c.Criterion.Forward(output, targets)
	if err != nil && len(targets) == 0 {
		err = fmt.Errorf("%w (a trainer computes the loss by sdk.Loss, which knows targets that are numbers)", err)
	}
	return loss, fault.Of(c.title, "Forward", err)
}

// ForwardFloats implements sdk.FloatCriterion if the wrapped criterion does.
func (c *namedCriterion) ForwardFloats(output tensor.Tensor, targets []float32) (float64, error) {
	floats, ok := c.Criterion.(sdk.FloatCriterion)
	if !ok {
		return 0, fmt.Errorf("%s has no ForwardFloats, though it says that it takes numbers as targets", c.title)
	}
	loss, err := floats.ForwardFloats(output, targets)
	return loss, fault.Of(c.title, "ForwardFloats", err)
}

func (c *namedCriterion) Backward(outputGradient tensor.Tensor) error {
	return fault.Of(c.title, "Backward", c.Criterion.Backward(outputGradient))
}

// Facts implements Describer if the wrapped criterion does.
func (c *namedCriterion) Facts() map[string]string { return process.Facts(nil, c.Criterion) }

// PassFacts implements PassDescriber if the wrapped criterion does.
func (c *namedCriterion) PassFacts() map[string]string { return process.PassFacts(nil, c.Criterion) }

// NewCriterion builds and wraps the criterion that choice names.
func NewCriterion(p *process.Process, choice process.Choice, env sdk.CriterionEnv) (sdk.Criterion, error) {
	env.Recorder = p.Recorder
	criterion, err := process.Build[sdk.Criterion](p, choice, env)
	if err != nil {
		return nil, err
	}
	return &namedCriterion{criterion, choice.Title()}, nil
}
