package sdk

import (
	"context"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// featureModel is a toy FeatureModel: a row of three numbers times a matrix.
type featureModel struct {
	toySettings
	first  int
	weight tensor.Tensor // [3, 2]
	g      *tensor.Gradient
	batch  *Batch
}

func (m *featureModel) Parameters() []ParameterSpec {
	return []ParameterSpec{{Name: "weight", Shape: []int{3, 2}}}
}
func (m *featureModel) Inputs() InputSpec { return InputSpec{Features: 3, Classes: 2} }
func (m *featureModel) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.weight, m.g = v[0], g[0]
	return nil
}

func (m *featureModel) Initialize(seed uint64) {
	for i := range m.weight.Data {
		m.weight.Data[i] = float32(math.Sin(float64(seed) + float64(10*m.first+i)))
	}
}

func (m *featureModel) Forward(b *Batch) (tensor.Tensor, error) {
	m.batch = b
	out := tensor.New(b.Size(), 2)
	for i := range out.Data {
		for k, x := range b.Features[i/2*3 : i/2*3+3] {
			out.Data[i] += x * m.weight.Data[2*k+i%2]
		}
	}
	return out, m.check("forward")
}

func (m *featureModel) Backward(up tensor.Tensor, emit func(int)) error {
	clear(m.g.Values)
	for i, u := range up.Data {
		for k, x := range m.batch.Features[i/2*3 : i/2*3+3] {
			m.g.Values[2*k+i%2] += u * x
		}
	}
	emit(0)
	return m.check("backward")
}

func (m *featureModel) BackwardInput(up tensor.Tensor, inputGradient []float32, emit func(int)) error {
	if err := m.Backward(up, emit); err != nil {
		return err
	}
	clear(inputGradient)
	for i, u := range up.Data {
		for k := range 3 {
			inputGradient[i/2*3+k] += u * m.weight.Data[2*k+i%2]
		}
	}
	return m.check("input")
}

// featureTrainer steps against the gradients of the weight and of the features, so
// that the one it ends with tells of both. Batches hold features, which it changes
// as if they had been looked up.
type featureTrainer struct {
	parts    TrainerParts
	features []float32
	gradient []float32
}

func (t *featureTrainer) Plan([]ParameterSpec) ([]tensor.BucketSpec, error) {
	return []tensor.BucketSpec{{Parameters: []tensor.Span{{Elements: 6}}, Elements: 6}}, nil
}
func (t *featureTrainer) Attach(parts TrainerParts) error { t.parts = parts; return nil }
func (t *featureTrainer) Reset() error                    { t.parts.Model.Initialize(3); return nil }

func (t *featureTrainer) Train(_ context.Context, report PassReport) error {
	t.features = t.features[:0]
	for i := range t.parts.Batches.Len() {
		b, err := t.parts.Batches.Next()
		if err == nil {
			err = t.iterate(int64(i), b, report)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *featureTrainer) iterate(i int64, share *Batch, report PassReport) error {
	t.features = append(t.features, share.Features[len(t.features):]...)
	b := Batch{Features: t.features, Targets: share.Targets}
	out, err := t.parts.Model.Forward(&b)
	if err != nil {
		return err
	}
	loss, err := t.parts.Criterion.Forward(out, b.Targets)
	if err != nil {
		return err
	}
	report.Loss(loss)
	up := tensor.New(out.Shape...)
	if err := t.parts.Criterion.Backward(up); err != nil {
		return err
	}
	t.gradient = slices.Grow(t.gradient[:0], len(b.Features))[:len(b.Features)]
	var reduced *comm.Future
	err = t.parts.Model.(FeatureModel).BackwardInput(up, t.gradient, func(int) {
		reduced = t.parts.Hook.Reduce(toyState(i), t.parts.Buckets[0])
	})
	if reduced != nil {
		if rerr := reduced.Wait(); err == nil {
			err = rerr
		}
	}
	for j, d := range t.parts.Gradients[0].Values {
		t.parts.Values[0].Data[j] -= d / 8
	}
	for j, d := range t.gradient {
		t.features[j] -= d / 8
	}
	return err
}

// featureData is data of numbers alone, in growing batches.
type featureData struct{}

func (featureData) Load() (*Samples, error) {
	s := rows(3, 1, 2, 3, 4, -5, 6, 7, 8, -9, 1, 0, 1, 0, 1, 0, -1, 0.5, 2)
	s.Targets = []int64{0, 1, 1, 0, 1, 0}
	s.Batches = []int{1, 2, 3}
	return s, nil
}
