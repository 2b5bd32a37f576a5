package hosttest

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// The toy parts form a complete training job in one process. The toy model multiplies a table of
// four rows by a dense weight; the table's gradient is sparse.

// ToySettings choose the call of a toy part that fails.
type ToySettings struct {
	Fail string `json:"fail"` // name of the call that fails
}

// ErrToy is the error of a failing toy part.
var ErrToy = errors.New("the toy is broken")

func (s ToySettings) check(call string) error {
	if s.Fail == call {
		return ErrToy
	}
	return nil
}

// ToyModel multiplies rows of a table by a dense weight. The table's gradient is sparse.
type ToyModel struct {
	ToySettings
	Values    []tensor.Tensor
	Gradients []*tensor.Gradient
	batch     *sdk.Batch
	hidden    []float32
	Output    tensor.Tensor
}

// Parameters implements sdk.Model.
func (m *ToyModel) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "table", Shape: []int{4, 2}, Sparse: true}, {Name: "weight", Shape: []int{2}}}
}

// Inputs implements sdk.Model.
func (m *ToyModel) Inputs() sdk.InputSpec { return sdk.InputSpec{Rows: 4, Classes: 2} }

// Bind implements sdk.Model.
func (m *ToyModel) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.Values, m.Gradients = v, g
	return nil
}

// Initialize implements sdk.Model.
func (m *ToyModel) Initialize(seed uint64) {
	for k, v := range m.Values {
		for i := range v.Data {
			v.Data[i] = float32(math.Sin(float64(seed) + float64(10*k+i)))
		}
	}
}

// Forward returns the sum of each bag's rows, multiplied by the weight.
func (m *ToyModel) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = b
	m.hidden = make([]float32, 2*b.Size())
	m.Output = tensor.New(b.Size(), 2)
	for i := range b.Size() {
		for _, row := range b.Bag(i) {
			for j := range 2 {
				m.hidden[2*i+j] += m.Values[0].Data[2*int(row)+j]
			}
		}
		for j := range 2 {
			m.Output.Data[2*i+j] = m.hidden[2*i+j] * m.Values[1].Data[j]
		}
	}
	return m.Output, m.check("forward")
}

// Backward implements sdk.Model.
func (m *ToyModel) Backward(up tensor.Tensor, emit func(int)) error {
	clear(m.Gradients[1].Values)
	table := make([]float32, 8)
	for i := range m.batch.Size() {
		for j := range 2 {
			m.Gradients[1].Values[j] += up.Data[2*i+j] * m.hidden[2*i+j]
			for _, row := range m.batch.Bag(i) {
				table[2*int(row)+j] += up.Data[2*i+j] * m.Values[1].Data[j]
			}
		}
	}
	emit(1)
	if err := m.check("backward"); err != nil {
		return err
	}
	rows := slices.Clone(m.batch.Indices)
	slices.Sort(rows)
	rows = slices.Compact(rows)
	g := m.Gradients[0]
	if err := g.SetRows(len(rows)); err != nil {
		return err
	}
	for i, row := range rows {
		g.Rows[i] = int32(row) // #nosec G115 -- a row of four
		copy(g.Values[2*i:2*i+2], table[2*row:])
	}
	emit(0)
	return nil
}

// ToyCriterion returns half of the squared distance to the target.
type ToyCriterion struct {
	ToySettings
	difference []float32
}

// Forward implements sdk.Criterion.
func (c *ToyCriterion) Forward(out tensor.Tensor, targets []int64) (float64, error) {
	c.difference = slices.Clone(out.Data)
	loss := 0.0
	for i, target := range targets {
		c.difference[2*i+int(target)]--
		loss += float64(c.difference[2*i])*float64(c.difference[2*i]) + float64(c.difference[2*i+1])
	}
	return loss, c.check("loss")
}

// Backward implements sdk.Criterion.
func (c *ToyCriterion) Backward(g tensor.Tensor) error {
	copy(g.Data, c.difference)
	return c.check("gradient")
}

// toyHook halves a gradient in place.
type toyHook struct {
	ToySettings
	reduced *sdk.Series
}

func (h *toyHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] /= 2
	}
	h.reduced.Record(state.Key(b.Index), 0, 0)
	return comm.Completed(h.check("reduce"))
}

func (h *toyHook) Reset() {}

// ToyTrainer takes gradient steps and uses one bucket per parameter.
type ToyTrainer struct{ Parts sdk.TrainerParts }

// Plan implements sdk.Trainer.
func (t *ToyTrainer) Plan([]sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return []tensor.BucketSpec{
		{Parameters: []tensor.Span{{Parameter: 1, Elements: 2}}, Elements: 2},
		{Index: 1, Parameters: []tensor.Span{{Elements: 8}}, Elements: 8, Sparse: true, TableRows: 4, Width: 2,
			Capacity: 4},
	}, nil
}

