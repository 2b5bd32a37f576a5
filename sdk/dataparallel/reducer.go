package dataparallel

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Reducer passes each bucket to the hook as soon as its last gradient is ready. All ranks must
// reduce in the same order, so Reducer starts buckets in index order even if a later one is ready
// first. In each backward pass, the trainer calls Begin, then Emit for every parameter, then Wait.
//
// If Go cannot access the memory of gradients, Reducer copies gradients to the buckets and back
// during the backward pass. Reducer then calls the hook from its own goroutine, which ends before
// Wait returns. If ranks share buckets on a device, gradients lie in the buckets. Later work of the
// engine then waits for the reduced gradients.
type Reducer struct {
	// Emit reports that a parameter's gradient is complete, and starts complete buckets in index
	// order. Pass Emit to the model's Backward.
	Emit func(parameter int)

	parts    sdk.TrainerParts
	state    sdk.HookState
	bucketOf []int // by parameter
	missing  []int // by bucket: number of gradients that are not ready
	started  int   // number of started buckets
	futures  []*comm.Future
	staging  *staging // nil if gradients lie in the buckets

	backward, exposed *sdk.Series
	waitNS, doneNS    int64 // times of the last Wait
}

// NewReducer returns the reducer of one pass.
func NewReducer(parts sdk.TrainerParts, state sdk.HookState) *Reducer {
	return newReducer(parts, state, false)
}

// NewParameterReducer is like NewReducer, for servers that answer with parameters instead of
// gradients. TakeParameters copies the answers to the rank's parameters.
func NewParameterReducer(parts sdk.TrainerParts, state sdk.HookState) *Reducer {
	return newReducer(parts, state, true)
}

func newReducer(parts sdk.TrainerParts, state sdk.HookState, parameters bool) *Reducer {
	r := &Reducer{
		parts: parts, state: state,
		bucketOf: make([]int, len(parts.Values)),
		missing:  make([]int, len(parts.Buckets)),
		futures:  make([]*comm.Future, 0, len(parts.Buckets)),
		staging:  newStaging(&parts, state, parameters),
		backward: parts.Recorder.Series(IterationMetric, Backward),
		exposed:  parts.Recorder.Series(IterationMetric, Exposed),
	}
	for i, b := range parts.Buckets {
		for _, span := range b.Parameters {
			r.bucketOf[span.Parameter] = i
		}
	}
	r.Emit = r.emit
	return r
}

// Begin starts a backward pass.
func (r *Reducer) Begin() {
	for i, b := range r.parts.Buckets {
		r.missing[i] = len(b.Parameters)
	}
	r.started, r.futures = 0, r.futures[:0]
	if r.staging != nil {
		r.staging.begin()
	}
}

func (r *Reducer) emit(parameter int) {
	if r.staging != nil {
		r.staging.emit(parameter)
	}
	r.missing[r.bucketOf[parameter]]--
	for ; r.started < len(r.missing) && r.missing[r.started] == 0; r.started++ {
		if r.staging != nil {
			r.staging.start(r.started)
			continue
		}
		r.futures = append(r.futures, r.parts.Hook.Reduce(r.state, r.parts.Buckets[r.started]))
	}
}

// Wait ends a backward pass that returned err. Wait waits for the started buckets. Wait returns
// err, or otherwise the first error of a bucket. Without an error, all buckets and gradients hold
// reduced gradients.
func (r *Reducer) Wait(err error) error {
	r.waitNS = comm.Now()
	for _, f := range r.futures {
		if ferr := f.Wait(); err == nil {
			err = ferr
		}
	}
	if r.staging != nil {
		if serr := r.staging.wait(); err == nil {
			err = serr
		}
	}
	if r.parts.AwaitShared != nil && err == nil {
		err = r.parts.AwaitShared()
	}
	r.doneNS = comm.Now()
	if err == nil && r.started < len(r.missing) {
		err = fmt.Errorf("the model ended backward with %d gradients of bucket %d missing", r.missing[r.started],
			r.started)
	}
	return err
}

// TakeParameters copies the server's answers from the buckets to the parameters. Only a reducer
// from NewParameterReducer has such answers.
func (r *Reducer) TakeParameters() error {
	if r.parts.AwaitShared != nil {
		return r.takeShared()
	}
	if r.staging == nil {
		for k, v := range r.parts.Values {
			copy(v.Data, r.parts.Gradients[k].Values)
		}
		return nil
	}
	for bucket := range r.parts.Buckets {
		if err := r.staging.copyTo(bucket, func(k int) []float32 { return r.parts.Values[k].Data }); err != nil {
			return err
		}
	}
	return nil
}

// takeShared is TakeParameters for buckets in the memory of the engine.
func (r *Reducer) takeShared() error {
	shared, ok := r.parts.Engine.(engine.Sharer)
	if !ok {
		return fmt.Errorf("parameters came back in the memory of engine %s, which cannot copy them there",
			r.parts.Engine.Name())
	}
	for k, v := range r.parts.Values {
		if err := shared.Copy(v.Data, r.parts.Gradients[k].Values); err != nil {
			return err
		}
	}
	return nil
}

// Waited returns the time of the last call of Wait, and the time at which its buckets were done, in
// ns of comm.Now.
func (r *Reducer) Waited() (fromNS, toNS int64) { return r.waitNS, r.doneNS }

// Record records two phases of the iteration with this key. The backward pass lasts from startNS
// until the call of Wait. The exposed communication lasts from then until the buckets were done.
func (r *Reducer) Record(key sdk.Key, startNS int64) {
	r.backward.Record(key, startNS, r.waitNS)
	r.exposed.Record(key, r.waitNS, r.doneNS)
}
