package models

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// replica is a model with a criterion and the storage of its parameters.
type replica struct {
	model     *dummy
	criterion sdk.Criterion
	*storage
	upstream tensor.Tensor // gradient of the model's output
}

func newReplica(t testing.TB, s DummySettings, maxBatch int, products blas.BLAS) *replica {
	t.Helper()
	if err := s.Check(maxBatch); err != nil {
		t.Fatal(err)
	}
	criterion, err := criteria.NewCrossEntropy(struct{}{}, sdk.CriterionEnv{MaxBatch: maxBatch, Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	model, err := newDummy(s, sdk.ModelEnv{MaxBatch: maxBatch, Engine: engine.Host}, products)
	if err != nil {
		t.Fatal(err)
	}
	return &replica{
		model: model, criterion: criterion, storage: bind(t, model),
		upstream: tensor.New(maxBatch, s.DenseOutputSize),
	}
}

func (r *replica) forward(t testing.TB, b *sdk.Batch) float64 {
	output, err := r.model.Forward(b)
	if err != nil {
		t.Fatal(err)
	}
	loss, err := r.criterion.Forward(output, b.Targets)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

func (r *replica) backward(t testing.TB, b *sdk.Batch) {
	r.upstream.Shape[0] = b.Size()
	r.upstream.Data = r.upstream.Data[:b.Size()*r.upstream.Shape[1]]
	r.emitted = r.emitted[:0]
	if err := r.criterion.Backward(r.upstream); err != nil {
		t.Fatal(err)
	}
	if err := r.model.Backward(r.upstream, r.emit); err != nil {
		t.Fatal(err)
	}
}

func productsOf(t testing.TB, name string) blas.BLAS {
	t.Helper()
	b, err := blas.Open(name, 1)
	if err != nil {
		t.Skipf("this machine has no such library: %v", err)
	}
	return b
}
