// Package criteria provides the built-in loss functions.
package criteria

import (
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Parts lists the criteria of this package. The criteria have no settings.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.WithTargets(sdk.ShareTargets, sdk.NewCriterion("bce", struct{}{}, NewBinaryCrossEntropy)),
		sdk.WithTargets(sdk.ProbabilityTargets, sdk.NewCriterion("cel", struct{}{}, NewCrossEntropy)),
		sdk.WithTargets(sdk.NumberTargets, sdk.NewCriterion("l1", struct{}{}, NewL1)),
		sdk.WithTargets(sdk.NumberTargets, sdk.NewCriterion("mse", struct{}{}, NewMeanSquaredError)),
		sdk.NewCriterion("nll", struct{}{}, NewNegativeLogLikelihood),
	}
}

// pass holds the data of the last Forward that Backward needs.
type pass struct {
	output  tensor.Tensor // [rows, columns]
	targets []int64       // by row
	numbers []float32     // instead of targets: [rows, columns]
}

// begin stores a batch. begin returns an error if output lacks a row for some target.
func (p *pass) begin(output tensor.Tensor, targets []int64) error {
	if err := CheckOutput(output, targets); err != nil {
		return err
	}
	p.output, p.targets, p.numbers = output, targets, nil
	return nil
}

// beginFloats stores a batch whose targets are numbers, one for each element of output.
func (p *pass) beginFloats(kind sdk.TargetKind, output tensor.Tensor, targets []float32) error {
	if err := CheckFloats(kind, output, targets); err != nil {
		return err
	}
	p.output, p.targets, p.numbers = output, nil, targets
	return nil
}

// beginClasses stores a batch whose targets are classes. The output has a column for each class.
func (p *pass) beginClasses(output tensor.Tensor, targets []int64) error {
	if err := CheckClasses(output, targets); err != nil {
		return err
	}
	p.output, p.targets, p.numbers = output, targets, nil
	return nil
}

// CheckClasses does the checks of CheckOutput for targets that are classes. The output has a column for each class.
func CheckClasses(output tensor.Tensor, targets []int64) error {
	if err := CheckOutput(output, targets); err != nil {
		return err
	}
	for i, target := range targets {
		if target < 0 || target >= int64(output.Shape[1]) {
			if output.Shape[1] == 1 {
				return fmt.Errorf("target %d of the batch is class %d but the output has one column, for class 0 alone: a model that ends in one logit needs criterion bce",
					i, target)
			}
			return fmt.Errorf("target %d of the batch is class %d but there are classes 0 to %d", i, target,
				output.Shape[1]-1)
		}
	}
	return nil
}

// row returns row i of t, which has the output's shape.
func (p *pass) row(t tensor.Tensor, i int) []float32 {
	columns := p.output.Shape[1]
	return t.Data[i*columns : (i+1)*columns]
}

// checkGradient returns an error if the memory for the output's gradient has the wrong shape.
func (p *pass) checkGradient(gradient tensor.Tensor) error {
	if len(p.targets) == 0 && len(p.numbers) == 0 {
		return CheckGradient(gradient, tensor.Tensor{})
	}
	return CheckGradient(gradient, p.output)
}

// CheckGradient returns an error unless gradient has the shape of output, the last forward pass's output. An output
// without a shape means that there was no forward pass.
func CheckGradient(gradient, output tensor.Tensor) error {
	if output.Shape == nil {
		return errors.New("the criterion cannot go backward before it went forward")
	}
	if !slices.Equal(gradient.Shape, output.Shape) || len(gradient.Data) != len(output.Data) {
		return fmt.Errorf("the output's gradient has shape %v and %d elements but the output had shape %v",
			gradient.Shape, len(gradient.Data), output.Shape)
	}
	return nil
}

// CheckOutput returns an error unless the output has a row for each target. CheckOutput reads no element of the
// output.
func CheckOutput(output tensor.Tensor, targets []int64) error {
	if len(targets) < 1 {
		return fmt.Errorf("a batch has %d targets but must have at least 1", len(targets))
	}
	if len(output.Shape) != 2 || output.Shape[0] != len(targets) || output.Shape[1] < 1 {
		return fmt.Errorf("the output has shape %v but must be [%d, classes], a row for each target", output.Shape,
			len(targets))
	}
	if err := output.Check(); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// CheckFloats returns an error unless the output has an element for each target and the targets are valid numbers.
// CheckFloats reads no element of the output.
func CheckFloats(kind sdk.TargetKind, output tensor.Tensor, targets []float32) error {
	if len(targets) < 1 {
		return errors.New("a batch has 0 targets but must have at least 1")
	}
	if len(output.Shape) != 2 || output.Shape[0] < 1 || output.Shape[1] < 1 {
		return fmt.Errorf("the output has shape %v but must be [rows, columns]", output.Shape)
	}
	rows, columns := output.Shape[0], output.Shape[1]
	if len(targets)%rows != 0 {
		return fmt.Errorf(
			"the output has %d rows but the batch has %d numbers as targets, which must be as many for each row", rows,
			len(targets))
	}
	if width := len(targets) / rows; width != columns {
		return fmt.Errorf(
			"the output has %d columns but a row of the batch has %d targets: the model must have an output for each",
			columns, width)
	}
	if err := output.Check(); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	for i := range rows {
		if _, err := kind.CheckRow(targets[i*columns : (i+1)*columns]); err != nil {
			return fmt.Errorf("row %d of the batch: %w", i, err)
		}
	}
	return nil
}
