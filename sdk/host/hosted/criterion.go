package hosted

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/fault"
	"github.com/psbench/psbench/sdk/host/process"
)

// namedCriterion is a criterion as the process that holds it hands it on.
type namedCriterion struct {
	sdk.Criterion
	title string
}

func (c *namedCriterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	loss, err := c.Criterion.Forward(output, targets)
	return loss, fault.Of(c.title, "Forward", err)
}

func (c *namedCriterion) Backward(outputGradient tensor.Tensor) error {
	return fault.Of(c.title, "Backward", c.Criterion.Backward(outputGradient))
}

// Facts implements Describer for a criterion that does.
func (c *namedCriterion) Facts() map[string]string { return process.Facts(nil, c.Criterion) }

// PassFacts implements PassDescriber for a criterion that does.
func (c *namedCriterion) PassFacts() map[string]string { return process.PassFacts(nil, c.Criterion) }

// NewCriterion makes the criterion that choice names, as its host hands it on.
func NewCriterion(p *process.Process, choice process.Choice, env sdk.CriterionEnv) (sdk.Criterion, error) {
	env.Recorder = p.Recorder
	criterion, err := process.Build[sdk.Criterion](p, choice, env)
	if err != nil {
		return nil, err
	}
	return &namedCriterion{criterion, choice.Title()}, nil
}
