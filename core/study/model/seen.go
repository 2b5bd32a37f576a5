package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Seen is how much of its data a run trained on.
type Seen struct {
	Samples, Batches int // of an epoch, with those that were left out
	Dropped          int // batches of each epoch that no trainer had
	// DroppedShare and LateShare are of the samples of an epoch: those that no trainer had, and those that came after
	// the end of a pass that was shorter.
	DroppedShare, LateShare float64
	Trained                 int64 // samples in the whole pass, each as often as it was trained on
	HeldOut                 int
}

// LeftOut is the share of the samples of an epoch that the run never trained on.
func (s Seen) LeftOut() float64 { return s.DroppedShare + s.LateShare }

func seenOf(r *result.Result) Seen {
	d := r.Data
	s := Seen{Samples: d.Samples, Batches: d.Batches, Dropped: d.DroppedBatches, Trained: r.Throughput.Samples,
		HeldOut: d.HeldOut}
	if d.Samples <= 0 || len(d.SamplesPerTrainer) != len(d.BatchesPerTrainer) {
		return s
	}
	shared, late := 0, 0.0
	for rank, samples := range d.SamplesPerTrainer {
		shared += samples
		if batches := d.BatchesPerTrainer[rank]; rank < len(r.Losses) && len(r.Losses[rank]) < batches {
			late += float64(samples) * (1 - float64(len(r.Losses[rank]))/float64(batches))
		}
	}
	total := float64(d.Samples)
	s.DroppedShare, s.LateShare = max(0, 1-float64(shared)/total), late/total
	return s
}

// Unseen is what a cell left out, as it matters by a metric.
type Unseen struct {
	Seen
	Share float64
}

// Learnt says whether something that was learnt is compared: by the metric, or by held-out losses.
func Learnt(cells []*Cell, m Metric) bool {
	return m.Learns() || slices.ContainsFunc(cells, func(c *Cell) bool { return len(c.Of(HeldOutLoss)) > 0 })
}

// UnseenOf is what each cell with runs left out, where that is to be told: where cells differ in it, or are compared by
// what was learnt. Data that a short pass did not come to counts only where something learnt is compared.
func UnseenOf(cells []*Cell, m Metric) map[*Cell]Unseen {
	learns := Learnt(cells, m)
	out := map[*Cell]Unseen{}
	least, most := math.Inf(1), 0.0
	for _, c := range cells {
		if len(c.Runs) == 0 {
			continue
		}
		u := Unseen{
			Seen: slices.MaxFunc(c.Runs,
				func(a, b *Run) int { return cmp.Compare(a.Seen.LeftOut(), b.Seen.LeftOut()) }).Seen,
		}
		if u.Share = u.DroppedShare; learns {
			u.Share = u.LeftOut()
		}
		out[c] = u
		least, most = min(least, u.Share), max(most, u.Share)
	}
	if most == 0 || most-least < 1e-9 && !m.Learns() {
		return nil
	}
	return out
}

// settleUnseen notes what runs left out: as a metric where any left out something, and in the notes of cells.
func (s *Study) settleUnseen() {
	if !slices.ContainsFunc(s.AllRuns(), func(r *Run) bool { return r.Seen.LeftOut() > 0 }) {
		return
	}
	for _, r := range s.AllRuns() {
		if _, set := r.Values[LeftOut]; !set && r.Seen.Samples > 0 {
			r.Values[LeftOut] = 100 * r.Seen.LeftOut()
		}
	}
	for _, m := range Metrics {
		for c, u := range UnseenOf(s.All(), m) {
			if u.Share > 0 {
				if c.Unseen == nil {
					c.Unseen = map[string]Unseen{}
				}
				c.Unseen[m.Name] = u
			}
		}
	}
}
