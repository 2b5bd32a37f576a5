package dataparallel

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// staging copies gradients between the buckets, which hooks reduce in ordinary memory, and an
// engine's memory, which Go cannot access. In a backward pass, three goroutines work:
//
//	emit    starts the copy of each gradient into its bucket when the model completes it
//	        (the trainer's goroutine)
//	reduce  waits until all gradients of a bucket have arrived, and starts the hook on it
//	bring   waits for the reduction, and copies the bucket back
//
// Each goroutine handles the buckets in index order. So copies out, reductions and copies in of
// different buckets overlap with each other and with the backward pass. The goroutines of reduce
// and bring live from begin to wait, so staging needs no Close.
type staging struct {
	engine    engine.Engine
	waitCopy  func(engine.Ticket) error
	hook      sdk.Hook
	state     sdk.HookState
	buckets   []*tensor.Bucket
	gradients []*tensor.Gradient
	stays     bool // whether reduced values stay in the buckets
	places    []place

	// State of the backward pass. emit writes these fields before it passes a bucket on.
	fromNS []int64         // by bucket: time of the request for its first copy; 0 without one
	copied []engine.Ticket // by bucket: ticket of its last copy out
	last   engine.Ticket   // ticket of the last copy out
	failed error           // error of emit

	ready   chan int // buckets whose copies out have all been requested
	reduced chan reduction
	running sync.WaitGroup
	// The functions of the goroutines, created once, and the first error of each.
	reduce, bring             func()
	reduceFailed, bringFailed error

	out, in *sdk.Series
	bus     *sdk.Counter
}

// place is the position of a parameter's gradient in the buckets.
type place struct {
	bucket int
	span   tensor.Span
}

// reduction is a bucket whose reduction by the hook has started.
type reduction struct {
	bucket int
	future *comm.Future
}

// noBucket marks the end of a backward pass.
const noBucket = -1

// newStaging returns nil if gradients lie in the buckets. Buckets that ranks share on a device also
// hold their gradients.
func newStaging(parts *sdk.TrainerParts, state sdk.HookState, stays bool) *staging {
	if parts.Engine.Addressable() {
		return nil
	}
	bus := parts.Recorder.Counter(StagingMetric, Bus, "B")
	if parts.AwaitShared != nil {
		return nil
	}
	n := len(parts.Buckets)
	s := &staging{
		engine: parts.Engine, waitCopy: parts.WaitCopy, hook: parts.Hook, state: state, buckets: parts.Buckets,
		gradients: parts.Gradients, stays: stays,
		places: make([]place, len(parts.Gradients)),
		fromNS: make([]int64, n), copied: make([]engine.Ticket, n),
		ready: make(chan int, n+1), reduced: make(chan reduction, n+1),
		out: parts.Recorder.Series(StagingMetric, CopyOut), in: parts.Recorder.Series(StagingMetric, CopyIn), bus: bus,
	}
	if s.waitCopy == nil {
		s.waitCopy = s.engine.Wait
	}
	for i, b := range parts.Buckets {
		for _, span := range b.Parameters {
			s.places[span.Parameter] = place{i, span}
		}
	}
	s.reduce, s.bring = s.reduceAll, s.bringAll
	return s
}

// begin starts a backward pass.
func (s *staging) begin() {
	clear(s.fromNS)
	clear(s.copied)
	s.last = engine.Ticket{}
	s.failed, s.reduceFailed, s.bringFailed = nil, nil, nil
	s.running.Add(2)
	go s.reduce()
	go s.bring()
}

// emit starts copying a gradient to its place.
func (s *staging) emit(parameter int) {
	at, g := s.places[parameter], s.gradients[parameter]
	b := s.buckets[at.bucket]
	if s.fromNS[at.bucket] == 0 {
		s.fromNS[at.bucket] = comm.Now()
	}
	if b.Sparse {
		if err := b.Gradient.SetRows(len(g.Rows)); err != nil {
			s.failed = fmt.Errorf("bucket %d: %w", at.bucket, err)
			return
		}
		copy(b.Gradient.Rows, g.Rows)
	}
	if host := s.at(at); len(host) > 0 {
		s.last = s.engine.CopyOut(tensor.Float32Bytes(host), tensor.Float32Bytes(g.Values))
		s.copied[at.bucket] = s.last
		s.bus.Add(int64(4 * len(host)))
	}
}

