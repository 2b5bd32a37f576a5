package optimizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Engine is an engine with optimizers of its own. An engine whose memory Go cannot touch needs
// them to step parameters.
type Engine interface {
	engine.Engine
	// Optimizers returns the names of the engine's optimizers.
	Optimizers() []string
	// NewOptimizer makes one of them, as New describes. The settings have passed all checks.
	NewOptimizer(s Settings, values []tensor.Tensor, gradients []*tensor.Gradient) (Optimizer, error)
}

// newElsewhere has the engine make an optimizer of parameters that Go cannot touch.
func newElsewhere(e engine.Engine, s Settings, values []tensor.Tensor,
	gradients []*tensor.Gradient) (Optimizer, error) {
	owner, ok := e.(Engine)
	if !ok {
		return nil, fmt.Errorf(
			"engine %s has no optimizers, and Go cannot step parameters in its memory: %s is not available there",
			e.Name(), s.Optimizer)
	}
	if has := owner.Optimizers(); !slices.Contains(has, s.Optimizer) {
		return nil, fmt.Errorf("engine %s has no optimizer %s: it has %s", e.Name(), s.Optimizer,
			strings.Join(has, ", "))
	}
	return owner.NewOptimizer(s, values, gradients)
}
