package sdk

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// hostedCriterion is a criterion as the process that holds it hands it on.
type hostedCriterion struct {
	Criterion
	title string
}

func (c *hostedCriterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	loss, err := c.Criterion.Forward(output, targets)
	return loss, errorOf(c.title, "Forward", err)
}

func (c *hostedCriterion) Backward(outputGradient tensor.Tensor) error {
	return errorOf(c.title, "Backward", c.Criterion.Backward(outputGradient))
}

// Facts implements Describer for a criterion that does.
func (c *hostedCriterion) Facts() map[string]string { return facts(nil, c.Criterion) }

func buildCriterion(st *station, choice *proto.PartChoice) (Criterion, error) {
	criterion, err := build[Criterion](st, choice, CriterionEnv{MaxBatch: int(st.req.GetBatchSize())})
	if err != nil {
		return nil, err
	}
	return &hostedCriterion{criterion, titleOf(choice)}, nil
}
