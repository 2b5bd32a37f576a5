package serverlink

import (
	"sync"
	"sync/atomic"
	"time"
)

// mover carries on the pushes of a link that go in pieces. Waiters do the work, so no other goroutine
// has to wake a trainer that pushes and waits at once. Without waiters the mover's own goroutine does
// it. Each of them moves all pushes that are under way, since another trainer may wait for any of them.
type mover struct {
	link     *link
	pushes   []*push // that may go in pieces
	carrying sync.Mutex
	underway atomic.Int32  // pushes
	waiters  atomic.Int32  // they carry pushes on
	kicks    chan struct{} // holds a token if there may be no waiter
	done     chan struct{}
	running  sync.WaitGroup
}

// start makes it move the pushes of l.
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

// take has a push carried on. It wakes waiters for other pushes to fill the push's slots: the
// server may have too few pieces to ring, and the trainer that pushed may never wait.
func (m *mover) take(p *push) {
	m.underway.Add(1)
	p.pieces.underway.Store(true)
	m.link.client.bell.Ring()
	m.kick()
}

// attend counts a waiter, which carries pushes on, until leave.
func (m *mover) attend() { m.waiters.Add(1) }

func (m *mover) leave() {
	if m.waiters.Add(-1) == 0 && m.underway.Load() > 0 {
		m.kick()
	}
}

func (m *mover) kick() {
	select {
	case m.kicks <- struct{}{}:
	default: // there is a token
	}
}

// canMove says whether there is anything to do for carry.
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

// carry moves by one piece every push that can be moved. canMove holds until the piece has moved, so
// no other waiter falls asleep meanwhile.
func (m *mover) carry() {
	if m.underway.Load() == 0 {
		return
	}
	m.carrying.Lock()
	defer m.carrying.Unlock()
	for _, p := range m.pushes {
		if m.link.Ended() {
			return // pending pushes may have failed, and their gradients be in use again
		}
		if p.pieces.canMove() && p.passOn() {
			m.underway.Add(-1)
		}
	}
}

// run carries pushes on while there is no waiter.
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

// moves is a shm.Condition: the mover can move a piece, or need not wait for one any more.
type moves struct{ m *mover }

func (w moves) Met() bool { return w.m.link.Ended() || w.m.idle() || w.m.canMove() }

// idle says that no push is under way, or that a waiter carries them on.
func (m *mover) idle() bool { return m.underway.Load() == 0 || m.waiters.Load() > 0 }

// settle waits, once the link has ended, until no goroutine touches a gradient.
func (m *mover) settle() {
	m.carrying.Lock()
	m.carrying.Unlock() //nolint:staticcheck // the next holder sees that the link has ended
}

// stop waits for the end of the mover, once the link has ended.
func (m *mover) stop() {
	close(m.done)
	m.running.Wait()
}
