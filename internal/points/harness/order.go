package harness

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// ledger records a trainer's calls to its model, criterion and hook, and the first call out of order. ledger does
// not assume that a trainer is data-parallel: a trainer may reduce only every other iteration. In a run, each part
// has its own process and its own ledger. Such a ledger returns its findings as errors of the part's calls.
type ledger struct {
	alone         bool           // the ledger sees the calls of only one part
	forward, loss bool           // forward or loss was computed for the batch and its Backward is missing
	flights       []*comm.Future // by bucket
	backward      bool           // a backward pass is running
	last          int            // the bucket that was reduced last in the backward pass
	wrong         error
}

func (l *ledger) note(wrong bool, format string, args ...any) {
	if wrong && l.wrong == nil {
		l.wrong = fmt.Errorf(OutOfOrder+format, args...)
	}
}

// OutOfOrder begins the errors of a ledger.
const OutOfOrder = "out of order: "

// failure returns the first call out of order, unless another check reports it.
func (l *ledger) failure() error {
	if l.alone {
		return l.wrong
	}
	return nil
}

// flies reports whether a bucket is being reduced.
func (l *ledger) flies(bucket int) bool {
	return bucket < len(l.flights) && l.flights[bucket] != nil && l.flights[bucket].EndNS() == 0
}

// watch wraps parts so that the ledger records their calls.
func (l *ledger) watch(m sdk.FeatureModel, c sdk.Criterion, h sdk.Hook) (sdk.Model, sdk.Criterion, sdk.Hook) {
	return &watchedModel{m, l}, &watchedCriterion{c, l}, &watchedHook{h, l}
}

type watchedModel struct {
	sdk.FeatureModel
	l *ledger
}

func (m *watchedModel) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	out, err := m.FeatureModel.Forward(b)
	m.l.forward, m.l.loss = true, false
	return out, err
}

func (m *watchedModel) Backward(up tensor.Tensor, emit func(int)) error {
	defer m.begin()()
	if err := m.l.failure(); err != nil {
		return err
	}
	return m.FeatureModel.Backward(up, emit)
}

func (m *watchedModel) BackwardInput(up tensor.Tensor, input []float32, emit func(int)) error {
	defer m.begin()()
	if err := m.l.failure(); err != nil {
		return err
	}
	return m.FeatureModel.BackwardInput(up, input, emit)
}

// begin records the start of a backward pass. The returned function records its end.
func (m *watchedModel) begin() (end func()) {
	l := m.l
	l.note(!l.forward, "Backward comes before Forward of that batch")
	for bucket := range l.flights {
		l.note(l.flies(bucket), "Backward overwrites the gradients of bucket %d while that is being reduced", bucket)
	}
	l.forward, l.backward, l.last = false, true, -1
	return func() { l.backward = false }
}

type watchedCriterion struct {
	sdk.Criterion
	l *ledger
}

func (c *watchedCriterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	c.l.note(!c.l.alone && !c.l.forward, "the criterion's Forward comes before the model's")
	c.l.loss = true
	return c.Criterion.Forward(output, targets)
}

func (c *watchedCriterion) Backward(g tensor.Tensor) error {
	c.l.note(!c.l.loss, "the criterion's Backward comes before its Forward of that batch")
	c.l.loss = false
	if err := c.l.failure(); err != nil {
		return err
	}
	return c.Criterion.Backward(g)
}

type watchedHook struct {
	sdk.Hook
	l *ledger
}

func (h *watchedHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	l := h.l
	l.note(l.flies(b.Index), "bucket %d is handed to the hook again before it is reduced", b.Index)
	l.note(l.backward && b.Index <= l.last, "bucket %d is handed to the hook after bucket %d: buckets come in their "+
		"order",
		b.Index, l.last)
	l.last = b.Index
	if err := l.failure(); err != nil {
		return comm.Completed(err)
	}
	f := h.Hook.Reduce(state, b)
	for b.Index >= len(l.flights) {
		l.flights = append(l.flights, nil)
	}
	l.flights[b.Index] = f
	return f
}

// Ordered wraps one of psbench's own parts: a model that gives the gradient of its features, a criterion or a hook.
// The wrapped part ends a run that calls it out of order.
func Ordered(part sdk.Part) sdk.Part {
	return part.Around(func(env any, inner func(env any) (any, error)) (any, error) {
		made, err := inner(env)
		if err != nil {
			return nil, err
		}
		l := &ledger{alone: true}
		switch part := made.(type) {
		case sdk.FeatureModel:
			return &watchedModel{part, l}, nil
		case sdk.Criterion:
			return &watchedCriterion{part, l}, nil
		}
		return &watchedHook{made.(sdk.Hook), l}, nil
	})
}
