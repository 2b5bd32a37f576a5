// Package conformance provides the parts with which `psbench plugin check` tests other parts in a run. The
// package's trainers carry out points of the contract instead of training. The package's model has the parameter
// sizes that tests of hooks and servers need. The package's data suits any model. No registry names these parts.
package conformance

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/inrun"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// Parts lists the parts of this package.
func Parts() []sdk.Part {
	ordered := func(part sdk.Part, key string) sdk.Part {
		part.Key = key
		return harness.Ordered(part)
	}
	newPoint := func(s inrun.Settings, env sdk.TrainerEnv) (sdk.Trainer, error) { return newTrainer(s, env) }
	newModel := func(s modelSettings, _ sdk.ModelEnv) (sdk.Model, error) {
		return &model{toys.Sizes{DenseOnly: s.DenseOnly, Large: s.Large}, s.inputs()}, nil
	}
	newData := func(_ struct{}, env sdk.DataEnv) (sdk.Data, error) { return &data{env: env}, nil }
	return []sdk.Part{
		ordered(toys.Matrix, inrun.OrderedKey), ordered(toys.Squares, inrun.OrderedKey),
		ordered(toys.Group, inrun.OrderedKey), ordered(toys.Push, inrun.PushKey),
		sdk.NewTrainer(inrun.Key, inrun.Settings{}, newPoint),
		sdk.NewParameterTrainer(inrun.ParametersKey, inrun.Settings{}, newPoint),
		sdk.NewTableTrainer(inrun.TablesKey, inrun.Settings{}, newLookingUp),
		sdk.NewTrainer(inrun.DataKey, struct{}{}, newReader),
		sdk.NewModel(inrun.Key, modelSettings{}, newModel),
		sdk.NewData(inrun.Key, struct{}{}, newData),
	}
}

// modelSettings describe the model and the inputs that it claims to take.
type modelSettings struct {
	DenseOnly bool  `json:"dense_only" doc:"leave the sparse parameter out"`
	Large     bool  `json:"large" doc:"parameters are of several chunks"`
	Rows      int   `json:"rows" doc:"bound of the indices"`
	Features  int   `json:"features" doc:"numbers of a sample"`
	Classes   int   `json:"classes" doc:"bound of the targets; 0: those of the sizes"`
	Targets   int   `json:"targets" doc:"targets of a sample"`
	Tables    []int `json:"tables" doc:"bounds of the indices, by table"`
}

// inputs returns nil if the settings do not describe the inputs.
func (s *modelSettings) inputs() *sdk.InputSpec {
	if s.Classes == 0 {
		return nil
	}
	return &sdk.InputSpec{Rows: s.Rows, Features: s.Features, Classes: s.Classes, Targets: s.Targets, Tables: s.Tables}
}

// model accepts any input and learns nothing.
type model struct {
	toys.Sizes
	inputs *sdk.InputSpec
}

func (m *model) Inputs() sdk.InputSpec {
	if m.inputs == nil {
		return m.Sizes.Inputs()
	}
	return *m.inputs
}

func (m *model) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	return tensor.New(b.Size(), max(2, m.Inputs().Classes)), nil
}

// data provides samples that any model accepts.
type data struct {
	env sdk.DataEnv
	in  sdk.InputSpec
}

func (d *data) Fit(in sdk.InputSpec) { d.in = in }

func (d *data) Load() (*sdk.Samples, error) {
	return &sdk.Samples{Batch: *harness.Batch(d.in, harness.Batches*d.env.Trainers*d.env.BatchSize, 0)}, nil
}
