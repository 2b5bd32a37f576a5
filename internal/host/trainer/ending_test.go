package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// endless is a trainer that trains until the pass ends, like psbench's own trainers. The test's
// function runs in each step.
type endless struct {
	sdk.Trainer
	role    *Role
	step    func()
	forward func(*sdk.Batch) (tensor.Tensor, error)
}

func (e *endless) Train(ctx context.Context, report sdk.PassReport) error {
	for epoch := range math.MaxInt {
		if err := dataparallel.RunEpoch(ctx, "trainer0", epoch, e.role.parts, report,
			func(sdk.Key, *sdk.Batch) (float64, error) {
				e.step()
				return 1, nil
			}); err != nil {
			return err
		}
		if err := e.role.parts.Evaluation.Run(ctx, epoch, e.forward, e.role.parts.Criterion); err != nil {
			return err
		}
	}
	return nil
}

// newEndless makes the trainer of a world with 4 batches per epoch and some held-out samples.
func newEndless(t *testing.T, step func()) (*Role, *endless) {
	t.Helper()
	r := newWorldOn(t, holdingOut(false, [][]int64{{1, 2, 3, 0, 1}, {}, {3}}, 1, 0, 1), "toy", "shm", "{}").trainer
	e := &endless{Trainer: r.trainer, role: r, step: step, forward: r.parts.Model.Forward}
	r.trainer = e
	hosttest.Must(t, r.Reset())
	return r, e
}

// recorded returns the number of losses in a pass, and the epochs that ended with an evaluation.
func recorded(t *testing.T, r *Role) (losses int, evaluated []int) {
	t.Helper()
	hosttest.Must(t, r.Collect(func(piece record.Piece) error {
		switch p := piece.(type) {
		case record.Losses:
			losses += len(p)
		case *record.Evaluation:
			evaluated = append(evaluated, p.Epoch)
		}
		return nil
	}))
	return losses, evaluated
}

// A pass with a fixed number of iterations runs exactly these iterations, even if its last epoch
// stays incomplete. The trainer evaluates after each whole epoch and at its end.
func TestPassOfSoManyIterations(t *testing.T) {
	for length, want := range map[stop.Length]struct {
		losses    int
		evaluated []int
	}{
		{Iterations: 1}: {1, []int{0}},
		{Iterations: 3}: {3, []int{0}},
		{Iterations: 4}: {4, []int{0}},
		{Iterations: 5}: {5, []int{0, 1}},
		{Iterations: 8}: {8, []int{0, 1}},
		{Iterations: 9}: {9, []int{0, 1, 2}},
		{Epochs: 2}:     {8, []int{0, 1}},
	} {
		r, _ := newEndless(t, func() {})
		for range 2 {
			hosttest.Must(t, r.Reset())
			work, err := r.Train(t.Context(), length)
			hosttest.Must(t, err)
			losses, evaluated := recorded(t, r)
			if losses != want.losses || !slices.Equal(evaluated, want.evaluated) || work.EvaluatedNS <= 0 {
				t.Errorf("%+v: %d iterations, evaluated after %v, for %d ns, want %+v", length, losses, evaluated,
					work.EvaluatedNS, want)
			}
		}
	}
}

// timed is a running timed pass. Each of its steps waits for the test.
type timed struct {
	*Role
	steps chan struct{}
	cause error // why the pass ended
	ended chan struct{}
}

func startTimed(t *testing.T, ctx context.Context, timeout time.Duration) *timed { //nolint:revive // the context is of the pass, not of the test
	t.Helper()
	w := &timed{steps: make(chan struct{}), ended: make(chan struct{})}
	w.Role, _ = newEndless(t, func() {
		select {
		case <-w.steps:
		case <-ctx.Done():
		}
	})
	w.Timeout = timeout
	go func() {
		defer close(w.ended)
		_, w.cause = w.Train(ctx, stop.Length{})
	}()
	return w
}

// run lets the pass run this many iterations.
func (w *timed) run(t *testing.T, iterations int) {
	t.Helper()
	w.mu.Lock()
	done := w.ending.point.Done()
	w.mu.Unlock()
	for range iterations {
		select {
		case w.steps <- struct{}{}:
		case <-time.After(hosttest.Patience):
			t.Fatal("the pass does not go on")
		}
	}
	hosttest.Await(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.ending.point.Done() >= done+int64(iterations)
	})
}

