package hybrid

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/plugins/internal/optimizer"
	"github.com/psbench/psbench/plugins/trainers/ddp"
	"github.com/psbench/psbench/sdk"
)

// iteration is what a step works with. state and reducer are those of the pass.
type iteration struct {
	parts     sdk.TrainerParts
	model     sdk.FeatureModel
	tables    *sdk.Tables
	columns   int // of a bag, joined over the tables
	serial    bool
	optimizer optimizer.SGD
	state     ddp.HookState
	reducer   *ddp.Reducer

	input    sdk.Batch // what the model gets: rows of features in the memory of the lookups
	gradient ddp.OutputGradient
	calls    []*comm.Future // to the tables

	whole, lookup, forward, backward, update *sdk.Series
}

func newIteration(s Settings, parts sdk.TrainerParts, model sdk.FeatureModel) iteration {
	rec := parts.Recorder
	return iteration{
		parts: parts, model: model, tables: parts.Tables, columns: parts.Tables.Store.Columns(), serial: s.Lookup == "serial",
		optimizer: optimizer.SGD{LR: float32(s.LR), Values: parts.Values, Gradients: parts.Gradients},
		calls:     make([]*comm.Future, 0, len(parts.Tables.Links)),
		whole:     rec.Series("batch_level_metric", "batch_all"),
		lookup:    rec.Series("lookup_metric", "lookup"),
		forward:   rec.Series("forward_metric", "forward_pass"),
		backward:  rec.Series("backward_metric", "backward"),
		update:    rec.Series("update_metric", "embedding_update"),
	}
}

// reset begins a pass.
func (it *iteration) reset(seed uint64) {
	it.model.Initialize(seed)
	it.optimizer.Reset()
	it.state = ddp.NewHookState()
	it.reducer = ddp.NewReducer(it.parts, it.state)
}

// step is lookup, forward, loss, backward with its reductions, and both optimizers. The
// model reads the features and writes their gradient where the links to the tables have
// them. The updates of the tables start as soon as that gradient is there, so they run
// beside the last reductions and the trainer's own optimizer.
func (it *iteration) step(key sdk.Key, b *sdk.Batch) (float64, error) {
	it.state.NextBatch()
	start := comm.Now()
	if err := it.lookUp(b); err != nil {
		return 0, err
	}
	lookupEnd := comm.Now()
	values := (len(b.Offsets) - 1) * it.columns
	it.input.Features, it.input.Targets = it.tables.Store.Values[:values], b.Targets
	loss, gradient, forwardEnd, err := it.gradient.Compute(it.model, it.parts.Criterion, &it.input)
	if err != nil {
		return 0, err
	}
	it.reducer.Begin()
	err = it.model.BackwardInput(gradient, it.tables.Store.Gradients[:values], it.reducer.Emit)
	updateStart := comm.Now()
	if err == nil {
		it.startUpdates()
	}
	err = it.reducer.Wait(err)
	backwardEnd := comm.Now()
	if err == nil {
		it.optimizer.Step()
	}
	updateEnd, uerr := it.wait()
	if err == nil {
		err = uerr
	}
	if err != nil {
		return 0, err
	}
	end := comm.Now()
	it.lookup.Record(key, start, lookupEnd)
	it.forward.Record(key, lookupEnd, forwardEnd)
	it.backward.Record(key, forwardEnd, backwardEnd)
	it.update.Record(key, updateStart, updateEnd)
	it.whole.Record(key, start, end)
	return loss, nil
}

// lookUp fills the store's values with the bags of b.
func (it *iteration) lookUp(b *sdk.Batch) error {
	if err := it.tables.Store.Ask(b.Offsets, b.Indices); err != nil {
		return err
	}
	it.calls = it.calls[:0]
	for _, link := range it.tables.Links {
		call := link.Lookup(it.state.Batch())
		it.calls = append(it.calls, call)
		if !it.serial {
			continue
		}
		if err := call.Wait(); err != nil {
			return err
		}
	}
	_, err := it.wait()
	it.calls = it.calls[:0]
	return err
}

// startUpdates sends every server its columns of the gradient.
func (it *iteration) startUpdates() {
	for _, link := range it.tables.Links {
		it.calls = append(it.calls, link.Update(it.state.Batch()))
	}
}

// wait waits for the calls and says when the last one ended, in ns of comm.Now.
func (it *iteration) wait() (endNS int64, err error) {
	for _, call := range it.calls {
		if cerr := call.Wait(); err == nil {
			err = cerr
		}
		endNS = max(endNS, call.EndNS())
	}
	return endNS, err
}
