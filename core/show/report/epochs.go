package report

import (
	"fmt"
	"strconv"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/screen"
)

// epochPercentiles are those of the original's hybrid benchmark.
var epochPercentiles = []float64{50, 75, 90, 95}

// epochTable writes how long epochs took, and the samples per second that follow, for
// a run whose trainers measured their epochs. "all" is over all epochs of all trainers
// and counts the samples of all trainers.
func epochTable(w *screen.Page, r *result.Result) error {
	columns := []screen.Column{screen.Left("trainer"), screen.Right("epochs")}
	for i, p := range epochPercentiles { // the median stays on any screen
		columns = append(columns, screen.Right(fmt.Sprintf("p%.0f s", p)).Yields(i), screen.Right("samples/s").Yields(i))
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
	return titled(w, "seconds per epoch and samples per second, by percentile of the epochs"+pass(r),
		columns, append(rows, epochRow("all", all, samples)))
}

// epochSeconds are the durations of a trainer's epochs, or nil.
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
