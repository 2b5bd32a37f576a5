// Package hosted checks that models, criteria and hooks obey their contracts, wherever they run,
// and names them in errors.
package hosted

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// checkedModel wraps a model in the process that holds it. checkedModel checks the model's calls
// against the contract before any other code relies on them. So a model reports the same errors in
// its trainer's process and behind any transport.
type checkedModel struct {
	sdk.Model
	name      string // for errors
	emissions Emissions
	// values and gradients are the tensors that the model was given. The model gets lists of its own,
	// handedValues and handedGradients. So checkedModel notices a model that replaces a tensor.
	values, handedValues       []tensor.Tensor
	gradients, handedGradients []*tensor.Gradient
	bound                      []tensor.Gradient

	next    func(parameter int) // emit of the current backward pass
	emitted func(parameter int) // the emit function that the model gets; created once
	err     error               // the first error; after it, nothing is emitted
}

// FeatureModel is a checkedModel whose model is an sdk.FeatureModel.
type FeatureModel struct{ *checkedModel }

// NewModel builds and wraps the model that choice names.
func NewModel(p *process.Process, choice process.Choice, env sdk.ModelEnv) (sdk.Model, error) {
	env.Recorder = p.Recorder
	model, err := process.Build[sdk.Model](p, choice, env)
	if err != nil {
		return nil, err
	}
	return hostModel(model, fmt.Sprintf("model %s", choice.Key)), nil
}

func hostModel(model sdk.Model, name string) sdk.Model {
	h := &checkedModel{Model: model, name: name, emissions: NewEmissions(name, model.Parameters())}
	h.emitted = h.emit
	if _, ok := model.(sdk.FeatureModel); ok {
		return FeatureModel{h}
	}
	return h
}

// Facts implements Describer if the wrapped model does.
func (m *checkedModel) Facts() map[string]string { return process.Facts(nil, m.Model) }

// PassFacts implements PassDescriber if the wrapped model does.
func (m *checkedModel) PassFacts() map[string]string { return process.PassFacts(nil, m.Model) }

func (m *checkedModel) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.values, m.handedValues = values, slices.Clone(values)
	m.gradients, m.handedGradients = gradients, slices.Clone(gradients)
	m.bound = make([]tensor.Gradient, len(gradients))
	for k, g := range gradients {
		m.bound[k] = *g
	}
	return fault.Of(m.name, "Bind", m.Model.Bind(m.handedValues, m.handedGradients))
}

func (m *checkedModel) Initialize(seed uint64) {
	m.Model.Initialize(seed)
	for k := range m.values {
		if m.err == nil && !m.values[k].SameData(m.handedValues[k]) {
			m.err =
				fmt.Errorf("%s put another tensor, of %d values, in the place of parameter %s: it must write the %d values that it was bound to",
					m.name, len(m.handedValues[k].Data), m.emissions.specs[k].Name, len(m.values[k].Data))
		}
	}
}

// Failure returns the error of Initialize, which cannot return one itself.
func (m *checkedModel) Failure() error { return m.err }

// FailureOf returns the error of a model's last Initialize, if the model records that error.
func FailureOf(m sdk.Model) error {
	if m, ok := m.(interface{ Failure() error }); ok {
		return m.Failure()
	}
	return nil
}

func (m *checkedModel) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	if m.err != nil {
		return tensor.Tensor{}, m.err
	}
	out, err := m.Model.Forward(b)
	return m.checkOutput(b, out, fault.Of(m.name, "Forward", err))
}

// Evaluate implements sdk.EvaluatingModel, whether or not the wrapped model does.
func (m *checkedModel) Evaluate(b *sdk.Batch) (tensor.Tensor, error) {
	if m.err != nil {
		return tensor.Tensor{}, m.err
	}
	out, err := sdk.Evaluator(m.Model)(b)
	return m.checkOutput(b, out, fault.Of(m.name, "Evaluate", err))
}

