// Package monitor watches the plugin processes of a run and finds the failure that explains the others. The package
// also reports the run's progress to the psbench that started this one.
package monitor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/fault"
)

// ErrInterrupted is the error of a run whose context the user cancelled.
var ErrInterrupted = errors.New("interrupted")

// Monitor collects failures and finds the one that caused the others. One failure has many effects: when a trainer
// dies, its links break, and the other trainers of its server time out. So the monitor waits a short time for a better
// explanation before it ends the run.
type Monitor struct {
	timeout time.Duration
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed when the verdict is known
	quit    chan struct{}
	owned   sync.WaitGroup

	mu       sync.Mutex
	where    string // current phase of the run
	blames   []blame
	timer    *time.Timer
	cause    error
	suspects []string // processes that may be to blame for the cause
	stopped  bool
	heard    map[string]time.Time // time of the last heartbeat, by process
	told     map[string]bool      // processes that were reported as silent
	cut      map[string]bool      // processes whose connection broke
}

// These constants say how long to wait for a better explanation of a failure. A death that broke a link is noticed
// within milliseconds. A wait that timed out may be caused by another wait further along, which began at about the same
// time. A plain error, such as a refused connection, may also be caused by a death.
const (
	graceForPlain = 100 * time.Millisecond
	graceForDeath = 300 * time.Millisecond
	graceForWait  = 800 * time.Millisecond
)

// These constants say how much longer to wait if a death may have caused the failure but was not reported yet. On a
// busy machine such reports are late. graceForEnd applies to a process whose connection broke. graceForSign applies to
// the next heartbeat of a process to which a link broke.
const (
	graceForEnd  = 5 * time.Second
	graceForSign = 2 * time.Second
)

// New returns a monitor for a run, and a context that ends when the run does. timeout limits every wait of the run.
func New(ctx context.Context, timeout time.Duration) (context.Context, *Monitor) {
	m := &Monitor{timeout: timeout, ended: make(chan struct{}), quit: make(chan struct{}),
		heard: map[string]time.Time{}, told: map[string]bool{}, cut: map[string]bool{}}
	outer := ctx
	ctx, m.cancel = context.WithCancelCause(ctx)
	m.owned.Go(func() {
		select {
		case <-outer.Done():
			m.decide(ErrInterrupted)
		case <-m.quit:
		}
	})
	m.owned.Go(m.listen)
	return ctx, m
}

// Phase records the current phase of the run, for messages.
func (m *Monitor) Phase(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.where = name
}

func (m *Monitor) hear(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard[name] = time.Now()
}

// lose records that the connection to a process broke.
func (m *Monitor) lose(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut[name] = true
}

// listen reports processes whose heartbeats have stopped.
func (m *Monitor) listen() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-m.quit:
			return
		case now := <-tick.C:
			for _, name := range m.overdue(now) {
				m.Report("the core", &comm.WaitError{
					Waiter: "the core", For: []string{name}, What: "a heartbeat", Seconds: m.timeout.Seconds(),
				})
			}
		}
	}
}

// beatSlack is how late a heartbeat may be. Heartbeats are sent every second.
const beatSlack = 1500 * time.Millisecond

// overdue returns the processes whose last heartbeat is older than the longest wait. overdue returns each process only
// once.
func (m *Monitor) overdue(now time.Time) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, name := range m.silent(now, m.timeout+beatSlack) {
		if !m.told[name] {
			m.told[name] = true
			names = append(names, name)
		}
	}
	return names
}

// Alive reports whether a process has sent a heartbeat recently.
func (m *Monitor) Alive(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.heard[name]) <= beatSlack
}

// silent returns the processes without a heartbeat for the time while, the longest silence first. A process that was
// stopped has been silent for longer than one that a busy machine starves.
func (m *Monitor) silent(now time.Time, while time.Duration) []string {
	var names []string
	for name, last := range m.heard {
		if now.Sub(last) > while {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(m.heard[a].Compare(m.heard[b]), strings.Compare(a, b))
	})
	return names
}

