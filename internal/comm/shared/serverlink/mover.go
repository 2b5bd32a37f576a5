package serverlink

import (
	"sync"
	"sync/atomic"
	"time"
)

// mover carries on the pushes of a link that are passed in pieces. Waiters do it on the way, so
// that who pushes and waits at once is never woken by another goroutine; while nobody waits, one
// of the mover's own does. Whoever it is moves all pushes that are under way: another trainer may
// have to wait for any of them.
type mover struct {
	link     *link
	pushes   []*push // that may go in pieces
	carrying sync.Mutex
	underway atomic.Int32  // pushes
	waiters  atomic.Int32  // who carry pushes on
	kicks    chan struct{} // holds a token if nobody else may do it
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

// take has a push carried on. Whoever sleeps, over other pushes, is woken to fill its slots: the
// server may have too few of its pieces to ring for any, and who has pushed need not wait.
func (m *mover) take(p *push) {
	m.underway.Add(1)
	p.pieces.underway.Store(true)
	m.link.client.bell.Ring()
	m.kick()
}

// attend says that somebody waits, and carries pushes on, until leave.
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

// carry moves every push that can be moved by a piece. Whoever looks meanwhile sees that it can be
// moved until it has been, so nobody falls asleep over what is being taken.
func (m *mover) carry() {
	if m.underway.Load() == 0 {
		return
	}
	m.carrying.Lock()
	defer m.carrying.Unlock()
	for _, p := range m.pushes {
		if m.link.Ended() {
			return // what is pending may have failed, and its gradient be used again
		}
		if p.pieces.canMove() && p.passOn() {
			m.underway.Add(-1)
		}
	}
}

// run carries pushes on while nobody waits.
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

// idle says that there is nothing to carry on, or somebody else who does it.
func (m *mover) idle() bool { return m.underway.Load() == 0 || m.waiters.Load() > 0 }

// settle waits, once the link has ended, until nobody touches a gradient.
func (m *mover) settle() {
	m.carrying.Lock()
	m.carrying.Unlock() //nolint:staticcheck // who gets the lock now sees that the link has ended
}

// stop waits for the end of the mover, once the link has ended.
func (m *mover) stop() {
	close(m.done)
	m.running.Wait()
}
