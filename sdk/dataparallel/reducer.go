package dataparallel

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Reducer hands each bucket to the hook as soon as its last gradient is ready.
// Buckets are started in index order even if a later one is ready first: all
// ranks must reduce in the same order. For each backward pass Begin comes first, then
// Emit for every parameter, then Wait.
type Reducer struct {
	// Emit notes that a parameter's gradient is complete and starts the buckets
	// that are: what a model's Backward wants.
	Emit func(parameter int)

	hook     sdk.Hook
	state    sdk.HookState
	buckets  []*tensor.Bucket
	bucketOf []int // by parameter
	missing  []int // by bucket: gradients that are not ready
	futures  []*comm.Future

	backward, exposed *sdk.Series
	waitNS, doneNS    int64 // of the last Wait
}

// NewReducer makes the reducer of one pass.
func NewReducer(parts sdk.TrainerParts, state sdk.HookState) *Reducer {
	r := &Reducer{
		hook: parts.Hook, state: state, buckets: parts.Buckets,
		bucketOf: make([]int, len(parts.Values)),
		missing:  make([]int, len(parts.Buckets)),
		futures:  make([]*comm.Future, 0, len(parts.Buckets)),
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
	for i, b := range r.buckets {
		r.missing[i] = len(b.Parameters)
	}
	r.futures = r.futures[:0]
}

func (r *Reducer) emit(parameter int) {
	r.missing[r.bucketOf[parameter]]--
	for next := len(r.futures); next < len(r.buckets) && r.missing[next] == 0; next++ {
		r.futures = append(r.futures, r.hook.Reduce(r.state, r.buckets[next]))
	}
}

// Wait ends the backward pass that returned err. It waits for the buckets that were
// started and returns err or else what went wrong with them; without an error every
// bucket holds its reduced gradient.
func (r *Reducer) Wait(err error) error {
	r.waitNS = comm.Now()
	for _, f := range r.futures {
		if ferr := f.Wait(); err == nil {
			err = ferr
		}
	}
	r.doneNS = comm.Now()
	if started := len(r.futures); err == nil && started < len(r.buckets) {
		err = fmt.Errorf("the model ended backward with %d gradients of bucket %d missing", r.missing[started], started)
	}
	return err
}

// Waited is when the last Wait was called and when its buckets were done, in ns of comm.Now.
func (r *Reducer) Waited() (fromNS, toNS int64) { return r.waitNS, r.doneNS }

// Record notes, under the key of an iteration, two of its parts: its backward pass, from
// startNS until Wait was called, and its exposed communication, until the buckets were done.
func (r *Reducer) Record(key sdk.Key, startNS int64) {
	r.backward.Record(key, startNS, r.waitNS)
	r.exposed.Record(key, r.waitNS, r.doneNS)
}
