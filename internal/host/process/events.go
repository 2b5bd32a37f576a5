package process

import (
	"math"
	"sync/atomic"

	"github.com/psbench/psbench/internal/host/record"
)

// Events are the reports that a process sends to the core unasked: its progress, and failures
// outside a call.
type Events struct {
	Failures chan error
	Epochs   chan Epoch // epochs as they begin

	pass        atomic.Int64 // a record.Pass
	epochsEvery atomic.Int64 // report every so many epochs, up to MostEpochs; 0: none

	// A trainer updates done and loss after each iteration. Watch polls them.
	done atomic.Int64  // iterations of the pass
	loss atomic.Uint64 // bits of the last iteration's loss
}

// Epoch is the start of an epoch of a pass, counted from 0. The report may arrive after the next
// pass has begun.
type Epoch struct {
	Pass   record.Pass
	Number int
}

// NewEvents makes queues that hold events until the core listens.
func NewEvents() *Events {
	return &Events{Failures: make(chan error, 16), Epochs: make(chan Epoch, 16)}
}

// Begin records that a pass begins.
func (e *Events) Begin(pass record.Pass) {
	e.pass.Store(int64(record.NoPass)) // until the counts are reset, they belong to no pass
	e.done.Store(0)
	e.pass.Store(int64(pass))
}

// Iteration counts one finished iteration of the pass. The call takes a few ns. Only one goroutine
// at a time may call Iteration.
func (e *Events) Iteration(loss float64) {
	e.loss.Store(math.Float64bits(loss))
	e.done.Add(1)
}

// Done returns the number of finished iterations in the pass.
func (e *Events) Done() int64 { return e.done.Load() }

// Iterations returns the finished iterations, or none while a pass begins. The loss may already be
// the next iteration's.
func (e *Events) Iterations() record.Iterations {
	pass := record.Pass(e.pass.Load())
	done, loss := e.done.Load(), math.Float64frombits(e.loss.Load())
	if pass == record.NoPass || pass != record.Pass(e.pass.Load()) {
		return record.Iterations{}
	}
	return record.Iterations{Pass: pass, Done: done, Loss: loss}
}

// Fail reports err. Only the first failures matter: if the core does not listen and the
// queue is full, later ones are dropped.
func (e *Events) Fail(err error) {
	select {
	case e.Failures <- err:
	default:
	}
}

// MostEpochs is the maximum number of epochs that a process reports in a pass. Reporting epochs of
// a few µs would cost more than the epochs themselves. In a long pass, the count of iterations
// shows the progress.
const MostEpochs = 10

// TellEpochs sets which epochs the process reports: every so many, at most MostEpochs in a pass; 0
// means none.
func (e *Events) TellEpochs(every int) { e.epochsEvery.Store(int64(every)) }

// Epoch reports that an epoch begins, or drops the report if the core does not listen.
func (e *Events) Epoch(n int) {
	if every := e.epochsEvery.Load(); every == 0 || int64(n)%every != 0 || int64(n)/every >= MostEpochs {
		return
	}
	select {
	case e.Epochs <- Epoch{record.Pass(e.pass.Load()), n}:
	default:
	}
}
