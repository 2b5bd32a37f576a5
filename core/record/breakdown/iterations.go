package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Iteration is one iteration of trainers that wait for each other.
type Iteration struct {
	Epoch int64
	// NS is the time from the end of the previous iteration, or from the start of the epoch, until the slowest trainer
	// is done. If the trainers run on several hosts, each host measures this time for its own trainers, and NS is the
	// largest value. So NS never mixes two clocks.
	NS int64
}

// Iterations returns the iterations of each set of connected trainers in time order. If a run ended early, Iterations
// omits iterations that not all trainers of the set finished.
func Iterations(r *result.Result) [][]Iteration {
	var all [][]Iteration
	for _, ranks := range Sets(r) {
		var slowest []Iteration
		for i, some := range byHost(r, ranks) {
			list, _ := iterationsOf(r, some)
			if i == 0 {
				slowest = list
			}
			slowest = slowest[:min(len(slowest), len(list))]
			for k := range slowest {
				slowest[k].NS = max(slowest[k].NS, list[k].NS)
			}
		}
		if len(slowest) > 0 {
			all = append(all, slowest)
		}
	}
	return all
}

// byHost groups ranks by host.
func byHost(r *result.Result, ranks []int) (all [][]int) {
	places := map[string]int{}
	for _, rank := range ranks {
		host := r.ClockOf(rank).Host
		place, known := places[host]
		if !known {
			place, all = len(all), append(all, nil)
			places[host] = place
		}
		all[place] = append(all[place], rank)
	}
	return all
}

// Timed is an iteration of one trainer with the time of its end.
type Timed struct {
	Iteration
	EndNS int64 // on the clock of the series
}

// StartNS returns the end of the previous iteration, or the start of the epoch.
func (t Timed) StartNS() int64 { return t.EndNS - t.NS }

// IterationsOf returns the iterations of one trainer in time order.
func IterationsOf(r *result.Result, rank int) []Timed {
	list, ends := iterationsOf(r, []int{rank})
	out := make([]Timed, len(list))
	for i, it := range list {
		out[i] = Timed{it, ends[i]}
	}
	return out
}

// Sets returns the sets of connected trainers. If a result does not record a set for a trainer, the trainer forms its
// own set.
func Sets(r *result.Result) [][]int {
	all := slices.Clone(r.Connected)
	for _, p := range r.Processes {
		if p.Kind == "trainer" &&
			!slices.ContainsFunc(r.Connected, func(set []int) bool { return slices.Contains(set, p.Rank) }) {
			all = append(all, []int{p.Rank})
		}
	}
	return all
}

// iterationsOf returns the iterations of connected trainers, and when the slowest trainer ended each iteration.
func iterationsOf(r *result.Result, ranks []int) (list []Iteration, ends []int64) {
	starts := map[int64]int64{} // start of each epoch on its first trainer
	for place, rank := range ranks {
		first, last := trainer{r, rank}.ends()
		if first == nil {
			return nil, nil
		}
		epoch := int64(-1)
		for m := range first.All() {
			if m.Key.A == epoch {
				continue
			}
			epoch = m.Key.A
			if start, ok := starts[epoch]; !ok || m.StartNS < start {
				starts[epoch] = m.StartNS
			}
		}
		i := 0
		for m := range last.All() {
			end := m.StartNS + m.DurationNS
			switch {
			case place == 0:
				ends, list = append(ends, end), append(list, Iteration{Epoch: m.Key.A})
			case i < len(ends):
				ends[i] = max(ends[i], end)
			}
			i++
		}
		ends, list = ends[:min(i, len(ends))], list[:min(i, len(list))]
	}
	for i := range list {
		before := starts[list[i].Epoch]
		if i > 0 && list[i-1].Epoch == list[i].Epoch {
			before = ends[i-1]
		}
		list[i].NS = ends[i] - before
	}
	return list, ends
}
