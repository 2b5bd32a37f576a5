package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/psbench/psbench/core/record/result"
)

// Seen describes how much of its data a run used for training.
type Seen struct {
	Samples, Batches int // per epoch, including those that were left out
	Dropped          int // batches of each epoch that no trainer got
	// DroppedShare is the share of an epoch's samples that no trainer got. LateShare is the share that a pass did not
	// reach because it was shorter than an epoch. Both lie between 0 and 1.
	DroppedShare, LateShare float64
	Trained                 int64 // samples of the whole pass; a sample counts each time that it is used
	HeldOut                 int   // number of held-out samples
}

// LeftOut returns the share of an epoch's samples that the run never used, from 0 to 1.
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

// Unseen describes the data that a cell left out. Share is the left-out share of an epoch's samples, from 0 to 1. It
// counts only the data that matters for a given metric.
type Unseen struct {
	Seen
	Share float64
}

// Learnt reports whether the comparison involves what the models learned: the metric depends on learning, or runs have
// a held-out loss.
func Learnt(cells []*Cell, m Metric) bool {
	return m.Learns() || slices.ContainsFunc(cells, func(c *Cell) bool { return len(c.Of(HeldOutLoss)) > 0 })
}

// UnseenOf returns the left-out data of each cell that has runs. It returns nil if no cell left out data. It also
// returns nil if all cells left out the same share and the metric does not depend on learning. Data that a short pass
// did not reach counts only if Learnt is true.
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

// settleUnseen records which data the runs left out. If any run left out data, it sets the metric LeftOut of each run
// and the Unseen of the cells that left out data. Otherwise it sets neither.
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
