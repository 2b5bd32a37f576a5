package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/screen"
)

// Seen is how much of its data a run trained on.
type Seen struct {
	Samples, Batches int // of an epoch, with those that were left out
	Dropped          int // batches of each epoch that no trainer had
	// DroppedShare and LateShare are of the samples of an epoch: those that no trainer had, and those that came after the
	// end of a pass that was shorter.
	DroppedShare, LateShare float64
	Trained                 int64 // samples in the whole pass, each as often as it was trained on
	HeldOut                 int
}

// LeftOut is the share of the samples of an epoch that the run never trained on.
func (s Seen) LeftOut() float64 { return s.DroppedShare + s.LateShare }

func seenOf(r *result.Result) Seen {
	d := r.Data
	s := Seen{Samples: d.Samples, Batches: d.Batches, Dropped: d.DroppedBatches, Trained: r.Throughput.Samples, HeldOut: d.HeldOut}
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

// learns says whether a metric is of what was learnt, which depends on what was trained on.
func (m Metric) learns() bool {
	return m.Name == "final_loss" || strings.HasPrefix(m.Name, "held_out_")
}

// unseen is what a cell left out, as it matters by a metric.
type unseen struct {
	Seen
	share float64
}

// learnt says whether something that was learnt is compared: by the metric, or by held-out losses.
func learnt(cells []*Cell, m Metric) bool {
	return m.learns() || slices.ContainsFunc(cells, func(c *Cell) bool { return len(c.Of(HeldOutLoss)) > 0 })
}

// unseenOf is what each cell with runs left out, where that is to be told: where cells differ in it, or are compared by what
// was learnt. Data that a short pass did not come to counts only where something learnt is compared.
func unseenOf(cells []*Cell, m Metric) map[*Cell]unseen {
	learns := learnt(cells, m)
	out := map[*Cell]unseen{}
	least, most := math.Inf(1), 0.0
	for _, c := range cells {
		if len(c.Runs) == 0 {
			continue
		}
		u := unseen{Seen: slices.MaxFunc(c.Runs, func(a, b *Run) int { return cmp.Compare(a.Seen.LeftOut(), b.Seen.LeftOut()) }).Seen}
		if u.share = u.DroppedShare; learns {
			u.share = u.LeftOut()
		}
		out[c] = u
		least, most = min(least, u.share), max(most, u.share)
	}
	if most == 0 || most-least < 1e-9 && !m.learns() {
		return nil
	}
	return out
}

// settleUnseen notes what runs left out: as a metric where any left out something, and in the notes of cells.
func (s *Study) settleUnseen() {
	if !slices.ContainsFunc(s.allRuns(), func(r *Run) bool { return r.Seen.LeftOut() > 0 }) {
		return
	}
	for _, r := range s.allRuns() {
		if _, set := r.Values[LeftOut]; !set && r.Seen.Samples > 0 {
			r.Values[LeftOut] = 100 * r.Seen.LeftOut()
		}
	}
	for _, m := range Metrics {
		for c, u := range unseenOf(s.All(), m) {
			if u.share > 0 {
				if c.unseen == nil {
					c.unseen = map[string]unseen{}
				}
				c.unseen[m.Name] = u
			}
		}
	}
}

// why says what of an epoch is left out, and for what.
func (u unseen) why() string {
	var parts []string
	if u.Dropped > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s of each epoch, so that connected trainers run equally many", u.Dropped, batches(u.Batches)))
	}
	if u.LateShare > 0 && u.share > u.DroppedShare {
		parts = append(parts, "what comes after the end of a pass that was shorter than an epoch")
	}
	return strings.Join(parts, ", and ")
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return fmt.Sprintf("%d batches", n)
}

// sum is what was left out, in samples.
func (u unseen) sum() string {
	return fmt.Sprintf("%s of the %s", screen.Percent(u.share), screen.Count(u.Samples, "sample"))
}

// told is what was left out, and for what.
func (u unseen) told() string {
	if u.share == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s (%s)", u.sum(), u.why())
}

// mostAmounts bounds the amounts that a sentence tells one by one.
const mostAmounts = 4

// dataTexts say in what the data differs that cells of a contest trained on and were evaluated on.
func (o *contest) dataTexts() []string {
	if o.alone() {
		return nil
	}
	var out []string
	cells := slices.Concat(o.cells, o.bounds)
	work := ""
	if o.name != "" {
		work = o.name + ": "
	}
	if left := unseenOf(cells, o.metric); left != nil {
		out = append(out, work+leftOutText(cells, left))
	}
	if !learnt(cells, o.metric) {
		return out
	}
	if text := amounts(cells, trained); text != "" {
		out = append(out, work+"the cells trained on different amounts of data in all: "+text)
	}
	if text := amounts(cells, func(r *Run) float64 { return float64(r.Seen.HeldOut) }); text != "" {
		out = append(out, work+"the cells were evaluated on different data: "+text)
	}
	return out
}

// leftOutText says what each cell left out, those with the most first.
func leftOutText(cells []*Cell, left map[*Cell]unseen) string {
	names := map[string][]string{}
	shares := map[string]float64{}
	for _, c := range cells {
		u, runs := left[c]
		if !runs {
			continue
		}
		text := u.told()
		names[text], shares[text] = append(names[text], c.Name), u.share
	}
	order := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), strings.Compare(a, b))
	})
	text := ""
	if len(order) > 1 {
		text = "the cells learn from different data: "
	}
	var parts []string
	for _, what := range order[:min(mostAmounts, len(order))] {
		parts = append(parts, fmt.Sprintf("%s left out %s", named(names[what]), what))
	}
	if n := len(order) - len(parts); n > 0 {
		last := order[len(order)-1]
		parts = append(parts, fmt.Sprintf("others down to %s at %s, which the table shows", screen.Percent(shares[last]), named(names[last])))
	}
	return text + strings.Join(parts, "; ")
}

// otherData says in what the data of two cells that are compared differs; "" in nothing that matters.
func (p cells) otherData(m Metric) string {
	both := []*Cell{p.old, p.new}
	if left := unseenOf(both, m); left != nil && math.Abs(left[p.old].share-left[p.new].share) > 1e-9 {
		return fmt.Sprintf("the sides learn from different data: old left out %s, new %s", left[p.old].told(), left[p.new].told())
	}
	if !learnt(both, m) || amounts(both, trained) == "" {
		return ""
	}
	return fmt.Sprintf("the sides trained on different amounts of data in all: old on %s samples, new on %s",
		screen.Thousands(int64(medianOf(p.old, trained))), screen.Thousands(int64(medianOf(p.new, trained))))
}

func trained(r *Run) float64 { return float64(r.Seen.Trained) }

// medianOf is that of a number of the runs of a cell.
func medianOf(c *Cell, of func(*Run) float64) float64 {
	var values []float64
	for _, r := range c.Runs {
		values = append(values, of(r))
	}
	return judge.Of(values).Median
}

// amounts are the smallest and the largest median of cells in samples, "" where they are within 1 % of each other.
func amounts(cells []*Cell, of func(*Run) float64) string {
	var low, high *Cell
	medians := map[*Cell]float64{}
	for _, c := range cells {
		median := medianOf(c, of)
		if !(median > 0) {
			continue
		}
		if medians[c] = median; low == nil || median < medians[low] {
			low = c
		}
		if high == nil || median > medians[high] {
			high = c
		}
	}
	if low == nil || medians[high] <= 1.01*medians[low] {
		return ""
	}
	return fmt.Sprintf("from %s samples at %s to %s samples at %s", screen.Thousands(int64(medians[low])), low.Name, screen.Thousands(int64(medians[high])), high.Name)
}
