package hosted

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/sdk"
)

// Emissions checks that each backward pass of a model emits every parameter exactly once. A bucket
// starts with its last gradient. A repeated gradient could start a bucket while another gradient is
// missing, and training would silently be wrong.
type Emissions struct {
	model string // the model's name, for errors
	specs []sdk.ParameterSpec
	done  []bool // whether each parameter was emitted
}

// NewEmissions returns the check for the model with this name.
func NewEmissions(model string, specs []sdk.ParameterSpec) Emissions {
	return Emissions{model: model, specs: specs, done: make([]bool, len(specs))}
}

// Begin prepares the check of a backward pass.
func (e *Emissions) Begin() { clear(e.done) }

// Add records that a parameter was emitted. Add returns an error for a repeated or unknown one.
func (e *Emissions) Add(parameter int) error {
	switch {
	case parameter < 0 || parameter >= len(e.specs):
		return fmt.Errorf("%s emitted the gradient of parameter %d but has %d parameters, which count from 0", e.model,
			parameter, len(e.specs))
	case e.done[parameter]:
		return fmt.Errorf("%s emitted the gradient of parameter %s twice in a backward pass: each must be emitted once, when it is complete",
			e.model, e.specs[parameter].Name)
	}
	e.done[parameter] = true
	return nil
}

// End returns an error if a parameter was never emitted.
func (e *Emissions) End() error {
	if missing := slices.Index(e.done, false); missing >= 0 {
		return fmt.Errorf(
			"%s ended its backward pass without emitting the gradient of parameter %s: each must be emitted once",
			e.model, e.specs[missing].Name)
	}
	return nil
}
