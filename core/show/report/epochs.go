package report

import (
	"fmt"
	"strconv"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
)

// epochPercentiles are the percentiles in PyTorch's hybrid benchmark.
var epochPercentiles = []float64{50, 75, 90, 95}

// epochTable writes the durations of epochs and the samples per second, if the trainers measured their epochs. The
// row "all" covers all trainers.
func epochTable(w *screen.Page, r *result.Result) error {
	columns := []screen.Column{screen.Left("trainer"), screen.Right("epochs")}
	for i, p := range epochPercentiles { // the median never yields to a narrow screen
		columns = append(columns, screen.Right(fmt.Sprintf("p%.0f s", p)).Yields(i),
			screen.Right("samples/s").Yields(i))
	}
	var rows [][]string
	var all []float64
	samples := 0
	for _, p := range ranksOf(r.Processes, "trainer") {
		seconds := epochSeconds(r, p.Rank)
		if seconds == nil {
			continue
		}
		own := 0
		if p.Rank < len(r.Data.SamplesPerTrainer) {
			own = r.Data.SamplesPerTrainer[p.Rank]
		}
		rows = append(rows, epochRow(p.Name, seconds, own))
		all, samples = append(all, seconds...), samples+own
	}
	if rows == nil {
		return nil
	}
	return w.Table("seconds per epoch and samples per second, by percentile of the epochs"+pass(r),
		columns, append(rows, epochRow("all", all, samples)))
}

// epochSeconds returns the durations of a trainer's epochs in seconds, or nil if they are unknown.
func epochSeconds(r *result.Result, rank int) []float64 {
	var seconds []float64
	for _, s := range r.Series {
		if s.Rank == rank && s.Type == "epoch_metric" && s.Name == "epoch" {
			for m := range s.All() {
				seconds = append(seconds, float64(m.DurationNS)/1e9)
			}
		}
	}
	return seconds
}

func epochRow(name string, seconds []float64, samples int) []string {
	row := []string{name, strconv.Itoa(len(seconds))}
	for _, s := range stats.Percentiles(seconds, epochPercentiles...) {
		rate := "-"
		if s > 0 {
			rate = strconv.FormatFloat(float64(samples)/s, 'f', 0, 64)
		}
		row = append(row, strconv.FormatFloat(s, 'f', 6, 64), rate)
	}
	return row
}

// mostEpochs is the maximum number of rows in the evaluation table.
const mostEpochs = 12

// evaluationTable writes the results on held-out samples after each epoch. With many epochs it shows the first, the
// last and some in between.
func evaluationTable(w *screen.Page, r *result.Result) error {
	epochs := r.Evaluation
	if len(epochs) == 0 {
		return nil
	}
	columns := []screen.Column{
		screen.Right("epoch"), screen.Right("train loss"), screen.Right("held-out loss"), screen.Right("accuracy"),
		screen.Right("AUC"),
		screen.Right("samples").Yields(1), screen.Right("seconds").Yields(2),
	}
	seconds := evaluationSeconds(r)
	var rows [][]string
	for _, i := range spread(len(epochs), mostEpochs) {
		e := epochs[i]
		rows = append(rows, []string{
			strconv.Itoa(e.Epoch), meanLoss(e.TrainLoss), meanLoss(e.Loss), share(e.Accuracy), share(e.AUC),
			strconv.FormatInt(e.Samples, 10), strconv.FormatFloat(seconds[int64(e.Epoch)], 'f', 6, 64),
		})
	}
	if err := w.Table("evaluation on held-out samples after each epoch"+pass(r), columns, rows); err != nil {
		return err
	}
	if hidden := len(epochs) - len(rows); hidden > 0 {
		w.Line(2, fmt.Sprintf("%d more epochs are in the JSON file (--json FILE)", hidden))
	}
	if h := epochs[0].BaseEntropy; h != nil {
		w.Line(2,
			fmt.Sprintf("base-rate entropy of the held-out targets: %.6f, the log loss of always predicting their mean",
				*h))
	}
	return nil
}

// spread picks at most k of the indices 0 to n-1, where k ≥ 2: the first, the last, and evenly spaced ones in
// between.
func spread(n, k int) []int {
	k = min(n, k)
	places := make([]int, k)
	for i := range places {
		places[i] = i * (n - 1) / max(1, k-1)
	}
	return places
}

// evaluationSeconds returns, for each epoch, the longest evaluation time of any trainer.
func evaluationSeconds(r *result.Result) map[int64]float64 {
	longest := map[int64]float64{}
	for _, s := range r.Series {
		if s.Type == "evaluation_metric" && s.Name == "evaluate" {
			for m := range s.All() {
				longest[m.Key.A] = max(longest[m.Key.A], float64(m.DurationNS)/1e9)
			}
		}
	}
	return longest
}

// meanLoss formats a loss as the totals do. Result files do not distinguish infinity from NaN.
func meanLoss(x float64) string {
	if !numeral.Finite(x) {
		return "not finite"
	}
	return strconv.FormatFloat(x, 'f', 6, 64)
}

// share formats a share from 0 to 1, which may be nil.
func share(x *float64) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatFloat(*x, 'f', 4, 64)
}
