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
	epochsEvery atomic.Int64 // of so many epochs the first is told, up to MostEpochs; 0: of none

	// What a trainer stores after each iteration and Watch looks at now and then.
	done atomic.Int64  // iterations of the pass
	loss atomic.Uint64 // bits of that of the last one
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
func (e *Events) Begin(pass record.Pass) {
	e.pass.Store(int64(record.NoPass)) // while what follows is of neither
	e.done.Store(0)
	e.pass.Store(int64(pass))
}

// Iteration notes that one more iteration of the pass is done, for who asks; it costs some ns.
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

// Fail reports err. The first failures are what counts: when nobody listens
// and the queue is full, later ones are dropped.
func (e *Events) Fail(err error) {
	select {
	case e.Failures <- err:
	default:
	}
}

// MostEpochs is how many epochs of a pass are told at most. Where an epoch is some µs, to
// tell of them without end would cost more than they do, and how far a long pass is, its
// iterations say.
const MostEpochs = 10

// TellEpochs has the first of every so many epochs told, MostEpochs times in a pass, or of 0
// none.
func (e *Events) TellEpochs(every int) { e.epochsEvery.Store(int64(every)) }

// Epoch reports that an epoch begins, or drops the news if nobody listens.
func (e *Events) Epoch(n int) {
	if every := e.epochsEvery.Load(); every == 0 || int64(n)%every != 0 || int64(n)/every >= MostEpochs {
		return
	}
	select {
	case e.Epochs <- Epoch{record.Pass(e.pass.Load()), n}:
	default:
	}
}
