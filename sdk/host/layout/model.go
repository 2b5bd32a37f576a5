package layout

import "github.com/psbench/psbench/sdk"

// Model is what others know of a model: its tensors and what it takes.
type Model struct {
	Parameters []sdk.ParameterSpec
	Inputs     sdk.InputSpec
	// FeatureGradient says that it is an sdk.FeatureModel.
	FeatureGradient bool
}

// Describe asks a model.
func Describe(m sdk.Model) *Model {
	_, learnt := m.(sdk.FeatureModel)
	d := &Model{Parameters: m.Parameters(), Inputs: m.Inputs(), FeatureGradient: learnt}
	d.Inputs.Targets = max(1, d.Inputs.Targets)
	return d
}
