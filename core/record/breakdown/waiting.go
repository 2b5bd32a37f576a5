package breakdown

import (
	"cmp"
	"iter"
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Waiting is the straggler wait: the exposed communication from when a trainer was ready until the last of its
// peers was ready. A trainer is ready once it is blocked and its hook has called its links.
type Waiting struct {
	TotalNS int64 // of all trainers
	// Last lists the trainers that were last at least once, the most costly one first.
	Last []Last
	// Sets counts the sets of trainers that wait for each other.
	Sets int
	// Close counts the iterations of all sets in which the last trainer is unknown, because trainers of two hosts
	// were ready at nearly the same time by clocks that may differ. BoundNS is the possible error of times between
	// trainers, 0 on one host; a wait of at most that counts as none.
	Close   int
	BoundNS int64

	sets []*set
}

// Last says how often a trainer was the last to be ready, and what that cost.
type Last struct {
	Rank  int
	Times int
	// Iterations counts the iterations in which the trainer had peers and the last one is known.
	Iterations int
	// BehindNS is the total time by which it was ready later than the second to last trainer, while others waited.
	// The others would have been released that much sooner if it had been ready with that trainer.
	BehindNS int64
}

// set is a set of connected trainers.
type set struct {
	ranks   []int
	exposed []*result.Series // by place in ranks
	hooks   [][]int64        // by place and iteration: the hook's own time in it; nil if not stamped
	clocks  []result.Clock   // by place in ranks
	// When the last trainer and the second to last were ready in each iteration, and the place of the last one.
	lastNS, beforeNS []int64
	last             []int32
}

// waiting returns nil if no trainers wait for each other.
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

// Durations yields the times in ns that trainers waited in their iterations.
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

// newSet returns nil if no trainer waits for another.
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

// compare finds the last trainer of each iteration, on equal times the one with the lowest rank, and sums up the
// costs. Connected trainers run the same iterations in the same order, so the place of a measurement is its
// iteration. If a run ended early, iterations that not all trainers finished are left out. close counts the
// iterations in which the clocks do not tell who was last.
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
	releasedNS := make([]int64, len(s.last)) // when all but the last one stopped waiting
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
