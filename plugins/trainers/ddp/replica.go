package ddp

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// newDDPModel wraps the model of one pass.
type newDDPModel func(parts sdk.TrainerParts, state sdk.HookState) ddpModel

// ddpModel is a model whose gradients are reduced while backward computes them.
type ddpModel interface {
	Forward(b *sdk.Batch) (comm.Tensor, error)
	// Backward returns once every bucket holds its reduced gradient.
	Backward(outputGradient comm.Tensor) error
}

// replica hands each bucket to the hook as soon as its last gradient is ready.
// Buckets are started in index order even if a later one is ready first: all
// ranks must reduce in the same order.
type replica struct {
	model    sdk.Model
	hook     sdk.Hook
	state    sdk.HookState
	buckets  []*comm.Bucket
	bucketOf []int // by parameter
	missing  []int // by bucket: gradients that are not ready
	futures  []*comm.Future
	emit     func(parameter int)
}

func newReplica(parts sdk.TrainerParts, state sdk.HookState) ddpModel {
	r := &replica{
		model: parts.Model, hook: parts.Hook, state: state, buckets: parts.Buckets,
		bucketOf: make([]int, len(parts.Values)),
		missing:  make([]int, len(parts.Buckets)),
		futures:  make([]*comm.Future, 0, len(parts.Buckets)),
	}
	for i, b := range parts.Buckets {
		for _, span := range b.Parameters {
			r.bucketOf[span.Parameter] = i
		}
	}
	r.emit = r.ready
	return r
}

func (r *replica) Forward(b *sdk.Batch) (comm.Tensor, error) { return r.model.Forward(b) }

func (r *replica) Backward(outputGradient comm.Tensor) error {
	for i, b := range r.buckets {
		r.missing[i] = len(b.Parameters)
	}
	r.futures = r.futures[:0]
	err := r.model.Backward(outputGradient, r.emit)
	for _, f := range r.futures {
		if ferr := f.Wait(); err == nil {
			err = ferr
		}
	}
	if started := len(r.futures); err == nil && started < len(r.buckets) {
		err = fmt.Errorf("the model ended backward with %d gradients of bucket %d missing", r.missing[started], started)
	}
	return err
}

// ready notes that a gradient is complete and starts the buckets that are.
func (r *replica) ready(parameter int) {
	r.missing[r.bucketOf[parameter]]--
	for next := len(r.futures); next < len(r.buckets) && r.missing[next] == 0; next++ {
		r.futures = append(r.futures, r.hook.Reduce(r.state, r.buckets[next]))
	}
}
