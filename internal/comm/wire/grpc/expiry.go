package grpc

import (
	"sync"
	"time"
)

// expiry is a deadline that a select statement can wait for.
type expiry struct {
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
	over  chan struct{} // closed once the deadline (at) has passed
}

func (e *expiry) init() { e.over = make(chan struct{}) }

// passed returns a channel that is closed when the current deadline passes,
// unless set changes the deadline first.
func (e *expiry) passed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over
}

// set changes the deadline; the zero time means none.
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

// check runs when the timer fires. The deadline may have changed since the
// timer was set.
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
