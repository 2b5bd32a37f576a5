package hosted

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// still is a model that does nothing and returns no error.
type still struct{ hosttest.ToyModel }

func (m *still) Forward(*sdk.Batch) (tensor.Tensor, error) { return m.Output, nil }
func (m *still) Backward(_ tensor.Tensor, emit func(int)) error {
	emit(0)
	emit(1)
	return nil
}

func TestHostingAModelAllocatesNothing(t *testing.T) {
	inner := &still{}
	inner.Output = tensor.New(1, 2)
	m := hostModel(inner, "model still")
	table := tensor.NewGradient(tensor.BucketSpec{Sparse: true, TableRows: 4, Width: 2, Capacity: 4})
	hosttest.Must(t,
		m.Bind([]tensor.Tensor{tensor.New(4, 2), tensor.New(2)},
			[]*tensor.Gradient{&table, {Values: make([]float32, 2)}}))
	batch, emitted := hosttest.Numbered(1)[0], 0
	emit := func(int) { emitted++ }
	allocs := testing.AllocsPerRun(100, func() {
		out, err := m.Forward(&batch)
		hosttest.Must(t, err)
		hosttest.Must(t, m.Backward(out, emit))
	})
	if allocs != 0 || emitted != 2*101 {
		t.Errorf("an iteration allocates %g times and emits %d gradients in 101 iterations", allocs, emitted)
	}
}
