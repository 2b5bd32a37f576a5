package sdk

import (
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// scribbler is a model that writes to its batches.
type scribbler struct {
	toyModel
	t       *testing.T
	batches *atomic.Int32 // a companion's model runs beside the test
}

func (m *scribbler) Forward(b *Batch) (tensor.Tensor, error) {
	n := m.batches.Add(1)
	for name, list := range map[string][]int64{"offsets": b.Offsets, "indices": b.Indices, "targets": b.Targets} {
		if len(list) > 0 && !faults(func() { list[len(list)-1]++ }) {
			m.t.Errorf("the model wrote to the %s of batch %d", name, n)
		}
	}
	return m.toyModel.Forward(b)
}

// faults says whether f touches memory in a way that ends the process.
func faults(f func()) (faulted bool) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		faulted = recover() != nil
	}()
	f()
	return false
}

// A batch is only to be read, wherever the model is, whatever carries the batch, and
// whether it is trained on or held out, preprocessed or not.
func TestWritingToABatchEndsTheProcess(t *testing.T) {
	small, heldOut := toySamples(), toySamples()
	small.HeldOut = heldOut
	tape := newTape(small)
	tape.loaded = &Samples{HeldOut: heldOut}
	for name, on := range map[string]Data{"in memory": loaded{small}, "streamed": tape} {
		for _, trainer := range []Trainer{&toyTrainer{}, &shifting{}} {
			everywhere(t, func(t *testing.T, transport comm.Transport, isolated ...Kind) {
				var batches atomic.Int32
				model := NewModel("toy", struct{}{}, func(struct{}, ModelEnv) (Model, error) { return &scribbler{t: t, batches: &batches}, nil })
				data := NewData("toy", struct{}{}, func(struct{}, DataEnv) (Data, error) { return on, nil })
				trains := NewTrainer("toy", struct{}{}, func(struct{}, TrainerEnv) (Trainer, error) { return trainer, nil })
				newWorldOf(t, append([]Part{model, data, trains}, toyParts...), "toy", transport, "{}", isolated...).pass(t)
				if n := batches.Load(); n < 2 {
					t.Errorf("%s: the model has seen %d batches", name, n)
				}
			})
		}
	}
}
