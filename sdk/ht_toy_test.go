package sdk

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// The toy parts make a whole world in one process: a table of four rows, whose
// gradient is sparse, times a dense weight.

type toySettings struct {
	Fail string `json:"fail"` // the call that fails
}

var errToy = errors.New("the toy is broken")

func (s toySettings) check(call string) error {
	if s.Fail == call {
		return errToy
	}
	return nil
}

type toyModel struct {
	toySettings
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	batch     *Batch
	hidden    []float32
	output    tensor.Tensor
}

func (m *toyModel) Parameters() []ParameterSpec {
	return []ParameterSpec{{Name: "table", Shape: []int{4, 2}, Sparse: true}, {Name: "weight", Shape: []int{2}}}
}
func (m *toyModel) Inputs() InputSpec { return InputSpec{Rows: 4, Classes: 2} }
func (m *toyModel) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.values, m.gradients = v, g
	return nil
}

func (m *toyModel) Initialize(seed uint64) {
	for k, v := range m.values {
		for i := range v.Data {
			v.Data[i] = float32(math.Sin(float64(seed) + float64(10*k+i)))
		}
	}
}

// Forward gives the sum of each bag's rows, times the weight.
func (m *toyModel) Forward(b *Batch) (tensor.Tensor, error) {
	m.batch = b
	m.hidden = make([]float32, 2*b.Size())
	m.output = tensor.New(b.Size(), 2)
	for i := range b.Size() {
		for _, row := range b.Bag(i) {
			for j := range 2 {
				m.hidden[2*i+j] += m.values[0].Data[2*int(row)+j]
			}
		}
		for j := range 2 {
			m.output.Data[2*i+j] = m.hidden[2*i+j] * m.values[1].Data[j]
		}
	}
	return m.output, m.check("forward")
}

func (m *toyModel) Backward(up tensor.Tensor, emit func(int)) error {
	clear(m.gradients[1].Values)
	table := make([]float32, 8)
	for i := range m.batch.Size() {
		for j := range 2 {
			m.gradients[1].Values[j] += up.Data[2*i+j] * m.hidden[2*i+j]
			for _, row := range m.batch.Bag(i) {
				table[2*int(row)+j] += up.Data[2*i+j] * m.values[1].Data[j]
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
	g := m.gradients[0]
	if err := g.SetRows(len(rows)); err != nil {
		return err
	}
	for i, row := range rows {
		g.Rows[i] = int32(row)
		copy(g.Values[2*i:2*i+2], table[2*row:])
	}
	emit(0)
	return nil
}

// toyCriterion is half of the squared distance to the target.
type toyCriterion struct {
	toySettings
	difference []float32
}

func (c *toyCriterion) Forward(out tensor.Tensor, targets []int64) (float64, error) {
	c.difference = slices.Clone(out.Data)
	loss := 0.0
	for i, target := range targets {
		c.difference[2*i+int(target)]--
		loss += float64(c.difference[2*i])*float64(c.difference[2*i]) + float64(c.difference[2*i+1])
	}
	return loss, c.check("loss")
}

func (c *toyCriterion) Backward(g tensor.Tensor) error {
	copy(g.Data, c.difference)
	return c.check("gradient")
}

// toyHook halves a gradient in place.
type toyHook struct {
	toySettings
	reduced *Series
}

func (h *toyHook) Reduce(state HookState, b *tensor.Bucket) *comm.Future {
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] /= 2
	}
	h.reduced.Record(state.Key(b.Index), 0, 0)
	return comm.Completed(h.check("reduce"))
}

// toyTrainer steps against the gradients, with one bucket per parameter.
type toyTrainer struct{ parts TrainerParts }

func (t *toyTrainer) Plan([]ParameterSpec) ([]tensor.BucketSpec, error) {
	return []tensor.BucketSpec{
		{Parameters: []tensor.Span{{Parameter: 1, Elements: 2}}, Elements: 2},
		{Index: 1, Parameters: []tensor.Span{{Elements: 8}}, Elements: 8, Sparse: true, TableRows: 4, Width: 2, Capacity: 4},
	}, nil
}
func (t *toyTrainer) Attach(parts TrainerParts) error { t.parts = parts; return nil }
func (t *toyTrainer) Reset() error                    { t.parts.Model.Initialize(3); return nil }

type toyState int64

func (s toyState) Batch() int64       { return int64(s) }
func (s toyState) Key(bucket int) Key { return Key{int64(s), int64(bucket)} }

func (t *toyTrainer) Train(ctx context.Context, report PassReport) error {
	report.Epoch(0)
	for i := range t.parts.Batches.Len() {
		b, err := t.parts.Batches.Next()
		if err != nil {
			return err
		}
		out, err := t.parts.Model.Forward(b)
		if err != nil {
			return err
		}
		loss, err := t.parts.Criterion.Forward(out, b.Targets)
		if err != nil {
			return err
		}
		up := tensor.New(out.Shape...)
		if err := t.parts.Criterion.Backward(up); err != nil {
			return err
		}
		var futures []*comm.Future
		err = t.parts.Model.Backward(up, func(k int) {
			futures = append(futures, t.parts.Hook.Reduce(toyState(i), t.parts.Buckets[1-k]))
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
	return t.parts.Evaluation.Run(ctx, 0, t.parts.Model.Forward, t.parts.Criterion)
}

func (t *toyTrainer) step() {
	for j, d := range t.parts.Gradients[1].Values {
		t.parts.Values[1].Data[j] -= d / 8
	}
	table := t.parts.Gradients[0]
	for i, row := range table.Rows {
		for j := range 2 {
			t.parts.Values[0].Data[2*int(row)+j] -= table.Values[2*i+j] / 8
		}
	}
}

type toyData struct{}

func (toyData) Load() (*Samples, error) { return toySamples(), nil }

func toySamples() *Samples {
	return samples([][]int64{{0, 1}, {2}, {}, {3, 3, 0}, {1}, {2, 0}, {3}}, 0, 1, 0, 1, 1, 0, 1)
}

var toyParts = []Part{
	NewTrainer("toy", struct{}{}, func(struct{}, TrainerEnv) (Trainer, error) { return &toyTrainer{}, nil }),
	NewModel("toy", toySettings{}, func(s toySettings, _ ModelEnv) (Model, error) { return &toyModel{toySettings: s}, nil }),
	NewCriterion("toy", toySettings{}, func(s toySettings, _ CriterionEnv) (Criterion, error) { return &toyCriterion{toySettings: s}, nil }),
	NewHook("toy", toySettings{}, func(s toySettings, e HookEnv) (Hook, error) {
		return &toyHook{s, e.Recorder.Series("hook", "toy")}, nil
	}),
	NewData("toy", struct{}{}, func(struct{}, DataEnv) (Data, error) { return toyData{}, nil }),

	NewTrainer("features", struct{}{}, func(struct{}, TrainerEnv) (Trainer, error) { return &featureTrainer{}, nil }),
	NewModel("features", toySettings{}, func(s toySettings, e ModelEnv) (Model, error) {
		return &featureModel{toySettings: s, first: e.FirstTensor}, nil
	}),
	NewCriterion("features", toySettings{}, func(s toySettings, _ CriterionEnv) (Criterion, error) { return &toyCriterion{toySettings: s}, nil }),
	NewHook("features", toySettings{}, func(s toySettings, e HookEnv) (Hook, error) {
		return &toyHook{s, e.Recorder.Series("hook", "toy")}, nil
	}),
	NewData("features", struct{}{}, func(struct{}, DataEnv) (Data, error) { return featureData{}, nil }),
}