func (m *Monitor) dead(name string, p Process) {
	m.mu.Lock()
	where := m.where
	over := m.stopped || m.cause != nil
	m.mu.Unlock()
	if !over {
		m.add(blame{from: name, death: p.Death(where)})
	}
}

// Report records that a call to a process failed.
func (m *Monitor) Report(name string, err error) {
	m.add(blame{from: name, failure: failureOf(err, name)})
}

func (m *Monitor) add(b blame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped || m.cause != nil {
		return
	}
	b.at = time.Now()
	m.blames = append(m.blames, b)
	if grace := b.grace(); grace == 0 {
		root := rootCause(m.blames)
		m.decideLocked(explain(m.blames), root.about()...)
	} else if m.timer == nil {
		m.timer = time.AfterFunc(grace, func() { m.conclude(patience) })
	}
}

// patience is how many more times to wait for the report of a live process for which others timed out. Such a process
// is neither dead nor stopped. Such a process waits itself, and will soon report for which process. A silent process is
// not necessarily the cause, because a busy machine also starves processes for which no one waits.
const patience = 3

// conclude ends the run with the best explanation so far. patience is how many more times it may wait instead.
func (m *Monitor) conclude(patience int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped || m.cause != nil {
		return
	}
	b := rootCause(m.blames)
	silent := m.silent(time.Now(), beatSlack)
	inVain := b.failure.Cause == fault.Wait && !anyOf(b.failure.About, silent)
	awaited := slices.DeleteFunc(slices.Clone(silent), func(name string) bool { return !awaited(name, m.blames) })
	switch {
	case m.mayBeDeath(b):
		m.timer = time.AfterFunc(graceForPlain, func() { m.conclude(patience) })
	case inVain && len(awaited) > 0:
		m.decideLocked(noSign(m.blames, awaited[0]), awaited[0])
	case inVain && patience > 0:
		m.timer = time.AfterFunc(graceForWait/2, func() { m.conclude(patience - 1) })
	case inVain && len(silent) > 0:
		m.decideLocked(noSign(m.blames, silent[0]), silent[0])
	default:
		m.decideLocked(explain(m.blames), b.about()...)
	}
}

// mayBeDeath reports whether b may have been caused by a death that is not reported yet.
func (m *Monitor) mayBeDeath(b blame) bool {
	past := time.Since(b.at)
	if len(m.cut) > 0 {
		return past < graceForEnd
	}
	return b.failure.Cause == fault.Peer && past < graceForSign &&
		slices.ContainsFunc(b.failure.About, func(name string) bool {
			heard, watched := m.heard[name]
			return watched && heard.Before(b.at)
		})
}

func (m *Monitor) decide(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decideLocked(err)
}

func (m *Monitor) decideLocked(err error, suspects ...string) {
	if m.cause != nil || m.stopped {
		return
	}
	m.cause, m.suspects = err, suspects
	m.cancel(err)
	close(m.ended)
}

// Blamed reports whether there was a failure, even if it came too late to end the run.
func (m *Monitor) Blamed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.blames) > 0
}

// Verdict waits for the failure that explains err. err ended the run, and may be nil if processes reported failures.
func (m *Monitor) Verdict(err error) error {
	m.mu.Lock()
	if m.cause == nil && len(m.blames) == 0 {
		m.decideLocked(err) // no process has reported a failure
	}
	m.mu.Unlock()
	<-m.ended
	return m.cause
}

// Suspects returns the processes that the verdict blames, if any.
func (m *Monitor) Suspects() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.suspects
}

// Stop ends all watching. Deaths after Stop do not count as failures.
func (m *Monitor) Stop() {
	m.mu.Lock()
	m.stopped = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Unlock()
	close(m.quit)
	m.cancel(nil)
	m.owned.Wait()
}
