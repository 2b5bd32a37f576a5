package harness

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// ledger notes how a trainer calls its model, criterion and hook, and the first call that came out
// of order. It takes no trainer to be data-parallel: one may reduce every other iteration. In a run
// each part has a process, and a ledger, of its own, whose findings are errors of its calls.
type ledger struct {
	alone         bool           // it sees the calls of one part alone
	forward, loss bool           // the batch's is computed and has no Backward yet
	flights       []*comm.Future // by bucket
	backward      bool           // a backward pass runs, in which this bucket was reduced last
	last          int
	wrong         error
}

func (l *ledger) note(wrong bool, format string, args ...any) {
	if wrong && l.wrong == nil {
		l.wrong = fmt.Errorf(OutOfOrder+format, args...)
	}
}

// OutOfOrder begins what a ledger says is wrong.
const OutOfOrder = "out of order: "

// failure returns the first call out of order, unless another check reports it.
func (l *ledger) failure() error {
	if l.alone {
		return l.wrong
	}
	return nil
}

// flies says that a bucket is being reduced.
func (l *ledger) flies(bucket int) bool {
	return bucket < len(l.flights) && l.flights[bucket] != nil && l.flights[bucket].EndNS() == 0
}

// watch has the calls of parts noted.
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

// begin notes a backward pass, which is over when what it returns is called.
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

// Ordered is a part of psbench's own, a model that gives the gradient of its features, a criterion or
// a hook, that ends the run in which it is called out of order.
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
