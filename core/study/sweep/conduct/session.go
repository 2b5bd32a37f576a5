package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// session is one psbench's work on a sweep, from the lock to the end.
type session struct {
	dir      string
	options  Options
	place    place
	plan     *sweep.Plan
	journal  *journal.Writer
	account  Account
	binaries []watched
	began    time.Time
	spent    time.Duration // by runs of earlier sessions
	failures int           // but for those that run again

	generation uint64         // the highest of the journals
	repeated   map[string]int // runs that are to run again after that many attempts
}

// look reads what has become of every run.
func (s *session) look() error {
	events, err := journal.Read(filepath.Join(s.dir, journalName))
	if err != nil {
		return err
	}
	if s.account, err = accountOf(s.dir, s.plan, events); err != nil {
		return err
	}
	s.spent, s.generation, s.failures = spent(events), journal.Generation(events), 0
	for i := range s.account {
		if e := &s.account[i]; e.State == journal.Failed && !s.open(e) {
			s.failures++
		}
	}
	return nil
}

// again has what has failed so far run once more.
func (s *session) again() {
	s.repeated, s.failures = map[string]int{}, 0
	for _, e := range s.account {
		if e.State == journal.Failed {
			s.repeated[e.ID()] = e.Attempts
		}
	}
}

// open says that a run is to run.
func (s *session) open(e *Entry) bool {
	if e.State != journal.Failed {
		return e.State != journal.Done
	}
	attempts, again := s.repeated[e.ID()]
	return again && attempts == e.Attempts
}

// EndedError is of a sweep that began or went on and did not come to its end, or some of whose
// runs failed. What it has so far stands.
type EndedError struct{ error }

func (e EndedError) Unwrap() error { return e.error }

// budgetError ends a sweep with a budget.
type budgetError struct{ error }

func (e budgetError) Unwrap() error { return e.error }

// errFull ends a sweep whose disk is full.
var errFull = errors.New("the disk is full: make room")

// run takes the turns one after the other.
func (s *session) run(ctx context.Context) error {
	if err := s.runs(ctx); err != nil {
		return s.ended(err)
	}
	return s.failed()
}

// failed is the error of a sweep that has come to its end, if runs of it failed.
func (s *session) failed() error {
	if failed := s.account.Counts()[journal.Failed]; failed > 0 {
		return EndedError{fmt.Errorf("%d of the %s of the sweep %s failed; psbench sweep status says why", failed,
			screen.Count(len(s.account), "run"), quote.Word(s.dir))}
	}
	return nil
}

