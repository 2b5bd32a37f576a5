package layout

import "github.com/psbench/psbench/sdk"

// Model describes a model to other processes: its tensors and its inputs.
type Model struct {
	Parameters []sdk.ParameterSpec
	Inputs     sdk.InputSpec
	// FeatureGradient reports whether the model is an sdk.FeatureModel.
	FeatureGradient bool
	// Steps reports whether the model is an sdk.SteppingModel, Evaluates whether it is an
	// sdk.EvaluatingModel.
	Steps, Evaluates bool
}

// Wrapper is a model that wraps another model.
type Wrapper interface{ Wrapped() sdk.Model }

// Describe returns the description of a model.
func Describe(m sdk.Model) *Model {
	d := &Model{Parameters: m.Parameters(), Inputs: m.Inputs()}
	if w, ok := m.(Wrapper); ok {
		m = w.Wrapped()
	}
	_, d.FeatureGradient = m.(sdk.FeatureModel)
	_, d.Steps = m.(sdk.SteppingModel)
	_, d.Evaluates = m.(sdk.EvaluatingModel)
	d.Inputs.Targets = max(1, d.Inputs.Targets)
	return d
}
