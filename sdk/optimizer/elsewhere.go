package optimizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Engine is an engine with steps of its own, which it must have where Go cannot touch its
// memory.
type Engine interface {
	engine.Engine
	// Optimizers names those that it has.
	Optimizers() []string
	// NewOptimizer makes one of them, as New says; the settings have passed all checks.
	NewOptimizer(s Settings, values []tensor.Tensor, gradients []*tensor.Gradient) (Optimizer, error)
}

// newElsewhere has the engine make an optimizer of parameters that Go cannot touch.
func newElsewhere(e engine.Engine, s Settings, values []tensor.Tensor,
	gradients []*tensor.Gradient) (Optimizer, error) {
	owner, ok := e.(Engine)
	if !ok {
		return nil, fmt.Errorf(
			"engine %s has no optimizers, and Go cannot step parameters in its memory: %s cannot be had there",
			e.Name(), s.Optimizer)
	}
	if has := owner.Optimizers(); !slices.Contains(has, s.Optimizer) {
		return nil, fmt.Errorf("engine %s has no optimizer %s: it has %s", e.Name(), s.Optimizer,
			strings.Join(has, ", "))
	}
	return owner.NewOptimizer(s, values, gradients)
}
