package optimizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Engine is an engine with its own optimizers. An engine whose memory Go cannot access needs its
// own optimizers to update parameters.
type Engine interface {
	engine.Engine
	// Optimizers returns the names of the engine's optimizers.
	Optimizers() []string
	// NewOptimizer returns one of the engine's optimizers, as described at New. The settings have
	// passed all checks.
	NewOptimizer(s Settings, values []tensor.Tensor, gradients []*tensor.Gradient) (Optimizer, error)
}

// newElsewhere makes the engine create an optimizer for parameters that Go cannot access.
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
