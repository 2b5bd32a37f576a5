package enginetest

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Parts are parts that compute in Go, as kernels of a Dark engine: a plugin serves them on one.
// Trainers, hooks and servers of gradients and parameters work on any engine as they are.
func Parts(parts []sdk.Part) []sdk.Part {
	var out []sdk.Part
	for _, p := range parts {
		switch {
		case p.InTrainer():
		case p.Kind == sdk.KindModel:
			p = p.Around(buildModel)
		case p.Kind == sdk.KindCriterion:
			p = p.Around(buildCriterion)
		case p.Serves == sdk.ServiceTables:
			p = p.Around(buildTable)
		}
		out = append(out, p)
	}
	return out
}

func buildModel(env any, inner func(any) (any, error)) (any, error) {
	e := env.(sdk.ModelEnv)
	d := e.Engine.(*Dark)
	e.Engine = d.Inside()
	made, err := inner(e)
	if err != nil {
		return nil, err
	}
	m := &model{Model: made.(sdk.Model), engine: d}
	if learnt, ok := made.(sdk.FeatureModel); ok {
		return &featureModel{m, learnt}, nil
	}
	return m, nil
}

// model is a model with the border around it.
type model struct {
	sdk.Model
	engine         *Dark
	gradients, lit []*tensor.Gradient
}

// Facts implements sdk.Describer.
func (m *model) Facts() map[string]string {
	if d, ok := m.Model.(sdk.Describer); ok {
		return d.Facts()
	}
	return nil
}

// Bind implements sdk.Model.
func (m *model) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.gradients, m.lit = gradients, m.engine.litGradients(gradients)
	return m.Model.Bind(m.engine.litTensors(values), m.lit)
}

// Forward implements sdk.Model.
func (m *model) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	out, err := m.Model.Forward(b)
	if err != nil {
		return out, err
	}
	return m.engine.darkTensor(out), nil
}

// Backward implements sdk.Model.
func (m *model) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	return m.Model.Backward(m.engine.litTensor(outputGradient), m.emitting(emit))
}

// emitting tells of the rows of sparse gradients before it emits them.
func (m *model) emitting(emit func(parameter int)) func(int) {
	return func(k int) {
		if g := m.gradients[k]; g.Sparse() {
			if err := g.SetRows(len(m.lit[k].Rows)); err != nil {
				panic(err) // both have the same room
			}
		}
		emit(k)
	}
}

// featureModel is a model whose features are learnt too. The features lie in ordinary memory.
type featureModel struct {
	*model
	learnt sdk.FeatureModel
}

// BackwardInput implements sdk.FeatureModel.
func (m *featureModel) BackwardInput(outputGradient tensor.Tensor, inputGradient []float32,
	emit func(parameter int)) error {
	return m.learnt.BackwardInput(m.engine.litTensor(outputGradient), inputGradient, m.emitting(emit))
}

func buildCriterion(env any, inner func(any) (any, error)) (any, error) {
	e := env.(sdk.CriterionEnv)
	d := e.Engine.(*Dark)
	e.Engine = d.Inside()
	made, err := inner(e)
	if err != nil {
		return nil, err
	}
	return &criterion{made.(sdk.Criterion), d}, nil
}

// criterion is a criterion with the border around it.
type criterion struct {
	inner  sdk.Criterion
	engine *Dark
}

// Forward implements sdk.Criterion.
func (c *criterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	return c.inner.Forward(c.engine.litTensor(output), targets)
}

// Backward implements sdk.Criterion.
func (c *criterion) Backward(outputGradient tensor.Tensor) error {
	return c.inner.Backward(c.engine.litTensor(outputGradient))
}

func buildTable(env any, inner func(any) (any, error)) (any, error) {
	e := env.(sdk.TableEnv)
	d := e.Engine.(*Dark)
	e.Engine = d.Inside()
	made, err := inner(e)
	if err != nil {
		return nil, err
	}
	return &table{made.(sdk.TableServer), d}, nil
}

// table is a server of a table in the light. Calls are the host's.
type table struct {
	sdk.TableServer
	engine *Dark
}

var _ sdk.Holder = (*table)(nil)

// Held implements sdk.Holder: what is held lies in the dark.
func (t *table) Held() ([]sdk.ParameterSpec, []tensor.Tensor) {
	specs, values := t.TableServer.(sdk.Holder).Held()
	var dark []tensor.Tensor
	for _, v := range values {
		dark = append(dark, t.engine.darkTensor(v))
	}
	return specs, dark
}
