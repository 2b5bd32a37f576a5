package traffic

import (
	"errors"
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Rounds implements sdk.Rounds. A goroutine for each round waits for that round of one bucket after
// the other, calls Step and starts the next round. It takes the buckets in the order in which the
// hook reduced them. So the operations of a round start in this order on all ranks, however fast the
// rounds of a rank advance.
type Rounds struct {
	// Started, if not nil, is called when the first operation of a bucket is about to start. Set it
	// before the first pass.
	Started func(*tensor.Bucket)

	working *sync.RWMutex // read-locked while a goroutine calls Step
	laid    *Laid
	buckets []bucket
	queues  []chan *bucket // by round: the buckets whose operations of that round have started
	workers sync.WaitGroup

	mu     sync.Mutex
	closed bool // queues[0] is closed
	// failed is the first error. Nothing starts after it: the round's group would see the next bucket
	// where its peers see the failed one, and their errors would hide this one.
	failed error
}

var _ sdk.Rounds = (*Rounds)(nil)

// bucket is the state of a bucket's rounds. One goroutine at a time works on it.
type bucket struct {
	*tensor.Bucket
	promise *comm.Promise
	begun   bool // in this pass
	stepper sdk.Stepper
	batch   int64
	key     sdk.Key
}

// Batch implements sdk.HookState for Step, which may run after the trainer's state has changed.
func (b *bucket) Batch() int64 { return b.batch }

// Key implements sdk.HookState for the bucket of the rounds.
func (b *bucket) Key(int) sdk.Key { return b.key }

// New returns the Rounds of a plan that Join will lay. working is read-locked while a goroutine calls
// Step. The caller closes the Rounds after their links.
func New(working *sync.RWMutex) *Rounds { return &Rounds{working: working} }

// Join starts the goroutines.
func (r *Rounds) Join(laid *Laid) {
	r.laid, r.buckets = laid, make([]bucket, len(laid.buckets))
	for i := range r.buckets {
		r.buckets[i].promise = comm.NewPromise(nil)
	}
	for range laid.Longest() {
		r.queues = append(r.queues, make(chan *bucket, len(r.buckets)))
	}
	for k := range r.queues {
		r.workers.Go(func() { r.work(k) })
	}
}

// Reduce implements sdk.Rounds. It allocates nothing.
func (r *Rounds) Reduce(state sdk.HookState, t *tensor.Bucket, s sdk.Stepper) *comm.Future {
	if r.laid.Rounds(t.Index) == 0 {
		return comm.Completed(fmt.Errorf("the hook has planned no rounds for bucket %d", t.Index))
	}
	b := &r.buckets[t.Index]
	if b.begun && !b.promise.Future().Awaited() {
		return comm.Completed(r.fail(fmt.Errorf("nobody waited for the rounds of batch %d, bucket %d: Reduce must return their future, or one that waits for it",
			b.batch, t.Index)))
	}
	b.begun = true
	if !b.promise.Begin() {
		return comm.Completed(fmt.Errorf("the rounds of bucket %d are started again before they have ended", t.Index))
	}
	b.Bucket, b.stepper, b.batch, b.key = t, s, state.Batch(), state.Key(t.Index)
	if err := r.advance(b, 0); err != nil {
		b.promise.Complete(r.fail(err))
	}
	return b.promise.Future()
}

var errEnding = errors.New("the process is ending")

// advance calls the Step before a round and starts the round's operations. After the last round it
// completes the bucket.
func (r *Rounds) advance(b *bucket, round int) error {
	if err := r.Failed(); err != nil {
		return err
	}
	if err := b.stepper.Step(b, round, b.Bucket, r.laid.Payloads(b.Index)); err != nil {
		return fmt.Errorf("Step %d of batch %d, bucket %d: %w", round, b.batch, b.Index, err)
	}
	if round == r.laid.Rounds(b.Index) {
		b.promise.Complete(nil)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failed != nil:
		return r.failed
	case round == 0 && r.closed:
		return errEnding
	case round == 0 && r.Started != nil:
		r.Started(b.Bucket)
	}
	r.laid.Start(b.Index, round, b.batch, b.key)
	r.queues[round] <- b // never blocks: a queue has room for every bucket
	return nil
}

// Failed returns the first error of the rounds. A hook may have dropped the future that has it.
func (r *Rounds) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Reset begins a pass. The last reductions of an earlier pass need not have been awaited.
func (r *Rounds) Reset() {
	for i := range r.buckets {
		r.buckets[i].begun = false
	}
}

// fail notes the first error and returns it.
func (r *Rounds) fail(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
	return r.failed
}

// work continues each bucket whose operations of a round have ended, until the queue is closed.
func (r *Rounds) work(round int) {
	for b := range r.queues[round] {
		if err := r.proceed(b, round); err != nil {
			b.promise.Complete(r.fail(err))
		}
	}
	if round+1 < len(r.queues) {
		close(r.queues[round+1]) // only this goroutine sends there
	}
}

// proceed waits for all operations of a round and goes on to the next round.
func (r *Rounds) proceed(b *bucket, round int) error {
	if err := r.laid.Wait(b.Index, round); err != nil {
		return err
	}
	if !r.working.TryRLock() {
		return errEnding
	}
	defer r.working.RUnlock()
	return r.advance(b, round+1)
}

// Close waits for the goroutines. The links must be closed before, so that no operation is pending.
func (r *Rounds) Close() error {
	r.mu.Lock()
	if !r.closed && len(r.queues) > 0 {
		close(r.queues[0])
	}
	r.closed = true
	r.mu.Unlock()
	r.workers.Wait()
	return nil
}
