package trainer

import (
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// scribbler is a model that writes to its batches.
type scribbler struct {
	hosttest.ToyModel
	t       *testing.T
	batches *atomic.Int32 // atomic, because a companion's model runs concurrently with the test
}

func (m *scribbler) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	n := m.batches.Add(1)
	for name, list := range map[string][]int64{"offsets": b.Offsets, "indices": b.Indices, "targets": b.Targets} {
		if len(list) > 0 && !faults(func() { list[len(list)-1]++ }) {
			m.t.Errorf("the model wrote to the %s of batch %d", name, n)
		}
	}
	return m.ToyModel.Forward(b)
}

// faults reports whether f accesses memory in a way that would end the process.
func faults(f func()) (faulted bool) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		faulted = recover() != nil
	}()
	f()
	return false
}

// Models can only read a batch. A write ends the process wherever the model runs and however the
// batch arrives. The test covers training and held-out batches, preprocessed or not.
func TestWritingToABatchEndsTheProcess(t *testing.T) {
	small, heldOut := hosttest.ToySamples(), hosttest.ToySamples()
	small.HeldOut = heldOut
	tape := hosttest.NewTape(small)
	tape.Loaded = &sdk.Samples{HeldOut: heldOut}
	for name, on := range map[string]sdk.Data{"in memory": hosttest.Loaded{Samples: small}, "streamed": tape} {
		t.Run(name, func(t *testing.T) {
			for _, trainer := range []sdk.Trainer{&hosttest.ToyTrainer{}, &shifting{}} {
				everywhere(t, sdk.KindModel, func(t *testing.T, transport string, isolated ...sdk.Kind) {
					var batches atomic.Int32
					model := sdk.NewModel("toy", struct{}{}, func(struct{}, sdk.ModelEnv) (sdk.Model, error) {
						return &scribbler{t: t, batches: &batches}, nil
					})
					data := sdk.NewData("toy", struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) {
						return on, nil
					})
					trains := sdk.NewTrainer("toy", struct{}{}, func(struct{}, sdk.TrainerEnv) (sdk.Trainer, error) {
						return trainer, nil
					})
					newWorldOf(t, append([]sdk.Part{model, data, trains}, hosttest.ToyParts...), "toy", transport, "{}",
						isolated...).pass(t)
					if n := batches.Load(); n < 2 {
						t.Errorf("%s: the model has seen %d batches", name, n)
					}
				})
			}
		})
	}
}
