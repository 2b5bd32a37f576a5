package grpc

import (
	"sync"
	"time"
)

// expiry is a deadline that a select can wait for.
type expiry struct {
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
	over  chan struct{} // closed once at has passed
}

func (e *expiry) init() { e.over = make(chan struct{}) }

// passed is closed when the deadline that is set now has passed, unless it is
// set anew before.
func (e *expiry) passed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over
}

// set moves the deadline; the zero time lifts it.
func (e *expiry) set(t time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at = t
	select {
	case <-e.over:
		e.over = make(chan struct{})
	default:
	}
	left := time.Until(t)
	switch {
	case t.IsZero():
	case left <= 0:
		close(e.over)
	case e.timer == nil:
		e.timer = time.AfterFunc(left, e.check)
	default:
		e.timer.Reset(left)
	}
}

// check runs when the timer fires, perhaps for a deadline that has moved since.
func (e *expiry) check() {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.over:
		return
	default:
	}
	if !e.at.IsZero() && !time.Now().Before(e.at) {
		close(e.over)
	}
}