// at returns a parameter's values in its bucket. A sparse bucket has only the present rows.
func (s *staging) at(p place) []float32 {
	b := s.buckets[p.bucket]
	if b.Sparse {
		return b.Gradient.Values
	}
	return b.Gradient.Values[p.span.Offset : p.span.Offset+p.span.Elements]
}

// start passes on a bucket after all its copies out were started.
func (s *staging) start(bucket int) {
	if s.failed == nil {
		s.ready <- bucket // never blocks: ready has room for every bucket
	}
}

// reduceAll starts the hook on each bucket once its copies have ended. After an error, reduceAll
// starts no further reduction. reduceAll still waits for all started copies, since they write to
// the buckets.
func (s *staging) reduceAll() {
	defer s.running.Done()
	for bucket := range s.ready {
		if bucket == noBucket {
			break
		}
		if s.reduceFailed == nil {
			s.reduceFailed = s.copyError(bucket, "out of", s.waitCopy(s.copied[bucket]))
		}
		if s.reduceFailed == nil {
			s.out.Record(s.state.Key(bucket), s.fromNS[bucket], comm.Now())
			s.reduced <- reduction{bucket, s.hook.Reduce(s.state, s.buckets[bucket])}
		}
	}
	if err := s.waitCopy(s.last); err != nil && s.reduceFailed == nil {
		s.reduceFailed = fmt.Errorf("gradients did not come out of the memory of engine %s: %w", s.engine.Name(), err)
	}
	s.reduced <- reduction{bucket: noBucket}
}

// bringAll copies each bucket back once its reduction is done. After an error, bringAll copies no
// further bucket, but still waits for all reductions.
func (s *staging) bringAll() {
	defer s.running.Done()
	for r := range s.reduced {
		if r.bucket == noBucket {
			return
		}
		err := r.future.Wait()
		if err == nil && s.bringFailed == nil && !s.stays {
			err = s.copyIn(r.bucket)
		}
		if s.bringFailed == nil {
			s.bringFailed = err
		}
	}
}

// copyIn copies a reduced bucket to its gradients.
func (s *staging) copyIn(bucket int) error {
	b := s.buckets[bucket]
	if !b.Sparse {
		return s.copyTo(bucket, func(k int) []float32 { return s.gradients[k].Values })
	}
	g := s.gradients[b.Parameters[0].Parameter]
	if err := g.SetRows(len(b.Gradient.Rows)); err != nil {
		return fmt.Errorf("bucket %d: %w", bucket, err)
	}
	copy(g.Rows, b.Gradient.Rows)
	return s.copyTo(bucket, func(int) []float32 { return g.Values })
}

// copyTo copies the values of each parameter in a bucket to memory of the engine, and waits for the
// copies.
func (s *staging) copyTo(bucket int, memory func(parameter int) []float32) error {
	start := comm.Now()
	var last engine.Ticket
	for _, span := range s.buckets[bucket].Parameters {
		if host := s.at(s.places[span.Parameter]); len(host) > 0 {
			last = s.engine.CopyIn(tensor.Float32Bytes(memory(span.Parameter)), tensor.Float32Bytes(host))
			s.bus.Add(int64(4 * len(host)))
		}
	}
	if err := s.waitCopy(last); err != nil {
		return s.copyError(bucket, "into", err)
	}
	s.in.Record(s.state.Key(bucket), start, comm.Now())
	return nil
}

func (s *staging) copyError(bucket int, way string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bucket %d did not come %s the memory of engine %s: %w", bucket, way, s.engine.Name(), err)
}

// wait ends the backward pass. wait returns once both goroutines have finished all buckets.
func (s *staging) wait() error {
	s.ready <- noBucket
	s.running.Wait()
	for _, err := range []error{s.failed, s.reduceFailed, s.bringFailed} {
		if err != nil {
			return err
		}
	}
	return nil
}