// Attach implements sdk.Trainer.
func (t *ToyTrainer) Attach(parts sdk.TrainerParts) error { t.Parts = parts; return nil }

// Reset implements sdk.Trainer.
func (t *ToyTrainer) Reset() error { t.Parts.Model.Initialize(3); return nil }

type toyState int64

func (s toyState) Batch() int64           { return int64(s) }
func (s toyState) Key(bucket int) sdk.Key { return sdk.Key{A: int64(s), B: int64(bucket)} }

// Train implements sdk.Trainer.
func (t *ToyTrainer) Train(ctx context.Context, report sdk.PassReport) error {
	report.Epoch(0)
	for i := range t.Parts.Batches.Len() {
		b, err := t.Parts.Batches.Next()
		if err != nil {
			return err
		}
		out, err := t.Parts.Model.Forward(b)
		if err != nil {
			return err
		}
		loss, err := t.Parts.Criterion.Forward(out, b.Targets)
		if err != nil {
			return err
		}
		up := tensor.New(out.Shape...)
		if err := t.Parts.Criterion.Backward(up); err != nil {
			return err
		}
		var futures []*comm.Future
		err = t.Parts.Model.Backward(up, func(k int) {
			futures = append(futures, t.Parts.Hook.Reduce(toyState(i), t.Parts.Buckets[1-k]))
		})
		for _, f := range futures {
			if ferr := f.Wait(); err == nil {
				err = ferr
			}
		}
		if err != nil {
			return err
		}
		t.step()
		report.Loss(loss)
	}
	return t.Parts.Evaluation.Run(ctx, 0, t.Parts.Model.Forward, t.Parts.Criterion)
}

func (t *ToyTrainer) step() {
	for j, d := range t.Parts.Gradients[1].Values {
		t.Parts.Values[1].Data[j] -= d / 8
	}
	table := t.Parts.Gradients[0]
	for i, row := range table.Rows {
		for j := range 2 {
			t.Parts.Values[0].Data[2*int(row)+j] -= table.Values[2*i+j] / 8
		}
	}
}

// ToyData loads ToySamples.
type ToyData struct{}

// Load implements sdk.Data.
func (ToyData) Load() (*sdk.Samples, error) { return ToySamples(), nil }

// ToySamples returns seven samples. Each sample's bag names rows of ToyModel.
func ToySamples() *sdk.Samples {
	return Samples([][]int64{{0, 1}, {2}, {}, {3, 3, 0}, {1}, {2, 0}, {3}}, 0, 1, 0, 1, 1, 0, 1)
}

// ToyParts holds all toy parts, under the keys toy and features.
var ToyParts = []sdk.Part{
	sdk.NewTrainer("toy", struct{}{}, func(struct{}, sdk.TrainerEnv) (sdk.Trainer, error) {
		return &ToyTrainer{}, nil
	}),
	sdk.NewModel("toy", ToySettings{}, func(s ToySettings, _ sdk.ModelEnv) (sdk.Model, error) {
		return &ToyModel{ToySettings: s}, nil
	}),
	sdk.NewCriterion("toy", ToySettings{}, func(s ToySettings, _ sdk.CriterionEnv) (sdk.Criterion, error) {
		return &ToyCriterion{ToySettings: s}, nil
	}),
	sdk.NewHook("toy", ToySettings{}, func(s ToySettings, e sdk.HookEnv) (sdk.Hook, error) {
		return &toyHook{s, e.Recorder.Series("hook", "toy")}, nil
	}),
	sdk.NewData("toy", struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) { return ToyData{}, nil }),

	sdk.NewTrainer("features", struct{}{}, func(struct{}, sdk.TrainerEnv) (sdk.Trainer, error) {
		return &FeatureTrainer{}, nil
	}),
	sdk.NewModel("features", ToySettings{}, func(s ToySettings, e sdk.ModelEnv) (sdk.Model, error) {
		return &FeatureModel{ToySettings: s, First: e.FirstTensor}, nil
	}),
	sdk.NewCriterion("features", ToySettings{}, func(s ToySettings, _ sdk.CriterionEnv) (sdk.Criterion, error) {
		return &ToyCriterion{ToySettings: s}, nil
	}),
	sdk.NewHook("features", ToySettings{}, func(s ToySettings, e sdk.HookEnv) (sdk.Hook, error) {
		return &toyHook{s, e.Recorder.Series("hook", "toy")}, nil
	}),
	sdk.NewData("features", struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) { return featureData{}, nil }),
}
