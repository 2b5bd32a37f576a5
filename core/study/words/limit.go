package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
)

// boundText compares the best bound of a work with the best cell of the work. Bounds are cells whose trainers exchange
// no data. boundText returns "" if there are no bounds.
func boundText(o *verdict.Contest) string {
	if len(o.Bounds) == 0 || o.Best == nil {
		return ""
	}
	median := func(c *model.Cell) float64 { return judge.Of(o.Runs(c)).Median }
	top := o.Bounds[0]
	for _, c := range o.Bounds {
		if o.Metric.Beats(median(c), median(top)) {
			top = c
		}
	}
	change := changedText(o.Metric, o.Median(o.Best), median(top))
	return fmt.Sprintf("%s: without communication %s, %s beside %s; trainers that exchange nothing show what can be gained, and do not compete",
		top.Name, value(o, top), change, o.Best.Name)
}

// leastHook is the smallest share of time, in %, for which limitText mentions hooks. Most hooks only call a link.
const leastHook = 0.5

// limitText describes how the iterations of the best cell spend their time.
func limitText(o *verdict.Contest) string {
	if o.Best == nil {
		return ""
	}
	var names []string
	var parts []float64
	for _, p := range [][2]string{{model.Compute, "computing"}, {model.Hooking, "hooks"},
		{model.Waiting, "waiting for the last trainer"}, {model.Moving, "moving and reducing bytes"}} {
		values := o.Best.Of(p[0])
		if len(values) == 0 {
			if p[0] == model.Waiting || p[0] == model.Hooking {
				continue // no trainer waits for another, or no hook was timed
			}
			return ""
		}
		if share := judge.Of(values).Median; p[0] != model.Hooking || share >= leastHook {
			names, parts = append(names, p[1]), append(parts, share)
		}
	}
	sum := 0.0
	for _, p := range parts {
		if !(p >= 0 && p <= 100) { // also true for NaN
			return ""
		}
		sum += p
	}
	parts = append(parts, max(0, 100-sum)) // medians of shares may sum to more than 100
	names = append(names, "the rest")
	limits := names[slices.Index(parts, slices.Max(parts))]
	if limits == "the rest" {
		limits += ": getting data, and what is between the parts"
	}
	var words []string
	for i, percent := range percents(parts) {
		words = append(words, fmt.Sprintf("%s %d %%", names[i], percent))
	}
	what := o.Best.Name
	if alone(o) {
		what = "training"
	}
	return fmt.Sprintf("%s is limited by %s (of an iteration: %s)", what, limits, strings.Join(words, ", "))
}

// percents returns parts of a whole in integer percent that add up to 100. It rounds up the parts with the largest
// remainders. All results are 0 if the sum of parts is not finite or not above 0.
func percents(parts []float64) []int {
	sum := 0.0
	for _, p := range parts {
		sum += p
	}
	out, order, left := make([]int, len(parts)), make([]int, len(parts)), 100
	if !(sum > 0 && sum <= math.MaxFloat64) { // also true for NaN
		return out
	}
	remainders := make([]float64, len(parts))
	for i, p := range parts {
		whole := math.Floor(100 * p / sum)
		out[i], order[i], remainders[i] = int(whole), i, 100*p/sum-whole
		left -= out[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, i := range order[:min(max(left, 0), len(order))] {
		out[i]++
	}
	return out
}
