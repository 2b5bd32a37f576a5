package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// These are the names of the times that Times returns.
const (
	DataTime       = "data"
	ComputeTime    = "compute"
	HookTime       = "hook"
	WaitingTime    = "waiting"
	TransferTime   = "transfer"
	ReductionTime  = "reduction"
	UnaccountedFor = "rest"
)

// Times divides the iterations of all trainers into times that add up to WallNS. The first times are fetching data,
// forward pass, backward pass and optimizer. The time of hooks is the time before they call their links, while they
// block the backward pass or the trainer is blocked. The rest of the exposed communication is waiting for the last
// trainer, reduction by a server that has the last gradient, and transfer. Transfer includes table lookups, copying of
// parameters, and additions among trainers. If hooks did not record their calls, there is no time of hooks.
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

// Straggler returns the trainer that delayed the others most, and the delay caused by all last trainers together. ok is
// false if no trainers wait for each other.
func (b *Breakdown) Straggler() (s Straggler, ok bool) {
	if b.Waiting == nil || len(b.Waiting.Last) == 0 {
		return s, false
	}
	iterations := 0 // iterations of all sets
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
	// CostNS is the mean delay that the trainer caused per iteration of its set. CostNS is how much earlier the other
	// trainers would have continued if this trainer had never been last. AllNS is the mean delay caused by all
	// trainers.
	CostNS, AllNS int64
}

// span is a period of time.
type span struct{ startNS, endNS int64 }

// reductionNS returns the part of the exposed communication during which a server reduced a bucket. reductionNS counts
// the time in which the trainer's server had all gradients of the bucket and the trainer's hook had called its links.
// reductionNS does not count waiting for the last trainer.
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

// lastOf returns, for each iteration, when the last of the trainers connected with this one was ready. lastOf returns
// nil if the trainer is connected with no other.
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

// reductions returns the spans in which a server had received all gradients of a bucket but had not yet answered all
// trainers. The spans are sorted and free of overlaps.
func reductions(server trainer) []span {
	all, stragglers := server.series(answered), server.series(straggler)
	if all == nil || stragglers == nil {
		return nil
	}
	arrived := map[[2]int64]int64{} // keyed by batch and bucket
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
