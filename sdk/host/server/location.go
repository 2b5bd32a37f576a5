package server

import (
	"slices"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// location is one bucket on a server: the batches that are in flight there, and
// what is measured of them.
type location struct {
	bucket           int
	trainers         int
	straggler, whole *sdk.Series
	pushes           []pendingPush // by trainer; where the server takes them itself
	chunks           []chunk       // where the host reduces them

	mu sync.Mutex
	// pendingNS is when each trainer's push arrived that has no answer yet, 0 if there
	// is none; where the server takes pushes itself.
	pendingNS []int64
	// rounds holds the batches that are not fully answered. A synchronous
	// server has two for a moment: a trainer that has its answer pushes the
	// next batch while the others still get theirs.
	rounds []*round
}

// round is one batch at one location. Arrivals and answers are counted in chunks; a
// push that comes whole is one chunk.
type round struct {
	open              bool
	batch             int64
	chunks            int   // of each push
	from              []int // chunks that arrived, by trainer
	arrived, answered int
	openedNS          int64 // when the first chunk arrived
	complete          int   // trainers all of whose chunks arrived
	firstNS, lastNS   int64 // when the first and the last of them were complete

	// Where the host reduces: chunks that are reduced, since when, and how long the
	// server's own calls took, in ns.
	reduced             int
	reducingNS, spentNS int64
}

// pendingPush is the push that a trainer has in flight at a location; it is
// used again for the next one.
type pendingPush struct {
	sdk.Push
	arrival *comm.Arrival
	round   *round
}

func (l *location) key(r *round) sdk.Key { return sdk.Key{A: r.batch, B: int64(l.bucket)} }

// arrive notes an arrival and returns its round.
func (l *location) arrive(a *comm.Arrival) *round {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.round(a)
	r.arrived++
	r.from[a.Trainer]++
	if l.pushes != nil {
		p := &l.pushes[a.Trainer]
		p.Batch, p.Gradient, p.arrival, p.round = a.Batch, a.Gradient, a, r
		l.pendingNS[a.Trainer] = a.AtNS
	}
	if r.from[a.Trainer] < r.chunks {
		return r
	}
	if r.complete++; r.complete == 1 {
		r.firstNS, r.lastNS = a.AtNS, a.AtNS
	}
	r.firstNS, r.lastNS = min(r.firstNS, a.AtNS), max(r.lastNS, a.AtNS)
	if r.complete == l.trainers {
		l.straggler.Record(l.key(r), r.firstNS, r.lastNS)
	}
	return r
}

// round finds the round of the arrival's batch or opens one.
func (l *location) round(a *comm.Arrival) *round {
	var free *round
	for _, r := range l.rounds {
		if r.open && r.batch == a.Batch && r.from[a.Trainer] < r.chunks {
			return r
		}
		if !r.open {
			free = r
		}
	}
	if free == nil {
		free = &round{from: make([]int, l.trainers)}
		l.rounds = append(l.rounds, free)
	}
	clear(free.from)
	*free = round{open: true, batch: a.Batch, chunks: a.Chunks, openedNS: a.AtNS, from: free.from}
	return free
}

// reduce notes that a chunk was reduced. With the last one it is true, and the
// round knows since when and how long.
func (l *location) reduce(r *round, startNS, spentNS int64) (all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.reduced++; r.reduced == 1 {
		r.reducingNS = startNS
	}
	r.reducingNS = min(r.reducingNS, startNS)
	r.spentNS += spentNS
	return r.reduced == r.chunks
}

// answerPush notes that a trainer's push is being answered; it may push again at once.
func (l *location) answerPush(p *pendingPush) (r *round, a *comm.Arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pendingNS[p.Trainer] = 0
	return p.round, p.arrival
}

// answer notes that some chunks were answered.
func (l *location) answer(r *round, chunks int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.answered += chunks; r.answered == l.trainers*r.chunks {
		l.whole.Record(l.key(r), r.firstNS, comm.Now())
		r.open = false
	}
}

// unanswered says that some pushes have no answer yet.
func (l *location) unanswered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.rounds, func(r *round) bool { return r.open && r.answered < r.arrived })
}

// overdue says which trainers (by position) a location has waited for at nowNS for
// longer than waitNS, and since which batch; nobody if it waits for none.
func (l *location) overdue(nowNS, waitNS int64) (missing []int, batch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pushes != nil {
		return l.overduePushes(nowNS, waitNS)
	}
	for _, r := range l.rounds {
		awaited := r.open && r.answered < r.arrived && r.complete < l.trainers
		if !awaited || nowNS-r.openedNS < waitNS {
			continue
		}
		for t, n := range r.from {
			if n < r.chunks {
				missing = append(missing, t)
			}
		}
		return missing, r.batch
	}
	return nil, 0
}

// overduePushes asks how long single pushes have waited: only the server knows which
// others it waits for, or how many, of whatever batch. Any trainer that waits for
// nothing here could be it. If all wait, it is the server itself that is late, and
// their own deadlines will tell.
func (l *location) overduePushes(nowNS, waitNS int64) (missing []int, batch int64) {
	late := slices.IndexFunc(l.pendingNS, func(ns int64) bool { return ns != 0 && nowNS-ns >= waitNS })
	if late < 0 {
		return nil, 0
	}
	for t, ns := range l.pendingNS {
		if ns == 0 {
			missing = append(missing, t)
		}
	}
	return missing, l.pushes[late].Batch
}
