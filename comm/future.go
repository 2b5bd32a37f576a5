package comm

import "sync"

// Observer is told of a finished operation: key (a, b), start and end in ns of
// Now. It must not block.
type Observer interface {
	Observe(a, b, startNS, endNS int64)
}

// Future is the outcome of one operation on one bucket. A link owns one future
// per bucket and uses it again for the next batch; it is valid until then.
type Future struct {
	mu       sync.Mutex
	done     sync.Cond
	pending  bool
	err      error
	endNS    int64
	observer Observer
	a, b     int64
	startNS  int64
	// await, if it is set, drives the operation on the goroutine of a waiter,
	// until it has completed or its link has failed.
	await func()
	// explain, if it is set, words an error for whoever waits.
	explain func(error) error
}

// NewFuture returns a completed future.
func NewFuture() *Future {
	f := &Future{}
	f.done.L = &f.mu
	return f
}

// Completed returns a future that is done with err, stamped now.
func Completed(err error) *Future {
	f := NewFuture()
	f.err, f.endNS = err, Now()
	return f
}

// Begin marks the future as pending. It is false, and changes nothing, if the
// last operation is still pending.
func (f *Future) Begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending {
		return false
	}
	f.pending, f.err, f.observer, f.explain = true, nil, nil, nil
	return true
}

// Complete ends the operation, stamps its end and wakes the waiters. Only the
// first call after Begin counts.
func (f *Future) Complete(err error) { f.completeAt(err, Now()) }

// completeAt is Complete with the stamp of whoever really ended the operation.
func (f *Future) completeAt(err error, endNS int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.pending {
		return
	}
	f.pending, f.err, f.endNS = false, err, endNS
	if f.observer != nil && err == nil {
		f.observer.Observe(f.a, f.b, f.startNS, f.endNS)
	}
	f.done.Broadcast()
}

// Observe has o told of the operation under key (a, b) with the given start
// when it completes without error, or at once if it has.
func (f *Future) Observe(o Observer, a, b, startNS int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending {
		f.observer, f.a, f.b, f.startNS = o, a, b, startNS
	} else if f.err == nil {
		o.Observe(a, b, startNS, f.endNS)
	}
}

// Explain has words put into the operation's error, where it has one, before Wait returns
// it.
func (f *Future) Explain(words func(error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.explain = words
}

// Wait blocks until the operation is done and returns its error. The link that
// owns the future bounds the wait.
func (f *Future) Wait() error {
	if f.await != nil {
		f.await()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.pending {
		f.done.Wait()
	}
	if f.err != nil && f.explain != nil {
		return f.explain(f.err)
	}
	return f.err
}

// EndNS is the stamp of the last completion, in ns of Now.
func (f *Future) EndNS() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.endNS
}
