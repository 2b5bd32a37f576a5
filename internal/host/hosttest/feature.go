package hosttest

import (
	"context"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// FeatureModel is a toy model that implements sdk.FeatureModel. FeatureModel multiplies three
// features by a matrix.
type FeatureModel struct {
	ToySettings
	First  int
	weight tensor.Tensor // [3, 2]
	G      *tensor.Gradient
	batch  *sdk.Batch
}

// Parameters implements sdk.Model.
func (m *FeatureModel) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{3, 2}}}
}

// Inputs implements sdk.Model.
func (m *FeatureModel) Inputs() sdk.InputSpec { return sdk.InputSpec{Features: 3, Classes: 2} }

// Bind implements sdk.Model.
func (m *FeatureModel) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.weight, m.G = v[0], g[0]
	return nil
}

// Initialize implements sdk.Model.
func (m *FeatureModel) Initialize(seed uint64) {
	for i := range m.weight.Data {
		m.weight.Data[i] = float32(math.Sin(float64(seed) + float64(10*m.First+i)))
	}
}

// Forward implements sdk.Model.
func (m *FeatureModel) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = b
	out := tensor.New(b.Size(), 2)
	for i := range out.Data {
		for k, x := range b.Features[i/2*3 : i/2*3+3] {
			out.Data[i] += x * m.weight.Data[2*k+i%2]
		}
	}
	return out, m.check("forward")
}

// Backward implements sdk.Model.
func (m *FeatureModel) Backward(up tensor.Tensor, emit func(int)) error {
	clear(m.G.Values)
	for i, u := range up.Data {
		for k, x := range m.batch.Features[i/2*3 : i/2*3+3] {
			m.G.Values[2*k+i%2] += u * x
		}
	}
	emit(0)
	return m.check("backward")
}

// BackwardInput implements sdk.Model.
func (m *FeatureModel) BackwardInput(up tensor.Tensor, inputGradient []float32, emit func(int)) error {
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

// FeatureTrainer trains on the gradients of both the weight and the features, so the final weight
// depends on both. Batches hold features. The trainer updates the features as if they were rows of
// a lookup table.
type FeatureTrainer struct {
	parts    sdk.TrainerParts
	features []float32
	gradient []float32
}

// Plan implements sdk.Trainer.
func (t *FeatureTrainer) Plan([]sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return []tensor.BucketSpec{{Parameters: []tensor.Span{{Elements: 6}}, Elements: 6}}, nil
}

// Attach implements sdk.Trainer.
func (t *FeatureTrainer) Attach(parts sdk.TrainerParts) error { t.parts = parts; return nil }

// Reset implements sdk.Trainer.
func (t *FeatureTrainer) Reset() error { t.parts.Model.Initialize(3); return nil }

// Train implements sdk.Trainer.
func (t *FeatureTrainer) Train(_ context.Context, report sdk.PassReport) error {
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

func (t *FeatureTrainer) iterate(i int64, share *sdk.Batch, report sdk.PassReport) error {
	t.features = append(t.features, share.Features[len(t.features):]...)
	b := sdk.Batch{Features: t.features, Targets: share.Targets}
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
	err = t.parts.Model.(sdk.FeatureModel).BackwardInput(up, t.gradient, func(int) {
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

// featureData is data with numeric features only, in batches of growing size.
type featureData struct{}

func (featureData) Load() (*sdk.Samples, error) {
	s := Rows(3, 1, 2, 3, 4, -5, 6, 7, 8, -9, 1, 0, 1, 0, 1, 0, -1, 0.5, 2)
	s.Targets = []int64{0, 1, 1, 0, 1, 0}
	s.Batches = []int{1, 2, 3}
	return s, nil
}