// StepOf returns the checked Step method of a model, or nil if the model is not an
// sdk.SteppingModel.
func StepOf(m sdk.Model) func() error {
	h, ok := m.(interface{ checked() *checkedModel })
	if !ok {
		return nil
	}
	model, ok := h.checked().Model.(sdk.SteppingModel)
	if !ok {
		return nil
	}
	name := h.checked().name
	return func() error { return fault.Of(name, "Step", model.Step()) }
}

func (m *checkedModel) checked() *checkedModel { return m }

// Wrapped implements layout.Wrapper.
func (m *checkedModel) Wrapped() sdk.Model { return m.Model }

// checkOutput returns an error if the output is invalid.
func (m *checkedModel) checkOutput(b *sdk.Batch, out tensor.Tensor, err error) (tensor.Tensor, error) {
	if err != nil {
		return out, err
	}
	if err := layout.CheckOutput(out); err != nil {
		return out, fmt.Errorf("%s: %w", m.name, err)
	}
	if out.Shape[0] != b.Size() {
		return out, fmt.Errorf("%s answered a batch of %d with an output of %d x %d", m.name, b.Size(), out.Shape[0],
			out.Shape[1])
	}
	return out, nil
}

func (m *checkedModel) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	m.begin(emit)
	return m.end("Backward", m.Model.Backward(outputGradient, m.emitted))
}

// BackwardInput implements sdk.FeatureModel.
func (m FeatureModel) BackwardInput(outputGradient tensor.Tensor, inputGradient []float32,
	emit func(parameter int)) error {
	m.begin(emit)
	return m.end("BackwardInput", m.Model.(sdk.FeatureModel).BackwardInput(outputGradient, inputGradient, m.emitted))
}

func (m *checkedModel) begin(emit func(parameter int)) {
	m.emissions.Begin()
	m.next = emit
}

// emit passes a gradient on, unless this gradient or an earlier one was invalid.
func (m *checkedModel) emit(parameter int) {
	if m.err == nil {
		m.err = m.emissions.Add(parameter)
	}
	if m.err == nil {
		m.err = m.checkGradient(parameter)
	}
	if m.err == nil {
		m.next(parameter)
	}
}

func (m *checkedModel) end(method string, err error) error {
	err = fault.Of(m.name, method, err)
	if err == nil && m.err == nil {
		m.err = m.emissions.End()
	}
	if err == nil {
		err = m.err
	}
	return err
}

// checkGradient reports an invalid gradient. A gradient must fill its bound memory, and a sparse
// one must name rows of its table.
func (m *checkedModel) checkGradient(k int) error {
	g, bound, spec := m.handedGradients[k], &m.bound[k], &m.emissions.specs[k]
	switch {
	case g != m.gradients[k] || !g.SameStorage(bound):
		return fmt.Errorf("%s replaced the storage of the gradient of parameter %s: it must write into the memory that it was bound to",
			m.name, spec.Name)
	case g.Width != bound.Width:
		return fmt.Errorf("%s emitted a gradient of width %d for parameter %s, whose width is %d", m.name, g.Width,
			spec.Name, bound.Width)
	case !spec.Sparse && (len(g.Values) != len(bound.Values) || len(g.Rows) > 0):
		return fmt.Errorf(
			"%s emitted a gradient of %d values and %d rows for parameter %s, which has %d values and is dense",
			m.name, len(g.Values), len(g.Rows), spec.Name, len(bound.Values))
	case !spec.Sparse:
		return nil
	case len(g.Values) != len(g.Rows)*g.Width:
		return fmt.Errorf("%s emitted a gradient of %d values for %d rows of parameter %s, whose width is %d", m.name,
			len(g.Values), len(g.Rows), spec.Name, g.Width)
	}
	if err := tensor.CheckRows(g.Rows, spec.Shape[0]); err != nil {
		return fmt.Errorf("%s emitted a gradient of parameter %s with %w", m.name, spec.Name, err)
	}
	return nil
}
