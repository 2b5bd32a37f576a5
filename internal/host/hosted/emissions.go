package hosted

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/sdk"
)

// Emissions holds a model to its word that each backward pass emits every parameter
// once. A bucket starts with its last gradient, so one that is emitted twice would start
// it while another is still missing, and train wrongly without a sign.
type Emissions struct {
	model string // whose they are, for errors
	specs []sdk.ParameterSpec
	done  []bool // by parameter
}

// NewEmissions watches a model of this name.
func NewEmissions(model string, specs []sdk.ParameterSpec) Emissions {
	return Emissions{model: model, specs: specs, done: make([]bool, len(specs))}
}

// Begin starts a backward pass.
func (e *Emissions) Begin() { clear(e.done) }

// Add notes that a parameter was emitted.
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

// End reports a parameter that was never emitted.
func (e *Emissions) End() error {
	if missing := slices.Index(e.done, false); missing >= 0 {
		return fmt.Errorf(
			"%s ended its backward pass without emitting the gradient of parameter %s: each must be emitted once",
			e.model, e.specs[missing].Name)
	}
	return nil
}
