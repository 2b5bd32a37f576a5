package inspect

import (
	"fmt"
	"math"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// NonFinite is what was found of NaN and infinite values in a pass; see proto.NonFinite.
type NonFinite struct {
	losses              int64
	epoch, batch        int64
	loss                float64
	Parameter, gradient string
}

// Note counts a loss that is not finite, and says whether it is the first.
func (n *NonFinite) Note(key sdk.Key, loss float64) (first bool) {
	if n.losses++; n.losses > 1 {
		return false
	}
	n.epoch, n.batch, n.loss = key.A, key.B, loss
	return true
}

// Inspect finds the first parameter with such a value, unless one is known.
func (n *NonFinite) Inspect(specs []sdk.ParameterSpec, values []tensor.Tensor) {
	for k := 0; k < len(values) && n.Parameter == ""; k++ {
		if !vec.AllFinite(values[k].Data) {
			n.Parameter = specs[k].Name
		}
	}
}

// InspectGradients finds the first gradient with such a value.
func (n *NonFinite) InspectGradients(specs []sdk.ParameterSpec, gradients []*tensor.Gradient) {
	for k := 0; k < len(gradients) && n.gradient == ""; k++ {
		if !vec.AllFinite(gradients[k].Values) {
			n.gradient = specs[k].Name
		}
	}
}

// ToProto is nil if nothing was found.
func (n *NonFinite) ToProto() *proto.NonFinite {
	if *n == (NonFinite{}) {
		return nil
	}
	return &proto.NonFinite{Epoch: n.epoch, Batch: n.batch, Loss: n.loss, Losses: n.losses, Parameter: n.Parameter, Gradient: n.gradient}
}

func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Describe says, as one sentence, what a process found.
func Describe(process string, n *proto.NonFinite) string {
	if n.GetLosses() == 0 {
		return fmt.Sprintf("%s: parameter %s is not finite at the end of the pass", process, quote.Word(n.GetParameter()))
	}
	var tensors []string
	if n.GetParameter() != "" {
		tensors = append(tensors, "parameter "+quote.Word(n.GetParameter()))
	}
	if n.GetGradient() != "" {
		tensors = append(tensors, "gradient "+quote.Word(n.GetGradient()))
	}
	what := "all parameters and gradients are finite"
	if tensors != nil {
		what = "not finite either: " + strings.Join(tensors, ", ")
	}
	return fmt.Sprintf("%s: the loss of epoch %d, batch %d is %v, the first of %d that are not finite; %s",
		process, n.GetEpoch(), n.GetBatch(), n.GetLoss(), n.GetLosses(), what)
}
