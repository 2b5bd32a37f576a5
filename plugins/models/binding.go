package models

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// CheckBinding returns an error if a model gets storage that does not fit its parameters. CheckBinding reads no
// element, so the storage may belong to any engine.
func CheckBinding(specs []sdk.ParameterSpec, values []tensor.Tensor, gradients []*tensor.Gradient) error {
	if len(values) != len(specs) || len(gradients) != len(specs) {
		return fmt.Errorf("the model has %d parameters but was handed %d values and %d gradients",
			len(specs), len(values), len(gradients))
	}
	for k, spec := range specs {
		if err := checkValue(spec, values[k]); err != nil {
			return fmt.Errorf("parameter %s: %w", spec.Name, err)
		}
		if err := checkGradient(spec, gradients[k]); err != nil {
			return fmt.Errorf("gradient of parameter %s: %w", spec.Name, err)
		}
	}
	return nil
}

func checkValue(spec sdk.ParameterSpec, value tensor.Tensor) error {
	if !slices.Equal(value.Shape, spec.Shape) {
		return fmt.Errorf("the tensor has shape %v but must have shape %v", value.Shape, spec.Shape)
	}
	return value.Check()
}

func checkGradient(spec sdk.ParameterSpec, g *tensor.Gradient) error {
	switch {
	case g == nil:
		return fmt.Errorf("there is none")
	case spec.Sparse && g.Width != spec.Shape[1]:
		return fmt.Errorf("it has rows of %d elements but must have rows of %d", g.Width, spec.Shape[1])
	case !spec.Sparse && g.Sparse():
		return fmt.Errorf("it is a list of rows but must be dense")
	case !spec.Sparse && len(g.Values) != tensor.Elements(spec.Shape):
		return fmt.Errorf("it holds %d elements but must hold %d", len(g.Values), tensor.Elements(spec.Shape))
	}
	return nil
}

// CheckOutputGradient returns an error if Backward gets a gradient that does not fit the last output. Like
// CheckBinding, it reads no element.
func CheckOutputGradient(gradient, output tensor.Tensor) error {
	if !slices.Equal(gradient.Shape, output.Shape) || len(gradient.Data) != len(output.Data) {
		return fmt.Errorf("the output's gradient has shape %v and %d elements but the output has shape %v",
			gradient.Shape, len(gradient.Data), output.Shape)
	}
	return nil
}
