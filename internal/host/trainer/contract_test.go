package trainer

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

// badModel is the toy model with a fault.
type badModel struct {
	hosttest.ToyModel
	bind       func(m *badModel)
	initialize func(m *badModel)
	forward    func(out *tensor.Tensor)
	emissions  func(m *badModel, emit func(int)) // used instead of the correct emissions
}

func (m *badModel) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	err := m.ToyModel.Bind(v, g)
	if m.bind != nil {
		m.bind(m)
	}
	return err
}

func (m *badModel) Initialize(seed uint64) {
	m.ToyModel.Initialize(seed)
	if m.initialize != nil {
		m.initialize(m)
	}
}

func (m *badModel) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	out, err := m.ToyModel.Forward(b)
	if m.forward != nil {
		m.forward(&out)
	}
	return out, err
}

func (m *badModel) Backward(up tensor.Tensor, emit func(int)) error {
	if m.emissions == nil {
		return m.ToyModel.Backward(up, emit)
	}
	if err := m.ToyModel.Backward(up, func(int) {}); err != nil {
		return err
	}
	m.emissions(m, emit)
	return nil
}

func emitting(parameters ...int) func(*badModel, func(int)) {
	return func(_ *badModel, emit func(int)) {
		for _, k := range parameters {
			emit(k)
		}
	}
}

// changed returns a backward pass that changes the table's and the weight's gradients and emits
// both.
func changed(change func(table, weight *tensor.Gradient)) func(*badModel, func(int)) {
	return func(m *badModel, emit func(int)) {
		change(m.Gradients[0], m.Gradients[1])
		emit(1)
		emit(0)
	}
}

// worldOf makes a world whose model build returns. The model runs in its trainer's process or in a
// companion.
func worldOf(t *testing.T, build func() sdk.Model, transport string, isolated ...sdk.Kind) *toyWorld {
	t.Helper()
	model := sdk.NewModel("toy", struct{}{}, func(struct{}, sdk.ModelEnv) (sdk.Model, error) { return build(), nil })
	return newWorldOf(t, append([]sdk.Part{model}, hosttest.ToyParts...), "toy", transport, "{}", isolated...)
}

// everywhere runs test with a part of this kind in its trainer's process and in a companion, over
// every transport.
func everywhere(t *testing.T, kind sdk.Kind, test func(t *testing.T, transport string, isolated ...sdk.Kind)) {
	t.Helper()
	for _, transport := range hosttest.Transports {
		t.Run(transport+" local", func(t *testing.T) { test(t, transport) })
		t.Run(transport+" companion", func(t *testing.T) { test(t, transport, kind) })
	}
}

// A model that breaks its contract gets the same error wherever it runs.
func TestModelsAreHeldToTheirContract(t *testing.T) {
	own := &tensor.Gradient{Values: make([]float32, 2)}
	cases := map[string]badModel{
		"emitted the gradient of parameter weight twice":           {emissions: emitting(1, 1, 0)},
		"without emitting the gradient of parameter table":         {emissions: emitting(1)},
		"without emitting the gradient of parameter weight":        {emissions: emitting(0)},
		"emitted the gradient of parameter 2 but has 2 parameters": {emissions: emitting(1, 2, 0)},
		"emitted the gradient of parameter -1":                     {emissions: emitting(-1)},

		"emitted a gradient of 1 values and 0 rows for parameter weight": {emissions: changed(func(_, weight *tensor.Gradient) { weight.Values = weight.Values[:1] })},
		"replaced the storage of the gradient of parameter weight":       {emissions: changed(func(_, weight *tensor.Gradient) { weight.Values = make([]float32, 2) })},
		"emitted a gradient of width 1 for parameter table":              {emissions: changed(func(table, _ *tensor.Gradient) { table.Width = 1 })},
		"for 1 rows of parameter table, whose width is 2":                {emissions: changed(func(table, _ *tensor.Gradient) { table.Rows, table.Values = table.Rows[:1], table.Values[:1] })},
		"emitted a gradient of parameter table with row 4 at place":      {emissions: changed(func(table, _ *tensor.Gradient) { table.Rows[len(table.Rows)-1] = 4 })},
		"replaced the storage of the gradient of parameter table":        {emissions: changed(func(table, _ *tensor.Gradient) { table.Rows = append([]int32{}, table.Rows...) })},
		"replaced the storage of the gradient":                           {bind: func(m *badModel) { m.Gradients[1] = own }},

		"put another tensor, of 1 values, in the place of parameter weight": {initialize: func(m *badModel) { m.Values[1].Data = m.Values[1].Data[:1] }},
		"put another tensor, of 2 values, in the place of parameter weight": {initialize: func(m *badModel) { m.Values[1] = tensor.New(2) }},

		"answered a batch of 2 with an output of 1 x 2": {forward: func(out *tensor.Tensor) { *out = tensor.New(1, 2) }},
		"needs 4 elements but holds 3":                  {forward: func(out *tensor.Tensor) { out.Data = out.Data[:3] }},
	}
	everywhere(t, sdk.KindModel, func(t *testing.T, transport string, isolated ...sdk.Kind) {
		for want, bad := range cases {
			w := worldOf(t, func() sdk.Model { m := bad; return &m }, transport, isolated...)
			w.reset(t)
			if _, err := w.trainer.Train(t.Context(), stop.Length{}); err == nil ||
				!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "model") {
				t.Errorf("want %q, got %v", want, err)
			}
		}
	})
}

// A model may emit its gradients in any order.
func TestEmissionOrderIsFree(t *testing.T) {
	want := newToyWorld(t, "unix", "{}").pass(t).Losses
	everywhere(t, sdk.KindModel, func(t *testing.T, transport string, isolated ...sdk.Kind) {
		w := worldOf(t, func() sdk.Model { return &badModel{emissions: emitting(0, 1)} }, transport, isolated...)
		for pass := range 2 {
			if got := w.pass(t).Losses; len(got) != len(want) || got[0] != want[0] || got[3] != want[3] {
				t.Errorf("pass %d has losses %v, want %v", pass, got, want)
			}
		}
	})
}
