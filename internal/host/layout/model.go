package layout

import "github.com/psbench/psbench/sdk"

// Model is what others know of a model: its tensors and what it takes.
type Model struct {
	Parameters []sdk.ParameterSpec
	Inputs     sdk.InputSpec
	// FeatureGradient says that it is an sdk.FeatureModel.
	FeatureGradient bool
	// Steps says that it is an sdk.SteppingModel, Evaluates that it is an sdk.EvaluatingModel.
	Steps, Evaluates bool
}

// Wrapper is a model around another one.
type Wrapper interface{ Wrapped() sdk.Model }

// Describe asks a model.
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
