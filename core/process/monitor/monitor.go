// Package monitor watches the plugin processes of a run and finds the failure that
// explains the others. It also tells the psbench that started this one how far the run is.
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

// ErrInterrupted ends a run whose context was cancelled by the user.
var ErrInterrupted = errors.New("interrupted")

// Monitor hears of every failure and finds the one that explains the others.
// One failure causes many: a dead trainer breaks links, its server's trainers
// wait in vain. So the monitor waits a moment for the better explanation before
// it ends the run.
type Monitor struct {
	timeout time.Duration
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed when the verdict is there
	quit    chan struct{}
	owned   sync.WaitGroup

	mu       sync.Mutex
	where    string // the phase
	blames   []blame
	timer    *time.Timer
	cause    error
	suspects []string // of the cause
	stopped  bool
	heard    map[string]time.Time // last sign of life by process
	told     map[string]bool      // reported as silent
	cut      map[string]bool      // the connection to it broke
}

// How long to wait for a better explanation: a broken link is explained by a
// death, which is noticed within milliseconds; one wait in vain by another one
// further on, which began at about the same time. A plain error may come from a
// death as well: a connection that nobody accepts any more is one.
const (
	graceForPlain = 100 * time.Millisecond
	graceForDeath = 300 * time.Millisecond
	graceForWait  = 800 * time.Millisecond
)

// How much longer to wait where the death that would explain a failure may be on its way, which
// a busy machine delays: for the end of a process whose connection broke, and for a sign of life
// of one to which a link broke.
const (
	graceForEnd  = 5 * time.Second
	graceForSign = 2 * time.Second
)

// New makes the monitor of a run in which no wait takes longer than timeout, and
// the context that ends with the run.
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

// Phase notes what the run is doing, for the messages.
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

// lose notes that the connection to a process broke.
func (m *Monitor) lose(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut[name] = true
}

// listen reports processes that give no sign of life.
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
					Waiter: "the core", For: []string{name}, What: "a sign of life", Seconds: m.timeout.Seconds(),
				})
			}
		}
	}
}

// beatSlack is how late a heartbeat, which comes every second, may be.
const beatSlack = 1500 * time.Millisecond

// overdue lists, once, the processes that gave no sign of life for longer than
// any wait may take.
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

// Alive says whether a process gave a sign of life of late.
func (m *Monitor) Alive(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.heard[name]) <= beatSlack
}

// silent lists the processes that gave no sign of life for a while, the longest first: one that
// was stopped has been silent for longer than one that a busy machine starves.
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

// Report adds the failure of a call to a process.
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

// patience is how many times more to wait for the word of a process that others
// waited for in vain while it gave signs of life: a process that is neither dead
// nor stopped waits itself, and is about to say for whom. Who is silent meanwhile need not be
// that: a busy machine starves processes that nobody waits for.
const patience = 3

// conclude ends the run with the best explanation so far.
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

// mayBeDeath says whether a death that is yet to be told may have caused b.
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

// Blamed says whether a failure was told, maybe so late that the run came to its end meanwhile.
func (m *Monitor) Blamed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.blames) > 0
}

// Verdict waits for the explanation of err, which ended the run, or of the failures that were
// told.
func (m *Monitor) Verdict(err error) error {
	m.mu.Lock()
	if m.cause == nil && len(m.blames) == 0 {
		m.decideLocked(err) // nobody else knows of it
	}
	m.mu.Unlock()
	<-m.ended
	return m.cause
}

// Suspects are the processes that the verdict is about, if any is to blame.
func (m *Monitor) Suspects() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.suspects
}

// Stop ends all watching; deaths after it are no failures.
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
