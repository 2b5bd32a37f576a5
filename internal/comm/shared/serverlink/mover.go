package serverlink

import (
	"sync"
	"sync/atomic"
	"time"
)

// mover carries out a link's pushes in pieces. Waiters do the work, so a
// trainer that pushes and waits at once needs no other goroutine to wake it.
// Without waiters the mover's own goroutine does the work. Each of them moves
// all unfinished pushes, because another trainer may wait for any of them.
type mover struct {
	link     *link
	pushes   []*push // pushes that may go in pieces
	carrying sync.Mutex
	underway atomic.Int32  // unfinished pushes
	waiters  atomic.Int32  // number of waiters, which do the mover's work
	kicks    chan struct{} // holds a token if there may be no waiter
	done     chan struct{}
	running  sync.WaitGroup
}

// start makes the mover responsible for the pushes of l.
func (m *mover) start(l *link) {
	m.link, m.kicks, m.done = l, make(chan struct{}, 1), make(chan struct{})
	for _, p := range l.pushes {
		if p != nil && p.pieces != nil {
			m.pushes = append(m.pushes, p)
		}
	}
	if len(m.pushes) > 0 {
		m.running.Go(m.run)
	}
}

// take adds a push. take wakes the waiters for other pushes, so that they fill
// the push's slots. Otherwise the server may have too few pieces to ring, and
// the pushing trainer may never wait.
func (m *mover) take(p *push) {
	m.underway.Add(1)
	p.pieces.underway.Store(true)
	m.link.client.bell.Ring()
	m.kick()
}

// attend announces a waiter, which does the mover's work until leave.
func (m *mover) attend() { m.waiters.Add(1) }

func (m *mover) leave() {
	if m.waiters.Add(-1) == 0 && m.underway.Load() > 0 {
		m.kick()
	}
}

func (m *mover) kick() {
	select {
	case m.kicks <- struct{}{}:
	default: // there is a token already
	}
}

// canMove reports whether carry has anything to do.
func (m *mover) canMove() bool {
	if m.underway.Load() == 0 {
		return false
	}
	for _, p := range m.pushes {
		if p.pieces.canMove() {
			return true
		}
	}
	return false
}

// carry moves every push that can move by one piece. canMove stays true until
// the piece has moved, so no other waiter falls asleep in the meantime.
func (m *mover) carry() {
	if m.underway.Load() == 0 {
		return
	}
	m.carrying.Lock()
	defer m.carrying.Unlock()
	for _, p := range m.pushes {
		if m.link.Ended() {
			return // pending pushes may have failed and their gradients be reused
		}
		if p.pieces.canMove() && p.passOn() {
			m.underway.Add(-1)
		}
	}
}

// run does the mover's work while there is no waiter.
func (m *mover) run() {
	l := m.link
	for {
		select {
		case <-m.kicks:
		case <-m.done:
			return
		}
		for !l.Ended() && !m.idle() {
			l.client.bell.Wait(moves{m}, time.Time{})
			l.reap()
		}
	}
}

// moves is a shm.Condition: the mover can move a piece, or need not wait any
// more.
type moves struct{ m *mover }

func (w moves) Met() bool { return w.m.link.Ended() || w.m.idle() || w.m.canMove() }

// idle reports whether the mover's goroutine has no work: no push is
// unfinished, or a waiter does the work.
func (m *mover) idle() bool { return m.underway.Load() == 0 || m.waiters.Load() > 0 }

// settle waits until no goroutine touches a gradient. The link must have ended.
func (m *mover) settle() {
	m.carrying.Lock()
	m.carrying.Unlock() //nolint:staticcheck // the next holder sees that the link has ended
}

// stop waits for the mover's goroutine to end. The link must have ended.
func (m *mover) stop() {
	close(m.done)
	m.running.Wait()
}
