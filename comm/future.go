package comm

import "sync"

// Observer gets each finished operation: its key (a, b), start and end in ns of
// Now. Observe must not block.
type Observer interface {
	Observe(a, b, startNS, endNS int64)
}

// Ender is notified when an operation succeeds, before waiters resume. The
// operation's result is already in place. Ended must not block.
type Ender interface{ Ended() }

// Future is the outcome of one operation on one bucket. A link owns one future
// per bucket and reuses it for the next batch; the future is valid until then.
type Future struct {
	mu       sync.Mutex
	done     sync.Cond
	pending  bool
	awaited  bool
	err      error
	endNS    int64
	observer Observer
	a, b     int64
	startNS  int64
	ender    Ender
	// drive, if not nil, carries the operation out on a waiter's goroutine.
	// drive returns once the operation has completed, its link has failed, or
	// another goroutine takes over.
	drive func()
	// explain, if not nil, rewords an error for waiters.
	explain func(error) error
}

// Completed returns a future that is done with err, stamped now.
func Completed(err error) *Future {
	f := &Future{err: err, endNS: Now()}
	f.done.L = &f.mu
	return f
}

// Observe calls o with the key (a, b) and the given start when the operation
// completes without error. If the operation already has, Observe calls o at
// once.
func (f *Future) Observe(o Observer, a, b, startNS int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending {
		f.observer, f.a, f.b, f.startNS = o, a, b, startNS
	} else if f.err == nil {
		o.Observe(a, b, startNS, f.endNS)
	}
}

// Follower is an Ender that passes each notification on to the future's previous Ender.
type Follower interface {
	Ender
	Follows(Ender)
}

// Then notifies e when the operation ends without error. If the operation
// already has, Then notifies e at once. Then replaces the previous Ender; if e
// is a Follower, it passes the notification on to that Ender.
func (f *Future) Then(e Ender) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending {
		if follower, ok := e.(Follower); ok && f.ender != nil {
			follower.Follows(f.ender)
		}
		f.ender = e
	} else if f.err == nil {
		e.Ended()
	}
}

// Explain makes Wait pass the operation's error through words.
func (f *Future) Explain(words func(error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.explain = words
}

// Wait blocks until the operation is done and returns its error. The link that
// owns the future bounds the wait.
func (f *Future) Wait() error {
	if f.drive != nil {
		f.drive()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.pending {
		f.done.Wait()
	}
	f.awaited = true
	if f.err != nil && f.explain != nil {
		return f.explain(f.err)
	}
	return f.err
}

// Awaited reports whether Wait has returned from the operation, so that a
// caller knows the outcome.
func (f *Future) Awaited() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.awaited
}

// EndNS is the time of the last completion, in ns of Now.
func (f *Future) EndNS() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.endNS
}

// Promise is the side of a future that ends the operation.
type Promise struct{ future Future }

// NewPromise returns a promise whose future is done. If drive is not nil, it
// carries the operation out on a waiter's goroutine. drive returns when the
// operation is over or another goroutine takes over.
func NewPromise(drive func()) *Promise {
	p := &Promise{Future{drive: drive}}
	p.future.done.L = &p.future.mu
	return p
}

// Future returns the side of the promise that callers wait on.
func (p *Promise) Future() *Future { return &p.future }

// Begin marks the future as pending. Begin returns false, and changes nothing,
// if the last operation is still pending.
func (p *Promise) Begin() bool {
	f := &p.future
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending {
		return false
	}
	f.pending, f.awaited, f.err, f.observer, f.ender, f.explain = true, false, nil, nil, nil, nil
	return true
}

// Complete ends the operation, stamps its end and wakes the waiters. Only the
// first call after Begin counts.
func (p *Promise) Complete(err error) { p.CompleteAt(err, Now()) }

// CompleteAt is Complete with an explicit end time, for an operation that ended
// earlier than this call.
func (p *Promise) CompleteAt(err error, endNS int64) {
	f := &p.future
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.pending {
		return
	}
	if f.ender != nil && err == nil {
		f.ender.Ended()
	}
	f.pending, f.err, f.endNS = false, err, endNS
	if f.observer != nil && err == nil {
		f.observer.Observe(f.a, f.b, f.startNS, f.endNS)
	}
	f.done.Broadcast()
}
