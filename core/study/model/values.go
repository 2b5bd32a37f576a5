package model

import (
	"slices"

	"fmt"
	"strconv"

	"github.com/psbench/psbench/core/record/result"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/study/judge"
)

// runOf returns the numbers of a result that a study keeps. It drops the samples.
func runOf(folder string, r *result.Result) *Run {
	iterations := breakdown.Iterations(r)
	run := &Run{
		Folder: folder, Started: r.Started, Seed: seedOf(r),
		Values: map[string]float64{}, Environment: r.Environment, Plugins: r.Plugins, Facts: result.Facts(r.Processes),
		Warnings: r.Warnings,
	}
	for _, set := range iterations {
		run.Iterations += len(set)
		if len(run.Warnings) == len(r.Warnings) { // one set's warnings are enough
			run.Warnings = append(run.Warnings[:len(r.Warnings):len(r.Warnings)],
				judge.IterationWarnings(milliseconds(set))...)
		}
	}
	run.take(r)
	run.takeIterations(iterations)
	b := breakdown.Of(r)
	run.takeShares(b)
	run.takeTimes(b, r)
	run.Epochs = epochsOf(r, iterations)
	return run
}

// take sets the metrics that the result contains directly.
func (run *Run) take(r *result.Result) {
	run.Checks, run.Silent, run.Seen = r.Checks, isSilent(r), seenOf(r)
	if r.Throughput.SamplesPerSecond > 0 {
		run.Values[Throughput] = r.Throughput.SamplesPerSecond
	}
	if r.StartMS > 0 {
		run.Values["start"] = r.StartMS
	}
	if n := len(r.Evaluation); n > 0 {
		for name, v := range heldOut(r.Evaluation[n-1]) {
			run.Values[name] = v
		}
	}
	if loss, ok := finalLoss(r); ok {
		run.Values["final_loss"] = loss
	}
	if bytes := bytesPerBatch(r); bytes > 0 {
		run.Values["bytes_per_batch"] = bytes
	}
	memory := 0.0
	for _, p := range r.Processes {
		memory += p.RSSMiB
	}
	if memory > 0 {
		run.Values["peak_memory"] = memory
	}
}

// takeIterations sets the median duration of the iterations. It sets percentiles if there are enough iterations.
func (run *Run) takeIterations(sets [][]breakdown.Iteration) {
	var all []float64
	for _, set := range sets {
		all = append(all, milliseconds(set)...)
	}
	for name, p := range map[string]float64{TimePerBatch: 50, "time_per_batch_p95": 95, P99: 99} {
		if v, ok := judge.Percentile(all, p); ok {
			run.Values[name] = v
		} else if p == 50 && len(all) == 1 {
			run.Values[name] = all[0]
		}
	}
}

// takeShares sets the shares of iteration time, in percent, for compute, hooks, waiting and moving bytes. The remaining
// time is data loading and time that belongs to no part.
func (run *Run) takeShares(b *breakdown.Breakdown) {
	if b == nil || b.WallNS <= 0 {
		return
	}
	shares := map[string]float64{Compute: 0, Moving: 0}
	for _, p := range b.Parts {
		switch p.Name {
		case "forward", "backward", "optimizer":
			shares[Compute] += 100 * b.Share(p.TotalNS)
		case breakdown.Exposed.Name, "lookup", "parameters":
			shares[Moving] += 100 * b.Share(p.TotalNS)
		}
	}
	if b.Hook != nil {
		shares[Hooking] = 100 * b.Share(b.Hook.ExposedNS+b.Hook.BackwardNS)
		shares[Compute] -= 100 * b.Share(b.Hook.BackwardNS)
		shares[Moving] -= 100 * b.Share(b.Hook.ExposedNS)
	}
	if b.Waiting != nil {
		shares[Waiting] = 100 * b.Share(b.Waiting.TotalNS)
		shares[Moving] = max(0, shares[Moving]-shares[Waiting])
	}
	for name, v := range shares {
		run.Values[name] = v
	}
}

// epochsOf returns the evaluated epochs.
func epochsOf(r *result.Result, sets [][]breakdown.Iteration) []Epoch {
	var epochs []Epoch
	trainers := 0
	for _, p := range r.Processes {
		if p.Kind == "trainer" {
			trainers++
		}
	}
	for _, e := range r.Evaluation {
		out := Epoch{Values: heldOut(e)}
		count := 0 // iterations of the set with the most
		for _, set := range sets {
			ns, n := int64(0), 0
			for _, i := range set {
				if i.Epoch <= int64(e.Epoch) {
					ns, n = ns+i.NS, n+1
				}
			}
			out.Seconds, count = max(out.Seconds, float64(ns)/1e9), max(count, n)
		}
		out.Bytes = bytesPerBatch(r) * float64(count) * float64(trainers)
		epochs = append(epochs, out)
	}
	return epochs
}

// heldOut returns the metrics of an evaluation by name.
func heldOut(e result.Evaluation) map[string]float64 {
	values := map[string]float64{HeldOutLoss: e.Loss}
	if e.Accuracy != nil {
		values["held_out_accuracy"] = *e.Accuracy
	}
	if e.AUC != nil {
		values["held_out_auc"] = *e.AUC
	}
	return values
}

// finalLoss returns the mean loss of the last epoch over all trainers. If the last epoch is incomplete, it uses the
// iterations that ran.
func finalLoss(r *result.Result) (float64, bool) {
	sum, count := 0.0, 0
	for rank, losses := range r.Losses {
		last := 1
		if rank < len(r.Data.BatchesPerTrainer) && r.Data.BatchesPerTrainer[rank] > 0 {
			batches := r.Data.BatchesPerTrainer[rank]
			last = (len(losses)-1)%batches + 1
		}
		for _, loss := range losses[max(0, len(losses)-last):] {
			sum, count = sum+loss, count+1
		}
	}
	return sum / float64(count), count > 0
}

// bytesPerBatch returns the number of bytes that a trainer hands to its hook in one iteration. Each element is a
// float32. A row of a table also has a 4-byte index.
func bytesPerBatch(r *result.Result) float64 {
	bytes := 0
	for _, b := range r.Buckets {
		if b.Sparse {
			bytes += b.Capacity * (4*b.Width + 4)
		} else {
			bytes += 4 * b.Elements
		}
	}
	return float64(bytes)
}

func milliseconds(set []breakdown.Iteration) []float64 {
	ms := make([]float64, len(set))
	for i, it := range set {
		ms[i] = float64(it.NS) / 1e6
	}
	return ms
}

// seedOf returns the seed of weights and data, or 0 if the result has none.
func seedOf(r *result.Result) uint64 {
	for _, v := range r.Config {
		if v.Key == seedKey {
			seed, _ := strconv.ParseUint(fmt.Sprint(v.Value), 10, 64) // 0 if it is not a number
			return seed
		}
	}
	return 0
}

// isSilent reports whether the run's trainers exchanged no data although there are several. No connection joins them,
// and no server answered a push or a lookup.
func isSilent(r *result.Result) bool {
	trainers := 0
	serves := map[int]bool{}
	for _, p := range r.Processes {
		if p.Kind == "trainer" {
			trainers++
		}
		serves[p.Rank] = serves[p.Rank] || p.Kind == "server"
	}
	connected := slices.ContainsFunc(r.Connected, func(set []int) bool { return len(set) > 1 })
	answered := slices.ContainsFunc(r.Series, func(s *result.Series) bool { return serves[s.Rank] && s.Len() > 0 })
	return trainers > 1 && len(r.Connected) > 0 && !connected && !answered
}
