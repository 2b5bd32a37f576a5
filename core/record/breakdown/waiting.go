package breakdown

import (
	"cmp"
	"iter"
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Waiting is the straggler wait. Waiting is the part of the exposed communication from when a trainer was ready until
// the last of its peers was ready. A trainer is ready once it is blocked and its hook has called its links.
type Waiting struct {
	TotalNS int64 // summed over all trainers
	// Last lists the trainers that were last at least once, with the most costly trainer first.
	Last []Last
	// Sets is the number of sets of trainers that wait for each other.
	Sets int
	// Close is the number of iterations, over all sets, in which the last trainer is unknown. The last trainer is
	// unknown if trainers on two hosts were ready at nearly the same time and their clocks may differ. BoundNS is the
	// possible error of times between trainers, or 0 on one host. A wait that is not longer than BoundNS counts as no
	// wait.
	Close   int
	BoundNS int64

	sets []*set
}

// Last says how often a trainer was the last to be ready, and the delay that this caused.
type Last struct {
	Rank  int
	Times int
	// Iterations is the number of iterations in which the trainer had peers and the last trainer is known.
	Iterations int
	// BehindNS is the delay that the trainer caused. BehindNS is the time from when the second to last trainer was
	// ready until this trainer was, but only while others waited. BehindNS is summed over the iterations in which this
	// trainer was last.
	BehindNS int64
}

// set is a set of connected trainers.
type set struct {
	ranks   []int
	exposed []*result.Series // indexed like ranks
	hooks   [][]int64        // indexed like ranks, then by iteration: time of the hook; nil if not recorded
	clocks  []result.Clock   // indexed like ranks
	// For each iteration: when the last trainer and the second to last were ready, and the index of the last one.
	lastNS, beforeNS []int64
	last             []int32
}

// waiting returns the straggler wait of a result, or nil if no trainers wait for each other.
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

// Durations yields, for each trainer and iteration, how long the trainer waited, in ns.
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

// newSet returns the set of these trainers, or nil if none of them waits for another.
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

// compare finds the last trainer of each iteration and sums the delays. If several trainers are last, compare chooses
// the one with the lowest rank. Connected trainers run the same iterations in the same order, so the index of a
// measurement is the index of its iteration. If a run ended early, compare omits iterations that not all trainers
// finished. close counts the iterations in which the clocks are not accurate enough to find the last trainer.
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
	releasedNS := make([]int64, len(s.last)) // when all trainers but the last one stopped waiting
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
