// Package inspect examines trained parameters and gradients: it finds values that are not finite,
// and summarizes values.
package inspect

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// NonFinite looks for NaN and infinite values during a pass and records the first ones.
type NonFinite struct{ record.NonFinite }

// Note counts a loss that is not finite. Note reports whether this loss is the first one.
func (n *NonFinite) Note(key sdk.Key, loss float64) (first bool) {
	if n.Losses++; n.Losses > 1 {
		return false
	}
	n.Epoch, n.Batch, n.Loss = key.A, key.B, loss
	return true
}

// Inspect finds the first parameter with a non-finite value, unless one is already recorded. The
// values lie in the memory of engine e.
func (n *NonFinite) Inspect(e engine.Engine, specs []sdk.ParameterSpec, values []tensor.Tensor) error {
	var room []float32
	for k := 0; k < len(values) && n.Parameter == ""; k++ {
		seen, err := engine.View(e, &room, values[k].Data)
		if err != nil {
			return err
		}
		if !vec.AllFinite(seen) {
			n.Parameter = specs[k].Name
		}
	}
	return nil
}

// InspectGradients finds the first gradient with a non-finite value.
func (n *NonFinite) InspectGradients(e engine.Engine, specs []sdk.ParameterSpec, gradients []*tensor.Gradient) error {
	var room []float32
	for k := 0; k < len(gradients) && n.Gradient == ""; k++ {
		seen, err := engine.View(e, &room, gradients[k].Values)
		if err != nil {
			return err
		}
		if !vec.AllFinite(seen) {
			n.Gradient = specs[k].Name
		}
	}
	return nil
}

// Record returns the findings, or nil if there are none.
func (n *NonFinite) Record() *record.NonFinite {
	if n.NonFinite == (record.NonFinite{}) {
		return nil
	}
	found := n.NonFinite
	return &found
}

// Describe describes a process's findings in one sentence.
func Describe(process string, n *record.NonFinite) string {
	if n.Losses == 0 {
		return fmt.Sprintf("%s: parameter %s is not finite at the end of the pass", process, quote.Word(n.Parameter))
	}
	var tensors []string
	if n.Parameter != "" {
		tensors = append(tensors, "parameter "+quote.Word(n.Parameter))
	}
	if n.Gradient != "" {
		tensors = append(tensors, "gradient "+quote.Word(n.Gradient))
	}
	what := "all parameters and gradients are finite"
	if tensors != nil {
		what = "not finite either: " + strings.Join(tensors, ", ")
	}
	return fmt.Sprintf("%s: the loss of epoch %d, batch %d is %v, the first of %d that are not finite; %s",
		process, n.Epoch, n.Batch, n.Loss, n.Losses, what)
}
