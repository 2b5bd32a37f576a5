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

// session is the work of one psbench on a sweep, from taking the lock to the end.
type session struct {
	dir      string
	options  Options
	place    place
	plan     *sweep.Plan
	journal  *journal.Writer
	account  Account
	binaries []watched
	began    time.Time
	spent    time.Duration // time of the runs of earlier sessions
	failures int           // failed runs that are not repeated

	generation uint64         // highest generation of the journals
	repeated   map[string]int // by run ID: earlier attempts of each failed run to repeat
}

// look reads the state of every run.
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

// again marks all failed runs to be repeated once.
func (s *session) again() {
	s.repeated, s.failures = map[string]int{}, 0
	for _, e := range s.account {
		if e.State == journal.Failed {
			s.repeated[e.ID()] = e.Attempts
		}
	}
}

// open reports whether a run still has to run.
func (s *session) open(e *Entry) bool {
	if e.State != journal.Failed {
		return e.State != journal.Done
	}
	attempts, again := s.repeated[e.ID()]
	return again && attempts == e.Attempts
}

// EndedError reports that a sweep ended early or that some of its runs failed. The sweep keeps its results.
type EndedError struct{ error }

func (e EndedError) Unwrap() error { return e.error }

// budgetError reports that a budget is used up.
type budgetError struct{ error }

func (e budgetError) Unwrap() error { return e.error }

// errFull ends a sweep whose disk is full.
var errFull = errors.New("the disk is full: make room")

// run executes all runs one after the other.
func (s *session) run(ctx context.Context) error {
	if err := s.runs(ctx); err != nil {
		return s.ended(err)
	}
	return s.failed()
}

// failed returns an error if the sweep has failed runs.
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
	// Journal all killed runs first. Otherwise the journals would show them as running while another run runs.
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

// budgeted returns ctx with a deadline: the time from, plus the remaining time budget.
func (s *session) budgeted(ctx context.Context, from time.Time) (context.Context, context.CancelFunc) {
	budget := s.plan.Budget.Time
	if budget <= 0 {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, from.Add(budget-s.spent),
		budgetError{fmt.Errorf("its budget of %v is used up", budget)})
}

// mourn journals that a run is waiting again because its psbench was killed while it ran.
func (s *session) mourn(e *Entry) error {
	if e.State != journal.Running {
		return nil
	}
	e.Reason = wasKilled
	return s.note(e, journal.Waiting)
}

// wasKilled is the reason of a run that waits because its psbench was killed.
const wasKilled = "it was killed"

// ended returns the error of a sweep that err ended early. The error is one sentence.
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

// turn runs entry i of the account to its end, unless the run has ended already. Any error ends the sweep.
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

// mayStart returns an error if a run must not start.
func (s *session) mayStart(ctx context.Context, e *Entry) error {
	if err := interrupted(ctx); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if takes := s.account.expected(s.plan)(e.Cell); time.Until(deadline) < takes {
			return budgetError{fmt.Errorf("its budget of %v has less time left than the %v that the next run takes",
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

// able returns an error if this psbench must not start more runs: another psbench may write to the same files, or a
// resource that the runs need is lost.
func (s *session) able() error {
	if err := s.place.held(); err != nil || s.options.Able == nil {
		return err
	}
	return s.options.Able()
}

// judge journals how a run ended. A run with a complete folder is done, however its process ended. A run that psbench
// ended after the timeout has failed, with the timeout as the reason.
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
	if err := s.able(); err != nil { // the lost resource may be why the run failed
		return errors.Join(s.note(e, journal.Waiting), err)
	}
	if full := s.full(e.Reason); full {
		_ = s.note(e, journal.Waiting) // the journal may not fit on the disk either
		return fmt.Errorf("%w (%s)", errFull, e.Reason)
	}
	if err := s.place.show(e.Turn); err != nil {
		return err
	}
	s.failures++
	return s.note(e, journal.Failed)
}

// full reports whether a full disk made a run fail. Such a run does not count as failed.
func (s *session) full(reason string) bool {
	var disk unix.Statfs_t
	if err := unix.Statfs(s.dir, &disk); err == nil && disk.Bavail == 0 {
		return true
	}
	return strings.Contains(reason, unix.ENOSPC.Error()) || strings.Contains(reason, unix.EDQUOT.Error())
}

// note records a new state in the account and the journal. The event is on disk when note returns.
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

// interrupted returns the reason why the sweep must end, or nil if ctx has not ended.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return monitor.ErrInterrupted
	}
	return context.Cause(ctx)
}
