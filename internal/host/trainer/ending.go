package trainer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

// ending determines how a pass ends.
type ending struct {
	epochs int        // number of epochs, if that is the pass's length
	point  stop.Point // end of any other pass; guarded by Role.mu
	known  chan struct{}
	// stop cancels the context of Train, and stopped is closed when that context ends. stop and
	// stopped are nil before the first pass.
	stop    context.CancelCauseFunc
	stopped <-chan struct{}
	outer   func() context.Context // context that ends only if Train must return early
}

// forget prepares for the next pass before its Train. The core may ask for a bound when the pass is
// about to begin.
func (e *ending) forget() {
	e.epochs, e.point, e.known = 0, stop.Point{}, make(chan struct{})
}

// begin starts a pass and returns a context that ends with the pass.
func (e *ending) begin(outer context.Context, length stop.Length) context.Context {
	ctx, cancel := context.WithCancelCause(outer)
	e.epochs, e.stop, e.stopped = length.Epochs, cancel, ctx.Done()
	e.outer = func() context.Context { return outer }
	if length.Iterations > 0 {
		e.point = stop.After(int64(length.Iterations))
	}
	return ctx
}

// mostWaits is the multiple of the timeout that one iteration may take. An iteration may compute
// for one timeout and then wait for other processes for a second one. A failed wait names the late
// process.
const mostWaits = 2

// watch ends the run in two cases. First, no iteration ends and no batch is evaluated for twice the
// timeout. Second, Train does not return within the timeout after the pass is over. Other processes
// that wait for the trainer may report the late trainer too, but no process waits for a single
// trainer. Call returned when Train has returned.
func (r *Role) watch(ctx context.Context) (returned func()) {
	back, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(max(r.Timeout/20, time.Millisecond))
		defer tick.Stop()
		over, limit := ctx.Done(), mostWaits*r.Timeout
		signs, since := r.signs(false), time.Now()
		for {
			select {
			case <-back:
				return
			case <-over:
				if !errors.Is(context.Cause(ctx), sdk.ErrPassOver) {
					return
				}
				over, limit, since = nil, r.Timeout, time.Now()
			case now := <-tick.C:
				if s := r.signs(over == nil); s != signs {
					signs, since = s, now
				}
				if now.Sub(since) > limit {
					r.Fail(r.late(over == nil))
					return
				}
			}
		}
	}()
	return func() {
		close(back)
		<-ended
	}
}

// signs counts signs of progress: finished iterations, taken batches and evaluated batches. Once
// the pass is over, only evaluations count.
func (r *Role) signs(over bool) int64 {
	if over {
		return r.evaluation.count()
	}
	return r.Events.Done() + r.batches.taken.Load() + r.evaluation.count()
}

// late returns the error of a pass without progress. Processes that wait for this trainer report an
// error too. If this trainer waits for another process, that process's own error explains both.
func (r *Role) late(over bool) error {
	if over {
		return fmt.Errorf("%s has not ended its pass %g s after it was over", r.Title(), r.Timeout.Seconds())
	}
	return &comm.WaitError{Waiter: "the core", For: []string{r.Name()}, What: "the end of an iteration",
		Seconds: mostWaits * r.Timeout.Seconds()}
}

// evaluate evaluates the model after an epoch. If only the pass is over, evaluate still runs,
// because the last evaluation comes after the end of the pass.
func (r *Role) evaluate(ctx context.Context, epoch int, forward func(*sdk.Batch) (tensor.Tensor, error),
	criterion sdk.Criterion) error {
	if errors.Is(context.Cause(ctx), sdk.ErrPassOver) {
		ctx = r.ending.outer()
	}
	return r.evaluation.run(ctx, epoch, forward, criterion)
}

// stepped counts a finished iteration. stepped ends the pass if that iteration was the last one.
// stepped returns true if the trainer must wait. The caller holds r.mu.
func (r *Role) stepped() (wait bool) {
	switch r.ending.point.Step() {
	case stop.Over:
		r.ending.stop(sdk.ErrPassOver)
	case stop.Wait:
		return true
	}
	return false
}

// awaitEnd waits until the end of the pass is known. The trainer calls awaitEnd when it must not
// continue without knowing the end.
func (r *Role) awaitEnd() {
	timer := time.NewTimer(r.Timeout)
	defer timer.Stop()
	select {
	case <-r.ending.known:
	case <-r.ending.stopped:
		return
	case <-timer.C:
		r.ending.stop(&comm.WaitError{Waiter: r.Name(), For: []string{"the core"}, What: "the end of the pass",
			Seconds: r.Timeout.Seconds()})
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending.point.State() == stop.Over {
		r.ending.stop(sdk.ErrPassOver)
	}
}

// Bound returns an iteration that the trainer will not pass before End. At the pass's current pace,
// the trainer needs about the time ahead to reach that iteration. Bound does not wait for anything
// that an iteration waits for.
func (r *Role) Bound(ahead time.Duration) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.ending.point
	return p.Bound(iterationsIn(ahead, p.Done(), time.Duration(comm.Now()-r.work.StartNS-r.evaluation.spentNS())))
}

// iterationsIn returns how many iterations fit into the time ahead, if done iterations took the
// time took.
func iterationsIn(ahead time.Duration, done int64, took time.Duration) int64 {
	return int64(float64(done) * ahead.Seconds() / max(took, time.Microsecond).Seconds())
}

// End sets the number of iterations after which the pass ends.
func (r *Role) End(iterations int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ending.point.End(iterations); err != nil {
		return err
	}
	close(r.ending.known)
	return nil
}
