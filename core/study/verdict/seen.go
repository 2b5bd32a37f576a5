package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/screen"
)

// whyLeftOut describes which part of an epoch the runs left out, and why.
func whyLeftOut(u model.Unseen) string {
	var parts []string
	if u.Dropped > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s of each epoch, so that connected trainers run equally many",
			u.Dropped, batches(u.Batches)))
	}
	if u.LateShare > 0 && u.Share > u.DroppedShare {
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

// leftOutSum describes how many samples the runs left out.
func leftOutSum(u model.Unseen) string {
	return fmt.Sprintf("%s of the %s", screen.Percent(u.Share), screen.Count(u.Samples, "sample"))
}

// LeftOutText describes how many samples the runs left out, and why.
func LeftOutText(u model.Unseen) string {
	if u.Share == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s (%s)", leftOutSum(u), whyLeftOut(u))
}

// otherData describes how the data of the two compared cells differs. It returns "" if no difference matters.
func (p cells) otherData(m model.Metric) string {
	both := []*model.Cell{p.old, p.new}
	if left := model.UnseenOf(both, m); left != nil && math.Abs(left[p.old].Share-left[p.new].Share) > 1e-9 {
		return fmt.Sprintf("the sides learn from different data: old left out %s, new %s", LeftOutText(left[p.old]),
			LeftOutText(left[p.new]))
	}
	if !model.Learnt(both, m) || Amounts(both, Trained) == "" {
		return ""
	}
	return fmt.Sprintf("the sides trained on different amounts of data in all: old on %s samples, new on %s",
		screen.Thousands(int64(medianOf(p.old, Trained))), screen.Thousands(int64(medianOf(p.new, Trained))))
}

// Trained returns the total number of samples that a run trained on. A repeated sample counts each time.
func Trained(r *model.Run) float64 { return float64(r.Seen.Trained) }

// medianOf calls of for each run of a cell and returns the median of the results.
func medianOf(c *model.Cell, of func(*model.Run) float64) float64 {
	var values []float64
	for _, r := range c.Runs {
		values = append(values, of(r))
	}
	return judge.Of(values).Median
}

// Amounts describes the smallest and the largest median among the cells, in samples. It returns "" if the two are
// within 1 % of each other.
func Amounts(cells []*model.Cell, of func(*model.Run) float64) string {
	var low, high *model.Cell
	medians := map[*model.Cell]float64{}
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
	return fmt.Sprintf("from %s samples at %s to %s samples at %s", screen.Thousands(int64(medians[low])), low.Name,
		screen.Thousands(int64(medians[high])), high.Name)
}
