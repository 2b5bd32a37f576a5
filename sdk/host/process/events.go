package process

import (
	"sync/atomic"

	"github.com/psbench/psbench/sdk/host/record"
)

// Events is what a process tells the core on its own: how far it is, and what failed
// outside a call.
type Events struct {
	Failures chan error
	Epochs   chan Epoch // that begin

	pass atomic.Int64 // a record.Pass
}

// Epoch is an epoch of a pass, from 0. What is told of it may arrive when the next pass
// has begun.
type Epoch struct {
	Pass   record.Pass
	Number int
}

// NewEvents makes queues that hold what nobody has listened to yet.
func NewEvents() *Events {
	return &Events{Failures: make(chan error, 16), Epochs: make(chan Epoch, 16)}
}

// Begin says which pass begins.
func (e *Events) Begin(pass record.Pass) { e.pass.Store(int64(pass)) }

// Fail reports err. The first failures are what counts: when nobody listens
// and the queue is full, later ones are dropped.
func (e *Events) Fail(err error) {
	select {
	case e.Failures <- err:
	default:
	}
}

// Epoch reports that an epoch begins, or drops the news if nobody listens.
func (e *Events) Epoch(n int) {
	select {
	case e.Epochs <- Epoch{record.Pass(e.pass.Load()), n}:
	default:
	}
}
