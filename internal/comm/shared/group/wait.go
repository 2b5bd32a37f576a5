package group

import (
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/op"
)

// condition is the progress that a step waits for from every other member.
type condition int

const (
	allPosted condition = iota
	allBegun
	allHalved
	allEnded
	allEndedBefore
	allFilled // the slots of this turn
)

// wait is the group's current wait. Only the driver waits, so there is one at a
// time.
type wait struct {
	g      *group
	what   condition
	number uint32 // number of the operation or turn
}

// Met implements shm.Condition: the wait is over, or the group has ended.
func (w *wait) Met() bool { return w.g.Ended() || w.over() }

// over reports whether every member has met the condition or left the group.
func (w *wait) over() bool {
	for _, m := range w.g.members {
		if !w.reached(m) && !m.left.Load() {
			return false
		}
	}
	return true
}

func (w *wait) reached(m *member) bool {
	var at uint32
	switch w.what {
	case allPosted:
		at = m.line(w.number).Posted.Load()
	case allBegun:
		at = m.begun.Load()
	case allHalved:
		at = m.halved.Load()
	case allEnded:
		at = m.ended.Load()
	case allEndedBefore:
		at = m.ended.Load() + 1
	case allFilled:
		at = m.filled.Load()
	}
	return int32(at-(w.number+1)) >= 0 // #nosec G115 -- counters wrap
}

// await waits until every other member has met the condition.
func (g *group) await(s *step, what condition) error {
	w := &g.waits
	w.what, w.number = what, s.number
	if what == allFilled {
		w.number = g.turn
	}
	deadline := s.op.Deadline
	if g.isAcross() && (what == allEnded || what == allFilled) {
		deadline = deadline.Add(relayGrace)
	}
	inTime := g.own.bell.Wait(w, deadline)
	var missing []string
	for _, m := range g.members {
		if m == g.own || w.reached(m) {
			continue
		}
		if m.left.Load() {
			return &comm.PeerError{Waiter: g.Self, Peer: m.name, What: s.describe(), Err: op.ErrLeft}
		}
		missing = append(missing, m.name)
	}
	switch {
	case g.Ended():
		return g.Closed() // the group already has its error
	case !inTime && len(missing) > 0:
		slices.Sort(missing)
		return g.Late(s.describe(), missing...)
	}
	return nil
}
