package models

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
)

// replica is a model with a criterion and the storage of its parameters.
type replica struct {
	model     *dummy
	criterion sdk.Criterion
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	upstream  tensor.Tensor // gradient of the output
	emit      func(parameter int)
	emitted   []int
}

func newReplica(t testing.TB, s DummySettings, maxBatch int, engine blas.BLAS) *replica {
	t.Helper()
	if err := s.check(maxBatch); err != nil {
		t.Fatal(err)
	}
	criterion, err := criteria.NewCrossEntropy(struct{}{}, sdk.CriterionEnv{MaxBatch: maxBatch})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{
		model:     newDummy(s, maxBatch, engine),
		criterion: criterion,
		upstream:  tensor.New(maxBatch, s.DenseOutputSize),
	}
	r.emit = func(parameter int) { r.emitted = append(r.emitted, parameter) }
	for _, p := range r.model.Parameters() {
		spec := tensor.BucketSpec{Elements: tensor.Elements(p.Shape), Sparse: p.Sparse}
		if p.Sparse {
			spec.Width, spec.Capacity = p.Shape[1], p.Shape[0]
		}
		gradient := tensor.NewGradient(spec)
		r.values = append(r.values, tensor.New(p.Shape...))
		r.gradients = append(r.gradients, &gradient)
	}
	if err := r.model.Bind(r.values, r.gradients); err != nil {
		t.Fatal(err)
	}
	return r
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

// dense is the gradient of parameter k with every element in place.
func (r *replica) dense(k int) []float32 {
	g := r.gradients[k]
	if !g.Sparse() {
		return g.Values
	}
	out := make([]float32, len(r.values[k].Data))
	for i, row := range g.Rows {
		copy(out[int(row)*g.Width:], g.Values[i*g.Width:(i+1)*g.Width])
	}
	return out
}

func engine(t testing.TB, name string) blas.BLAS {
	t.Helper()
	b, err := blas.Open(name, 1)
	if err != nil {
		t.Skipf("this machine has no such library: %v", err)
	}
	return b
}
