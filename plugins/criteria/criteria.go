// Package criteria provides the built-in loss functions.
package criteria

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// Parts lists the criteria of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewCriterion("cel", struct{}{}, NewCrossEntropy),
		sdk.NewCriterion("l1", struct{}{}, NewL1),
	}
}

// checkOutput says what is wrong with an output that should have a row for each target.
func checkOutput(output comm.Tensor, targets []int64) error {
	if len(targets) < 1 {
		return fmt.Errorf("a batch has %d targets but must have at least 1", len(targets))
	}
	if len(output.Shape) != 2 || output.Shape[0] != len(targets) || output.Shape[1] < 1 {
		return fmt.Errorf("the output has shape %v but must be [%d, classes], a row for each target", output.Shape, len(targets))
	}
	if err := output.Check(); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// checkGradient says what is wrong with the room for the gradient of an output of
// [rows, columns].
func checkGradient(gradient comm.Tensor, rows, columns int) error {
	if rows == 0 {
		return errors.New("the criterion cannot go backward before it went forward")
	}
	shape := gradient.Shape
	if len(shape) != 2 || shape[0] != rows || shape[1] != columns || len(gradient.Data) != rows*columns {
		return fmt.Errorf("the output's gradient has shape %v and %d elements but the output had shape [%d %d]",
			shape, len(gradient.Data), rows, columns)
	}
	return nil
}
