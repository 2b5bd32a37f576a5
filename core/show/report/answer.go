package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/environment"
	"github.com/psbench/psbench/internal/screen"
)

// answer writes the main results of the run, one per line.
func answer(w *screen.Page, r *result.Result, b *breakdown.Breakdown) {
	if t := r.Throughput; t.Samples > 0 {
		w.Labelled("throughput", rate(t)+pass(r))
	}
	if b != nil {
		w.Labelled("per batch", perBatch(r, b))
		w.Labelled("stragglers", lastOnes(r, b))
	}
	if text := losses(r); text != "" {
		w.Labelled("loss", text+pass(r))
		w.Labelled("order", r.ArrivalOrder)
	}
	w.Labelled("evaluation", lastEvaluation(r))
	w.Labelled("checked", checks(r.Checks))
	w.Labelled("noise", environment.Noise(r.Noise))
	if spent := training(r); spent != nil && r.Complete {
		w.Labelled("training", spent.text()+", from the first fetch of the model to the last update")
	}
}

// rate formats the training throughput in samples per second.
func rate(t result.Throughput) string {
	return fmt.Sprintf("%.1f samples per second (%d samples in %.3f s%s)", t.SamplesPerSecond, t.Samples, t.Seconds,
		screen.GiveOrTake(t.SecondsBound*1e3))
}

// perBatch splits the time per iteration into its parts.
func perBatch(r *result.Result, b *breakdown.Breakdown) string {
	digits := precision(b)
	ms := func(totalNS int64) string { return strconv.FormatFloat(b.MeanMS(totalNS), 'f', digits, 64) }
	var parts []string
	for _, p := range b.Parts {
		parts = append(parts, p.Name+" "+ms(p.TotalNS)+inPart(b, p.Name, ms))
	}
	return fmt.Sprintf("%s ms%s: %s, rest %s", ms(b.WallNS), pass(r), strings.Join(parts, ", "), ms(b.RestNS()))
}

// inPart returns the hooks' own time and the straggler wait within a part, e.g. " (straggler wait 1.842)".
func inPart(b *breakdown.Breakdown, part string, ms func(totalNS int64) string) string {
	var of []string
	if ns, _ := hookIn(b, part); ns > 0 {
		of = append(of, "hook "+ms(ns))
	}
	if part == breakdown.Exposed.Name && b.Waiting != nil {
		of = append(of, "straggler wait "+ms(b.Waiting.TotalNS)+screen.GiveOrTake(float64(b.Waiting.BoundNS)/1e6))
	}
	if len(of) == 0 {
		return ""
	}
	return " (" + strings.Join(of, ", ") + ")"
}

// mostLast is the maximum number of trainers that lastOnes names.
const mostLast = 2

// lastOnes states which trainers came last, how often, and how much time that cost.
func lastOnes(r *result.Result, b *breakdown.Breakdown) string {
	if b.Waiting == nil {
		return ""
	}
	last := b.Waiting.Last
	names, cost := map[int]string{}, int64(0)
	for _, p := range ranksOf(r.Processes, "trainer") {
		names[p.Rank] = onHost(p)
	}
	for _, l := range last {
		cost += l.BehindNS
	}
	// describe returns e.g. "trainer1 9 of 25 times, 0.125 ms late, 60 % of the cost".
	describe := func(who string, l breakdown.Last, first bool) string {
		of, share := "", ""
		if first || b.Waiting.Sets > 1 {
			of = fmt.Sprintf(" of %d times", l.Iterations)
		}
		if cost > 0 && len(last) > 2 { // the share is obvious with two trainers
			share = fmt.Sprintf(", %.0f %%", 100*float64(l.BehindNS)/float64(cost))
			if first {
				share += " of the cost"
			}
		}
		behind := strconv.FormatFloat(float64(l.BehindNS)/float64(l.Times)/1e6, 'f', precision(b), 64)
		if error := screen.GiveOrTake(float64(b.Waiting.BoundNS) / 1e6); error != "" {
			behind = strings.TrimSuffix(behind+error, " ms")
		}
		return fmt.Sprintf("%s %d%s, %s ms late%s", who, l.Times, of, behind, share)
	}
	var parts []string
	for i, l := range last[:min(len(last), mostLast)] {
		parts = append(parts, describe(names[l.Rank], l, i == 0))
	}
	if others := last[len(parts):]; len(others) > 0 {
		var sum breakdown.Last
		for _, l := range others {
			sum.Times, sum.BehindNS, sum.Iterations = sum.Times+l.Times, sum.BehindNS+l.BehindNS, l.Iterations
		}
		parts = append(parts, describe(screen.Count(len(others), "other"), sum, false))
	}
	if n := b.Waiting.Close; n > 0 {
		parts = append(parts, fmt.Sprintf("%s too close to tell", screen.Count(n, "time")))
	}
	return strings.Join(parts, "; ")
}

