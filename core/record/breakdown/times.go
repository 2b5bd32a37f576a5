package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Names of the times that Times returns.
const (
	DataTime       = "data"
	ComputeTime    = "compute"
	HookTime       = "hook"
	WaitingTime    = "waiting"
	TransferTime   = "transfer"
	ReductionTime  = "reduction"
	UnaccountedFor = "rest"
)

// Times divides the iterations of all trainers into times that add up to WallNS. They are: getting data, forward
// pass, backward pass and optimizer; hooks, while they block the backward pass or the blocked trainer before they
// call their links; and the rest of the exposed communication. That rest is waiting for the last trainer, reduction
// by a server that has the last gradient, and transfer, which includes table lookups and copying of parameters.
// Additions among trainers count as transfer. Without stamps of hook calls there is no time of hooks.
func (b *Breakdown) Times() []Part {
	ns := map[string]int64{UnaccountedFor: b.RestNS()}
	for _, p := range b.Parts {
		switch p.Name {
		case "data":
			ns[DataTime] += p.TotalNS
		case "forward", "backward", "optimizer":
			ns[ComputeTime] += p.TotalNS
		default:
			ns[TransferTime] += p.TotalNS
		}
	}
	if b.Waiting != nil {
		ns[WaitingTime] = b.Waiting.TotalNS
	}
	ns[ReductionTime] = b.reductionNS
	ns[TransferTime] -= ns[WaitingTime] + ns[ReductionTime]
	if b.Hook != nil {
		ns[HookTime] = b.Hook.ExposedNS + b.Hook.BackwardNS
		ns[ComputeTime] -= b.Hook.BackwardNS
		ns[TransferTime] -= b.Hook.ExposedNS
	}
	var times []Part
	for _, name := range []string{DataTime, ComputeTime, HookTime, WaitingTime, TransferTime, ReductionTime,
		UnaccountedFor} {
		if name != HookTime || b.Hook != nil {
			times = append(times, Part{name, ns[name]})
		}
	}
	return times
}

// Straggler returns the trainer that delayed the others most, and the delay by all last trainers together; ok is
// false if no trainers wait for each other.
func (b *Breakdown) Straggler() (s Straggler, ok bool) {
	if b.Waiting == nil || len(b.Waiting.Last) == 0 {
		return s, false
	}
	iterations := 0 // of all sets
	for _, l := range b.Waiting.Last {
		iterations += l.Times
	}
	s.Last = b.Waiting.Last[0]
	s.CostNS = s.BehindNS / int64(max(1, s.Iterations))
	for _, l := range b.Waiting.Last {
		s.AllNS += l.BehindNS
	}
	s.AllNS /= int64(max(1, iterations))
	return s, true
}

// Straggler is the trainer that delayed the others most.
type Straggler struct {
	Last
	// CostNS is how much earlier the others would have been released if it had never come last, as a mean over the
	// iterations of its set. AllNS is the same for all trainers together.
	CostNS, AllNS int64
}

// span is a time from start to end.
type span struct{ startNS, endNS int64 }

// reductionNS returns the exposed communication, without waiting, during which the trainer's server reduced a
// bucket with all its gradients while the trainer's hook had called its links.
func reductionNS(r *result.Result, w *Waiting) (total int64) {
	reducing := map[int][]span{}
	for _, p := range r.Processes {
		if p.Kind == "server" {
			reducing[p.Rank] = reductions(trainer{r, p.Rank})
		}
	}
	for _, p := range r.Processes {
		t := trainer{r, p.Rank}
		spans := reducing[ServerOf(r, p.Rank)]
		exposed := t.series(Exposed)
		if p.Kind != "trainer" || exposed == nil || len(spans) == 0 {
			continue
		}
		last, hook := w.lastOf(p.Rank), t.hookNS(exposed)
		i, next := 0, 0
		for m := range exposed.All() {
			from, end := m.StartNS+at(hook, i), m.StartNS+m.DurationNS
			if i < len(last) {
				from = min(max(from, last[i]), end)
			}
			i++
			for next < len(spans) && spans[next].endNS <= from {
				next++
			}
			for k := next; k < len(spans) && spans[k].startNS < end; k++ {
				total += max(0, min(end, spans[k].endNS)-max(from, spans[k].startNS))
			}
		}
	}
	return total
}

// lastOf returns, for each iteration, when the last of the trainers that wait for each other with this one was
// ready; nil if there are none.
func (w *Waiting) lastOf(rank int) []int64 {
	if w == nil {
		return nil
	}
	for _, s := range w.sets {
		if slices.Contains(s.ranks, rank) {
			return s.lastNS
		}
	}
	return nil
}

// reductions returns the spans in which a server had all gradients of a bucket but had not answered all, in order
// and without overlaps.
func reductions(server trainer) []span {
	all, stragglers := server.series(answered), server.series(straggler)
	if all == nil || stragglers == nil {
		return nil
	}
	arrived := map[[2]int64]int64{} // by batch and bucket
	for m := range stragglers.All() {
		arrived[[2]int64{m.Key.A, m.Key.B}] = m.StartNS + m.DurationNS
	}
	var spans []span
	for m := range all.All() {
		if from, ok := arrived[[2]int64{m.Key.A, m.Key.B}]; ok {
			spans = append(spans, span{from, max(from, m.StartNS+m.DurationNS)})
		}
	}
	return union(spans)
}
