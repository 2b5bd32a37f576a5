package sdk

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Criterion is a loss function. Outputs and their gradients lie in the memory of the process's
// engine, and targets in ordinary memory. A criterion that accepts numeric targets is a
// FloatCriterion.
type Criterion interface {
	// Forward returns the mean loss of a batch. output is [batch, classes]
	// and must stay unchanged until Backward; targets has one class per row.
	Forward(output tensor.Tensor, targets []int64) (float64, error)
	// Backward writes the gradient of the last loss with respect to output into outputGradient.
	// outputGradient has output's shape.
	Backward(outputGradient tensor.Tensor) error
}

// CriterionEnv holds the facts about a run that its criterion gets.
type CriterionEnv struct {
	MaxBatch int // the run's --batch-size; batches that the data cuts itself may be larger
	Recorder *Recorder
	// Engine owns the memory of outputs and their gradients.
	Engine engine.Engine
}

// TargetKind is the kind of targets that a criterion takes; "" means ClassTargets.
type TargetKind string

// The kinds of targets. If the data has classes, a criterion of any kind gets the classes. With
// NumberTargets and ShareTargets, the criterion treats classes as numbers.
const (
	ClassTargets       TargetKind = "classes"       // integers from 0
	NumberTargets      TargetKind = "numbers"       // finite numbers, one for each output
	ShareTargets       TargetKind = "shares"        // finite numbers from 0 to 1, one for each output
	ProbabilityTargets TargetKind = "probabilities" // a probability for each class, with sum 1; or classes
)

// TargetKinds lists all kinds of targets.
var TargetKinds = []TargetKind{ClassTargets, NumberTargets, ShareTargets, ProbabilityTargets}

// OrClasses returns k, or ClassTargets if k is "".
func (k TargetKind) OrClasses() TargetKind {
	if k == "" {
		return ClassTargets
	}
	return k
}

// sumTolerance is the maximum deviation of a sum of probabilities from 1. sumTolerance allows for
// the rounding of float32 and for numbers written with three digits.
const sumTolerance = 1e-3

// CheckRow returns an error if the targets of one output row are invalid. position is the index of
// the wrong target, or -1 if the row as a whole is wrong.
func (k TargetKind) CheckRow(row []float32) (position int, err error) {
	sum := 0.0
	for i, v := range row {
		switch {
		case v-v != 0: // v-v is 0 for every finite v
			return i, fmt.Errorf("target %v is not finite", v)
		case k == ShareTargets && !(v >= 0 && v <= 1), k == ProbabilityTargets && !(v >= 0):
			return i, fmt.Errorf("target %v is not from 0 to 1", v)
		}
		sum += float64(v)
	}
	if k == ProbabilityTargets && math.Abs(sum-1) > sumTolerance {
		return -1, fmt.Errorf("the targets add up to %.6g, but probabilities of the classes must add up to 1", sum)
	}
	return 0, nil
}

// Takes describes in words the targets that a criterion of kind k takes.
func (k TargetKind) Takes() string {
	switch k {
	case NumberTargets:
		return "numbers, one for each output of the model"
	case ShareTargets:
		return "numbers from 0 to 1, one for each output of the model"
	case ProbabilityTargets:
		return "classes, which are integers from 0, or a probability of each class"
	default:
		return "classes, which are integers from 0"
	}
}

// FloatCriterion is a Criterion whose targets may also be numbers. WithTargets declares its part.
type FloatCriterion interface {
	Criterion
	// ForwardFloats is like Forward, for numeric targets of shape [batch, targets of a row].
	ForwardFloats(output tensor.Tensor, targets []float32) (float64, error)
}

// Loss returns the mean loss of a batch. For numeric targets, Loss calls the criterion's
// ForwardFloats, otherwise Forward.
func Loss(c Criterion, output tensor.Tensor, b *Batch) (float64, error) {
	if b.TargetWidth == 0 {
		return c.Forward(output, b.Targets)
	}
	floats, ok := c.(FloatCriterion)
	if !ok {
		return 0, errNoFloats
	}
	return floats.ForwardFloats(output, b.FloatTargets)
}

var errNoFloats = fmt.Errorf("the criterion takes %s, but the samples have numbers as targets", ClassTargets.Takes())
