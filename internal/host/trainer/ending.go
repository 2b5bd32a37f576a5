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

// ending is how a pass ends.
type ending struct {
	epochs int        // of a pass of so many
	point  stop.Point // of any other; Role.mu guards it
	known  chan struct{}
	// Of the context that Train has: what ends it, and its end; nil before the first pass.
	stop    context.CancelCauseFunc
	stopped <-chan struct{}
	outer   func() context.Context // that which ends only if the pass must, over or not
}

// forget prepares for the next pass, before its Train: the core may ask for a bound of a pass
// that is about to begin.
func (e *ending) forget() {
	e.epochs, e.point, e.known = 0, stop.Point{}, make(chan struct{})
}

// begin has a pass of some length end the context that it returns.
func (e *ending) begin(outer context.Context, length stop.Length) context.Context {
	ctx, cancel := context.WithCancelCause(outer)
	e.epochs, e.stop, e.stopped = length.Epochs, cancel, ctx.Done()
	e.outer = func() context.Context { return outer }
	if length.Iterations > 0 {
		e.point = stop.After(int64(length.Iterations))
	}
	return ctx
}

// mostWaits is how many times the timeout an iteration may take: a part of it that waits for
// others, who name whom they wait for, comes after one that computes.
const mostWaits = 2

// watch ends the run if no iteration ends and no batch is evaluated for twice the timeout, or if
// Train has not returned for as long as the timeout after its pass was over: others may wait for
// the trainer and report it, but a single trainer has no others. Call returned when Train has
// returned.
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

// signs counts what shows that the trainer goes on: iterations, batches taken and evaluated. Once
// the pass is over, evaluations alone are in order.
func (r *Role) signs(over bool) int64 {
	if over {
		return r.evaluation.count()
	}
	return r.Events.Done() + r.batches.taken.Load() + r.evaluation.count()
}

// late is the error of a pass without progress. Processes that wait for this trainer report it too.
// The process that this trainer waits for explains both errors.
func (r *Role) late(over bool) error {
	if over {
		return fmt.Errorf("%s has not ended its pass %g s after it was over", r.Title(), r.Timeout.Seconds())
	}
	return &comm.WaitError{Waiter: "the core", For: []string{r.Name()}, What: "the end of an iteration",
		Seconds: mostWaits * r.Timeout.Seconds()}
}

// evaluate evaluates after an epoch. That the pass is over does not end it: the last evaluation
// comes after that.
func (r *Role) evaluate(ctx context.Context, epoch int, forward func(*sdk.Batch) (tensor.Tensor, error),
	criterion sdk.Criterion) error {
	if errors.Is(context.Cause(ctx), sdk.ErrPassOver) {
		ctx = r.ending.outer()
	}
	return r.evaluation.run(ctx, epoch, forward, criterion)
}

// stepped goes on from an iteration that ended, or ends the pass, or says that the trainer must
// wait; r.mu is held.
func (r *Role) stepped() (wait bool) {
	switch r.ending.point.Step() {
	case stop.Over:
		r.ending.stop(sdk.ErrPassOver)
	case stop.Wait:
		return true
	}
	return false
}

// awaitEnd waits, where the trainer must not go on without knowing it, for word of where its
// pass ends.
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

// Bound promises not to go past an iteration, about so far ahead at the pace of the pass, until
// End. It waits for nothing that an iteration waits for.
func (r *Role) Bound(ahead time.Duration) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.ending.point
	return p.Bound(iterationsIn(ahead, p.Done(), time.Duration(comm.Now()-r.work.StartNS-r.evaluation.spentNS())))
}

// iterationsIn returns how many iterations fit into a time at the pace of the given ones.
func iterationsIn(ahead time.Duration, done int64, took time.Duration) int64 {
	return int64(float64(done) * ahead.Seconds() / max(took, time.Microsecond).Seconds())
}

// End says after how many iterations the pass ends.
func (r *Role) End(iterations int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ending.point.End(iterations); err != nil {
		return err
	}
	close(r.ending.known)
	return nil
}
