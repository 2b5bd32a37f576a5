package breakdown

import (
	"cmp"
	"iter"
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Waiting is what of the exposed communication passed from when a trainer was ready until the last of those
// that wait for each other was, too. A trainer is ready once it is blocked, and its hook's own time in that,
// before the hook calls its links, has passed as well.
type Waiting struct {
	TotalNS int64 // of all trainers
	// Last are the trainers that came last at least once, the one that cost most first.
	Last []Last
	// Sets is how many sets of trainers there are that wait for each other.
	Sets int
	// Close is in how many iterations of all sets nobody can tell who was last: another trainer, of another
	// host, was ready so little before that one that their clocks do not tell them apart. BoundNS is how
	// wrong times between trainers may be, 0 on one host; a wait that is not longer counts as none.
	Close   int
	BoundNS int64

	sets []*set
}

// Last is how often a trainer was the last one to be ready, and what that cost.
type Last struct {
	Rank  int
	Times int
	// Iterations are those in which it was compared with others, and somebody was last for sure.
	Iterations int
	// BehindNS is how much later it was ready than the one before it, in all those times, as far
	// as anybody else was still waiting: by so much the others would have been released
	// sooner, had it come with that one.
	BehindNS int64
}

// set is trainers that are connected.
type set struct {
	ranks   []int
	exposed []*result.Series // by place in ranks
	hooks   [][]int64        // likewise, by iteration: the hook's own time in that; nil where none was stamped
	clocks  []result.Clock   // likewise
	// In each iteration, when the last one and the one before it were ready, and which
	// one was the last, as its place.
	lastNS, beforeNS []int64
	last             []int32
}

// waiting is nil if there are no trainers that wait for each other.
func waiting(r *result.Result) *Waiting {
	w := &Waiting{}
	for _, ranks := range r.Connected {
		if s := newSet(r, ranks); s != nil {
			w.sets = append(w.sets, s)
			last, close := s.compare()
			w.Last, w.Close, w.BoundNS = append(w.Last, last...), w.Close+close, max(w.BoundNS, r.ApartNS(ranks))
		}
	}
	if len(w.sets) == 0 {
		return nil
	}
	for ns := range w.Durations() {
		w.TotalNS += ns
	}
	w.Sets = len(w.sets)
	slices.SortStableFunc(w.Last, func(a, b Last) int { return cmp.Compare(b.BehindNS, a.BehindNS) })
	return w
}

// Durations are the times that the trainers waited in their iterations, in ns.
func (w *Waiting) Durations() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, s := range w.sets {
			for place, exposed := range s.exposed {
				i := 0
				for m := range exposed.All() {
					if i == len(s.last) {
						break
					}
					hookNS := at(s.hooks[place], i)
					wait := min(m.DurationNS-hookNS, s.lastNS[i]-m.StartNS-hookNS)
					if wait <= s.clocks[place].ApartNS(s.clocks[s.last[i]]) {
						wait = 0
					}
					if !yield(wait) {
						return
					}
					i++
				}
			}
		}
	}
}

// newSet is nil where a trainer waits for no other.
func newSet(r *result.Result, ranks []int) *set {
	if len(ranks) < 2 {
		return nil
	}
	s := &set{ranks: ranks}
	iterations := -1
	for _, rank := range ranks {
		t := trainer{r, rank}
		exposed := t.series(Exposed)
		if exposed == nil {
			return nil
		}
		s.exposed, s.hooks, s.clocks = append(s.exposed, exposed), append(s.hooks, t.hookNS(exposed)), append(s.clocks,
			r.ClockOf(rank))
		if n := exposed.Len(); iterations < 0 || n < iterations {
			iterations = n
		}
	}
	s.lastNS, s.beforeNS, s.last = make([]int64, iterations), make([]int64, iterations), make([]int32, iterations)
	return s
}

// compare finds who was last in each iteration, of equals the one with the lowest rank, and
// sums it up. Connected trainers run the same iterations in the same order, so the place of a
// measurement is its iteration; what a trainer did beyond the others, in a run that ended
// early, is left out. close is in how many iterations clocks do not tell who was last.
func (s *set) compare() (all []Last, close int) {
	for place, exposed := range s.exposed {
		i := 0
		for m := range exposed.All() {
			if i == len(s.last) {
				break
			}
			switch readyNS := m.StartNS + at(s.hooks[place], i); {
			case place == 0:
				s.lastNS[i] = readyNS
			case readyNS > s.lastNS[i]:
				s.beforeNS[i], s.lastNS[i], s.last[i] = s.lastNS[i], readyNS, int32(place) // #nosec G115 -- a rank
			case place == 1 || readyNS > s.beforeNS[i]:
				s.beforeNS[i] = readyNS
			}
			i++
		}
	}
	releasedNS := make([]int64, len(s.last)) // when the wait of all but the last one had ended
	tied := make([]bool, len(s.last))
	for place, exposed := range s.exposed {
		i := 0
		for m := range exposed.All() {
			if i == len(s.last) {
				break
			}
			if int32(place) != s.last[i] { // #nosec G115 -- a rank
				releasedNS[i] = max(releasedNS[i], m.StartNS+m.DurationNS)
				if apart := s.clocks[place].ApartNS(s.clocks[s.last[i]]); apart > 0 &&
					s.lastNS[i]-m.StartNS-at(s.hooks[place], i) <= apart {
					tied[i] = true
				}
			}
			i++
		}
	}
	for _, t := range tied {
		if t {
			close++
		}
	}
	for _, rank := range s.ranks {
		all = append(all, Last{Rank: rank, Iterations: len(s.last) - close})
	}
	for i, place := range s.last {
		if tied[i] {
			continue
		}
		all[place].Times++
		all[place].BehindNS += max(0, min(s.lastNS[i], releasedNS[i])-s.beforeNS[i])
	}
	return slices.DeleteFunc(all, func(l Last) bool { return l.Times == 0 }), close
}