// requireStill checks that the pass does not continue.
func (w *timed) requireStill(t *testing.T) {
	t.Helper()
	select {
	case w.steps <- struct{}{}:
		t.Fatal("the pass goes on")
	case <-w.ended:
		t.Fatalf("the pass has ended: %v", w.cause)
	case <-time.After(50 * time.Millisecond):
	}
}

func (w *timed) requireEnd(t *testing.T, iterations int) {
	t.Helper()
	<-w.ended
	hosttest.Must(t, w.cause)
	if losses, _ := recorded(t, w.Role); losses != iterations {
		t.Errorf("the pass has %d iterations, want %d", losses, iterations)
	}
}

// A trainer that reaches its bound before it gets the end waits there, and then continues to the
// end. A trainer that gets the end earlier continues past its bound without waiting.
func TestTimedPassEndsWhereItIsTold(t *testing.T) {
	w := startTimed(t, t.Context(), hosttest.Patience)
	w.run(t, 3)
	if b := w.Bound(0); b != 4 {
		t.Fatalf("3 iterations ended, and the bound is %d", b)
	}
	w.run(t, 1)
	w.requireStill(t)
	hosttest.Must(t, w.End(6))
	w.run(t, 2)
	w.requireEnd(t, 6)

	w = startTimed(t, t.Context(), hosttest.Patience)
	if b := w.Bound(time.Hour); b != 1 {
		t.Fatalf("no iteration ended, and the bound is %d", b)
	}
	hosttest.Must(t, w.End(2))
	w.run(t, 2)
	w.requireEnd(t, 2)

	w = startTimed(t, t.Context(), hosttest.Patience) // the bound of this trainer is the end
	bound := w.Bound(0)
	w.run(t, 1)
	w.requireStill(t)
	hosttest.Must(t, w.End(bound))
	w.requireEnd(t, 1)
	if err := w.End(bound); err == nil {
		t.Error("it can be told twice where it ends")
	}
}

// The core may ask for a bound, and set the end, before the pass has begun.
func TestTimedPassMayBeToldBeforeItBegins(t *testing.T) {
	r, _ := newEndless(t, func() {})
	hosttest.Must(t, r.End(r.Bound(time.Second)))
	_, err := r.Train(t.Context(), stop.Length{})
	hosttest.Must(t, err)
	if losses, _ := recorded(t, r); losses != 1 {
		t.Errorf("the pass has %d iterations", losses)
	}
}

// A bound lies as many iterations ahead as the current pace gives in the requested time.
func TestPaceOfABound(t *testing.T) {
	for _, c := range []struct {
		ahead time.Duration
		done  int64
		took  time.Duration
		want  int64
	}{
		{time.Second, 0, time.Second, 0},
		{time.Second, 10, time.Second, 10},
		{200 * time.Millisecond, 1000, 2 * time.Second, 100},
		{time.Second, 1_000_000_000, time.Second, 1_000_000_000},
		{time.Second, 1, 0, 1_000_000},
		{time.Millisecond, 3, time.Second, 0},
	} {
		t.Run(fmt.Sprint(c.ahead), func(t *testing.T) {
			if got := iterationsIn(c.ahead, c.done, c.took); got != c.want {
				t.Errorf("%d iterations in %s: %d in %s, want %d", c.done, c.took, got, c.ahead, c.want)
			}
		})
	}
}

// At its bound, a trainer waits for the core no longer than the timeout. The wait ends early if the
// run ends.
func TestTrainerAtItsBoundWaitsNotForEver(t *testing.T) {
	w := startTimed(t, t.Context(), 200*time.Millisecond)
	w.Bound(0)
	w.run(t, 1)
	<-w.ended
	if want := "trainer0 waited 0.2 s for the end of the pass from the core"; w.cause == nil ||
		w.cause.Error() != want {
		t.Errorf("it ended with %v, want %s", w.cause, want)
	}

	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	w = startTimed(t, ctx, hosttest.Patience)
	w.Bound(0)
	w.run(t, 1)
	w.requireStill(t)
	cancel(enough)
	<-w.ended
	if !errors.Is(w.cause, enough) {
		t.Errorf("it ended with %v", w.cause)
	}
}

// The last evaluation, after the end of a pass, stops if the run ends.
func TestLastEvaluationEndsWithTheRun(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, e := newEndless(t, func() {})
	calls := 0
	e.forward = func(b *sdk.Batch) (tensor.Tensor, error) {
		calls++
		cancel(enough)
		return r.parts.Model.Forward(b)
	}
	if _, err := r.Train(ctx, stop.Length{Iterations: 3}); !errors.Is(err, enough) || calls != 1 {
		t.Errorf("it ended after %d batches with %v", calls, err)
	}
}