// losses shows the loss of every epoch if there are at most mostMeans epochs. With more epochs it shows fewMeans of
// them.
const (
	mostMeans = 5
	fewMeans  = 3
)

// losses returns the mean losses of the epochs. With many epochs it shows the first, the last and some in between.
// With a single epoch it shows the loss of the first and of the last iteration.
func losses(r *result.Result) string {
	means := epochMeans(r)
	if len(means) < 2 {
		first, last, ok := lossEnds(r.Losses)
		if !ok {
			return ""
		}
		return fmt.Sprintf("%s → %s (mean over the trainers, first → last iteration)", meanLoss(first), meanLoss(last))
	}
	most, which := mostMeans, "epoch means"
	if len(means) > mostMeans {
		most = fewMeans
	}
	var shown, epochs []string
	for _, i := range spread(len(means), most) {
		shown, epochs = append(shown, meanLoss(means[i])), append(epochs, strconv.Itoa(i))
	}
	if len(means) > mostMeans {
		which = "means of epochs " + strings.Join(epochs, ", ")
	}
	return fmt.Sprintf("%s (%s)", strings.Join(shown, " → "), which)
}

// epochMeans returns the mean loss of each epoch, averaged over trainers and iterations. It skips epochs without
// iterations.
func epochMeans(r *result.Result) []float64 {
	var sums, counts []float64
	for rank, list := range r.Losses {
		if rank >= len(r.Data.BatchesPerTrainer) || r.Data.BatchesPerTrainer[rank] < 1 {
			continue
		}
		for i, loss := range list {
			epoch := i / r.Data.BatchesPerTrainer[rank]
			if epoch == len(sums) {
				sums, counts = append(sums, 0), append(counts, 0)
			}
			sums[epoch] += loss
			counts[epoch]++
		}
	}
	for epoch := range sums {
		sums[epoch] /= counts[epoch]
	}
	return sums
}

// lastEvaluation returns the evaluation on held-out samples after the first epoch and after the last one.
func lastEvaluation(r *result.Result) string {
	if len(r.Evaluation) == 0 {
		return ""
	}
	first, last := r.Evaluation[0], r.Evaluation[len(r.Evaluation)-1]
	var parts []string
	add := func(name, from, to string) {
		switch {
		case from == "-" && to == "-":
		case len(r.Evaluation) == 1:
			parts = append(parts, name+" "+to)
		default:
			parts = append(parts, fmt.Sprintf("%s %s → %s", name, from, to))
		}
	}
	add("loss", meanLoss(first.Loss), meanLoss(last.Loss))
	if h := last.BaseEntropy; h != nil {
		parts[0] += fmt.Sprintf(" (base-rate entropy %.6f)", *h)
	}
	add("accuracy", share(first.Accuracy), share(last.Accuracy))
	add("AUC", share(first.AUC), share(last.AUC))
	return strings.Join(parts, ", ") + pass(r)
}

// checks states how many payloads of links psbench recomputed, which share of the pass that took, and what it could
// not recompute.
func checks(c *result.Checks) string {
	if c == nil {
		return ""
	}
	text := "nothing"
	if c.Slices > 0 {
		text = fmt.Sprintf("%s of %s, %.2g %% of the pass", screen.Count(int(c.Slices), "slice"),
			screen.Count(int(c.Iterations), "iteration"), 100*c.Share)
	}
	var not []string
	for _, u := range c.Unchecked {
		not = append(not, fmt.Sprintf("%s (%s)", u.What, u.Reason))
	}
	if len(not) > 0 {
		text += "; unchecked: " + strings.Join(not, "; ")
	}
	return text
}