func (s *session) runs(ctx context.Context) error {
	if g, ok := s.place.(*together); ok {
		return s.runTogether(ctx, g)
	}
	ctx, cancel := s.budgeted(ctx, s.began)
	defer cancel()
	// Another run may come before it, so it is said first.
	for i := range s.account {
		if err := s.mourn(&s.account[i]); err != nil {
			return err
		}
	}
	for i := range s.account {
		if err := s.turn(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// budgeted ends ctx when the budget of time is used up of which earlier runs left something at a time.
func (s *session) budgeted(ctx context.Context, from time.Time) (context.Context, context.CancelFunc) {
	budget := s.plan.Budget.Time
	if budget <= 0 {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, from.Add(budget-s.spent),
		budgetError{fmt.Errorf("its budget of %v is used up", budget)})
}

// mourn enters into the journal that a run which ran when its psbench was killed runs no more.
func (s *session) mourn(e *Entry) error {
	if e.State != journal.Running {
		return nil
	}
	e.Reason = wasKilled
	return s.note(e, journal.Waiting)
}

// wasKilled is why a run waits whose psbench is no more.
const wasKilled = "it was killed"

// ended is the error of a sweep that ends early, in one sentence.
func (s *session) ended(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w (%w)", errFull, err)
	}
	counts, goesOn := s.account.Counts(), "the same command"
	if errors.As(err, new(budgetError)) {
		goesOn = "the same command with a larger budget"
	}
	return EndedError{fmt.Errorf(
		"the sweep %s has ended early: %w; of its %s %d are done and %d failed, and %s goes on with the others",
		quote.Word(s.dir), err, screen.Count(len(s.account), "run"), counts[journal.Done], counts[journal.Failed],
		goesOn)}
}

// turn takes the run at a place of the account to its end, unless it has one. An error ends the
// sweep.
func (s *session) turn(ctx context.Context, i int) error {
	e := &s.account[i]
	switch {
	case e.Adopted:
		return s.note(e, journal.Done)
	case !s.open(e):
		return nil
	}
	if err := s.mayStart(ctx, e); err != nil {
		return err
	}
	path := s.place.folder(e.Turn)
	if err := makeRoom(filepath.Dir(path)); err != nil {
		return err
	}
	s.at("folder before rename: " + path)
	if err := moveAside(path); err != nil {
		return err
	}
	s.at("folder after rename: " + path)
	e.Attempts, e.Reason, e.Seconds = e.Attempts+1, "", 0
	if err := s.note(e, journal.Running); err != nil {
		return err
	}
	s.tell(i)
	start := time.Now()
	said, late := s.execute(ctx, e.Turn)
	s.at("run after end: " + e.ID())
	e.Seconds = time.Since(start).Seconds()
	if err := s.judge(ctx, e, path, said, late); err != nil {
		return err
	}
	s.tell(i)
	return nil
}

// mayStart says what keeps a run from being started.
func (s *session) mayStart(ctx context.Context, e *Entry) error {
	if err := interrupted(ctx); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if takes := s.account.expected(s.plan)(e.Cell); time.Until(deadline) < takes {
			return budgetError{fmt.Errorf("its budget of %v has less left than the %v that the next run takes",
				s.plan.Budget.Time, takes.Round(time.Millisecond))}
		}
	}
	if most := s.plan.Budget.Failures; most > 0 && s.failures >= most {
		return budgetError{fmt.Errorf("%s failed, which is its budget", screen.Count(s.failures, "run"))}
	}
	if err := s.able(); err != nil {
		return err
	}
	return unchanged(s.binaries)
}

// able says what keeps this psbench from running anything: another one may write where it does, or what its runs need
// is lost.
func (s *session) able() error {
	if err := s.place.held(); err != nil || s.options.Able == nil {
		return err
	}
	return s.options.Able()
}

// judge enters into the journal how a run ended. Its folder decides: what is complete is done,
// however its process ended; of one that was ended since it was late, that is why it failed.
func (s *session) judge(ctx context.Context, e *Entry, path, said string, late bool) error {
	wrong, err := incomplete(path)
	if err != nil {
		return err
	}
	if wrong == "" {
		if err := s.place.keep(e.Turn); err != nil {
			return err
		}
		return s.note(e, journal.Done)
	}
	if e.Reason = reasonOf(path, wrong, said); late {
		e.Reason = fmt.Sprintf("it took longer than %v, which is the run_timeout, and was ended", s.plan.RunTimeout)
	}
	if err := interrupted(ctx); err != nil {
		e.Reason = "it was interrupted"
		return errors.Join(s.note(e, journal.Waiting), err)
	}
	if err := s.able(); err != nil { // which may be why it failed
		return errors.Join(s.note(e, journal.Waiting), err)
	}
	if full := s.full(e.Reason); full {
		_ = s.note(e, journal.Waiting) // which may not get onto the disk either
		return fmt.Errorf("%w (%s)", errFull, e.Reason)
	}
	if err := s.place.show(e.Turn); err != nil {
		return err
	}
	s.failures++
	return s.note(e, journal.Failed)
}

// full says that a run failed since the disk is full, which is not its fault.
func (s *session) full(reason string) bool {
	var disk unix.Statfs_t
	if err := unix.Statfs(s.dir, &disk); err == nil && disk.Bavail == 0 {
		return true
	}
	return strings.Contains(reason, unix.ENOSPC.Error()) || strings.Contains(reason, unix.EDQUOT.Error())
}

// note enters a state into the journal, which is on the disk then, and into the account.
func (s *session) note(e *Entry, state journal.State) error {
	e.State = state
	return s.journal.Append(journal.Event{Run: e.ID(), State: state, Folder: e.Folder, Seconds: e.Seconds,
		Reason: e.Reason})
}

func (s *session) tell(i int) {
	e := s.account[i]
	n := News{Entry: e, Cell: s.plan.Cells[e.Cell], Number: i + 1, Total: len(s.account), Counts: s.account.Counts(),
		Left: s.account.left(s.plan)}
	if e.State == journal.Done {
		if r, err := folder.Head(filepath.Join(s.dir, e.Folder)); err == nil {
			n.SamplesPerSecond = r.Throughput.SamplesPerSecond
		}
	}
	s.options.Tell(n)
}

// interrupted is why a sweep that is to end does.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return monitor.ErrInterrupted
	}
	return context.Cause(ctx)
}
