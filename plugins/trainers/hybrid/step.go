package hybrid

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/optimizer"
)

// iteration holds the objects of a step. The fields state and reducer belong to the pass.
type iteration struct {
	parts     sdk.TrainerParts
	model     sdk.FeatureModel
	evaluate  func(*sdk.Batch) (tensor.Tensor, error) // the model's evaluation
	tables    *sdk.Tables
	features  features
	serial    bool
	optimizer optimizer.Optimizer
	state     dataparallel.HookState
	reducer   *dataparallel.Reducer

	input    sdk.Batch // the model's input
	inputs   int       // numbers per row of input
	gradient dataparallel.OutputGradient
	calls    []*comm.Future // calls to the tables

	whole, lookup, forward, backward, update *sdk.Series
	optimizing, waiting                      *sdk.Series
}

func newIteration(s Settings, parts sdk.TrainerParts, model sdk.FeatureModel) (iteration, error) {
	steps, err := dataparallel.NewOptimizer(s.Settings, parts)
	rec := parts.Recorder
	in := model.Inputs()
	return iteration{
		inputs: max(1, in.Features),
		parts:  parts, model: model, evaluate: sdk.Evaluator(model), tables: parts.Tables, serial: s.Lookup == "serial",
		features:   newFeatures(in, parts.Tables.Store),
		optimizer:  steps,
		gradient:   dataparallel.NewOutputGradient(parts.Engine),
		calls:      make([]*comm.Future, 0, len(parts.Tables.Links)),
		whole:      rec.Series("batch_level_metric", "batch_all"),
		lookup:     rec.Series("lookup_metric", "lookup"),
		forward:    rec.Series("forward_metric", "forward_pass"),
		backward:   rec.Series("backward_metric", "backward"),
		update:     rec.Series("update_metric", "embedding_update"),
		optimizing: rec.Series(dataparallel.IterationMetric, dataparallel.Optimizer),
		waiting:    rec.Series(dataparallel.IterationMetric, dataparallel.ExposedUpdate),
	}, err
}

// reset begins a pass.
func (it *iteration) reset(seed uint64) error {
	it.model.Initialize(seed)
	it.state = dataparallel.NewHookState()
	it.reducer = dataparallel.NewReducer(it.parts, it.state)
	return it.optimizer.Reset()
}

// endsEpoch reports whether the last finished iteration was the last one of an epoch.
func (it *iteration) endsEpoch() bool {
	return (it.state.Batch()+1)%int64(it.parts.Batches.Len()) == 0
}

// step does lookup, forward, loss, backward with its reductions, and both optimizers. The updates of the tables
// start as soon as the features' gradient is ready. The updates overlap with the last reductions and the trainer's
// own optimizer.
func (it *iteration) step(key sdk.Key, b *sdk.Batch) (float64, error) {
	it.state.NextBatch()
	start := comm.Now()
	featuresGradient, err := it.lookUp(b, it.state.Batch())
	if err != nil {
		return 0, err
	}
	lookupEnd := comm.Now()
	loss, gradient, forwardEnd, err := it.gradient.Compute(it.model, it.parts.Criterion, &it.input)
	if err != nil {
		return 0, err
	}
	it.reducer.Begin()
	err = it.model.BackwardInput(gradient, featuresGradient, it.reducer.Emit)
	updateStart := comm.Now()
	if err == nil {
		it.features.split(b)
		it.startUpdates()
	}
	err = it.reducer.Wait(err)
	_, backwardEnd := it.reducer.Waited()
	if err == nil {
		err = it.optimizer.Step()
	}
	stepEnd := comm.Now()
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
	it.reducer.Record(key, forwardEnd)
	it.optimizing.Record(key, backwardEnd, stepEnd)
	it.waiting.Record(key, stepEnd, end)
	it.update.Record(key, updateStart, updateEnd)
	it.whole.Record(key, start, end)
	return loss, nil
}

// forwardAlone does only the lookup and the forward pass. The lookup belongs to no batch of the pass, and no update
// follows.
func (it *iteration) forwardAlone(b *sdk.Batch) (tensor.Tensor, error) {
	if _, err := it.lookUp(b, comm.NoBatch); err != nil {
		return tensor.Tensor{}, err
	}
	return it.evaluate(&it.input)
}

// lookUp builds the model's input for b, and returns the memory for the features' gradient.
func (it *iteration) lookUp(b *sdk.Batch, batch int64) (gradients []float32, err error) {
	if err := it.features.ask(b); err != nil {
		return nil, err
	}
	if err := it.askServers(batch); err != nil {
		return nil, err
	}
	it.input.Targets, it.input.FloatTargets, it.input.TargetWidth = b.Targets, b.FloatTargets, b.TargetWidth
	it.input.Features, gradients = it.features.join(b)
	if b.TargetWidth > 0 { // each sample has that many, but the model may get several rows per sample
		it.input.TargetWidth = len(b.FloatTargets) / max(1, len(it.input.Features)/it.inputs)
	}
	return gradients, nil
}

// askServers fills the store's values with the rows that were requested.
func (it *iteration) askServers(batch int64) error {
	it.calls = it.calls[:0]
	for _, link := range it.tables.Links {
		call := link.Lookup(batch)
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

// wait waits for the calls and returns the end of the last call, in ns of comm.Now.
func (it *iteration) wait() (endNS int64, err error) {
	for _, call := range it.calls {
		if cerr := call.Wait(); err == nil {
			err = cerr
		}
		endNS = max(endNS, call.EndNS())
	}
	return endNS, err
}
