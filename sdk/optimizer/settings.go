package optimizer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/quote"
)

// The names of the optimizers.
const (
	SGD            = "sgd"
	Adam           = "adam"
	Adagrad        = "adagrad"
	RowwiseAdagrad = "rowwise_adagrad"
)

// Settings choose an optimizer. Parts with an optimizer embed Settings in their own settings.
type Settings struct {
	Optimizer   string  `json:"optimizer" doc:"sgd, adam, adagrad or rowwise_adagrad"`
	LR          float64 `json:"lr" doc:"learning rate"`
	Momentum    float64 `json:"momentum" doc:"momentum of sgd, from 0 to below 1"`
	Nesterov    bool    `json:"nesterov" doc:"whether sgd uses Nesterov's momentum"`
	WeightDecay float64 `json:"weight_decay" doc:"L2 regularization: this share of the parameter is added to its gradient"`
	Beta1       float64 `json:"beta1" doc:"decay of adam's mean of gradients, from 0 to below 1"`
	Beta2       float64 `json:"beta2" doc:"decay of adam's mean of squared gradients, from 0 to below 1"`
	Epsilon     float64 `json:"eps" doc:"keeps the divisor of adam and of adagrad above 0; 0: 1e-8 of adam, 1e-10 of adagrad"`
}

// Defaults returns the settings of SGD with lr and momentum, and PyTorch's defaults for the others.
func Defaults(lr, momentum float64) Settings {
	return Settings{Optimizer: SGD, LR: lr, Momentum: momentum, Beta1: 0.9, Beta2: 0.999}
}

// uses lists the settings of each optimizer, except the learning rate.
var uses = map[string][]string{
	SGD:            {"momentum", "nesterov", "weight_decay"},
	Adam:           {"weight_decay", "beta1", "beta2", "eps"},
	Adagrad:        {"weight_decay", "eps"},
	RowwiseAdagrad: {"weight_decay", "eps"},
}

// Check returns an error for a value out of range. Check also returns an error for a setting that
// the optimizer does not use, unless its value is 0 or the part's default. The error begins with
// the name of the setting.
func (s Settings) Check(defaults Settings) error {
	if err := s.checkName(); err != nil {
		return err
	}
	for _, number := range []struct {
		name  string
		value float64
	}{{"lr", s.LR}, {"weight_decay", s.WeightDecay}, {"eps", s.Epsilon}} {
		if v := float64(float32(number.value)); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v but must be a finite number as a float32, which it is used as", number.name,
				number.value)
		}
	}
	if float32(s.LR) <= 0 {
		return fmt.Errorf("lr is %v but must be above 0", s.LR)
	}
	for _, share := range []struct {
		name  string
		value float64
	}{{"momentum", s.Momentum}, {"beta1", s.Beta1}, {"beta2", s.Beta2}} {
		if !(share.value >= 0 && float32(share.value) < 1) {
			return fmt.Errorf("%s is %v but must be from 0 to below 1", share.name, share.value)
		}
	}
	if s.WeightDecay < 0 {
		return fmt.Errorf("weight_decay is %v but must be at least 0", s.WeightDecay)
	}
	if s.Epsilon != 0 && s.Epsilon < math.SmallestNonzeroFloat32 {
		return fmt.Errorf("eps is %v but must be 0, which stands for the optimizer's own, or above", s.Epsilon)
	}
	if err := s.checkUse(defaults); err != nil {
		return err
	}
	if s.Nesterov && s.Momentum == 0 {
		return fmt.Errorf("nesterov is true but momentum is 0: Nesterov's momentum needs one above 0")
	}
	return nil
}

func (s Settings) checkName() error {
	if uses[s.Optimizer] == nil {
		return fmt.Errorf("optimizer is %s but must be %s, %s, %s or %s", quote.String(s.Optimizer), SGD, Adam, Adagrad,
			RowwiseAdagrad)
	}
	return nil
}

func (s Settings) checkUse(defaults Settings) error {
	for _, o := range []struct {
		name            string
		value, standard any
	}{
		{"momentum", s.Momentum, defaults.Momentum}, {"nesterov", s.Nesterov, defaults.Nesterov},
		{"weight_decay", s.WeightDecay, defaults.WeightDecay},
		{"beta1", s.Beta1, defaults.Beta1}, {"beta2", s.Beta2, defaults.Beta2}, {"eps", s.Epsilon, defaults.Epsilon},
	} {
		unused := !slices.Contains(uses[s.Optimizer], o.name)
		if unused && o.value != o.standard && o.value != 0.0 && o.value != false {
			return fmt.Errorf("%s is %v but the optimizer %s has none: its settings are lr, %s",
				o.name, o.value, s.Optimizer, strings.Join(uses[s.Optimizer], ", "))
		}
	}
	return nil
}

// checkDecay returns an error if weight decay is used with a sparse gradient.
func (s Settings) checkDecay(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	for k, g := range gradients {
		if s.WeightDecay != 0 && g.Sparse() {
			return fmt.Errorf("weight_decay is %v but must be 0: the gradient of parameter %d, of shape %v, is sparse, and rows without a gradient would not decay",
				s.WeightDecay, k, values[k].Shape)
		}
	}
	return nil
}

// epsilon returns the number that keeps the divisor above 0.
func (s *Settings) epsilon() float64 {
	switch {
	case s.Epsilon != 0:
		return s.Epsilon
	case s.Optimizer == Adam:
		return 1e-8
	default:
		return 1e-10
	}
}
