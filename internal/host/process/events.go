package process

import (
	"math"
	"sync/atomic"

	"github.com/psbench/psbench/internal/host/record"
)

// Events is what a process tells the core on its own: how far it is, and what failed
// outside a call.
type Events struct {
	Failures chan error
	Epochs   chan Epoch // that begin

	pass        atomic.Int64 // a record.Pass
	epochsEvery atomic.Int64 // every so many epochs one is reported, up to MostEpochs; 0: none

	// What a trainer stores after each iteration and Watch looks at now and then.
	done atomic.Int64  // iterations of the pass
	loss atomic.Uint64 // bits of the last iteration's loss
}

// Epoch is an epoch of a pass, from 0. Its report may arrive after the next pass has begun.
type Epoch struct {
	Pass   record.Pass
	Number int
}

// NewEvents makes queues that hold events until the core listens.
func NewEvents() *Events {
	return &Events{Failures: make(chan error, 16), Epochs: make(chan Epoch, 16)}
}

// Begin says which pass begins.
func (e *Events) Begin(pass record.Pass) {
	e.pass.Store(int64(record.NoPass)) // while what follows is of neither
	e.done.Store(0)
	e.pass.Store(int64(pass))
}

// Iteration counts one more finished iteration of the pass; it costs some ns.
// One goroutine at a time calls it.
func (e *Events) Iteration(loss float64) {
	e.loss.Store(math.Float64bits(loss))
	e.done.Add(1)
}

// Done counts the iterations of the pass that were done so far.
func (e *Events) Done() int64 { return e.done.Load() }

// Iterations are those that were done so far; none while a pass begins. The loss may be that
// of the next one.
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

// MostEpochs is the maximum number of epochs that a process reports in a pass. Reports of epochs of
// some µs would cost more than the epochs. The count of iterations shows the progress of a long pass.
const MostEpochs = 10

// TellEpochs makes the process report the first of every so many epochs, MostEpochs times in a pass; 0:
// none.
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
