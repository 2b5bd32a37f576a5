// Package report shows a result to people: as text with tables, and the
// progress of a run while there is no result yet.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/screen"
)

// The column sets of the metric tables.
const (
	// StatsPsbench is count, min, p50, mean, p95, max and stdev.
	StatsPsbench = "psbench"
	// StatsOriginal is the columns of the PyTorch benchmark: min, max, mean,
	// variance and stdev.
	StatsOriginal = "original"
)

// Options choose how a result is shown. The zero value is the default.
type Options struct {
	// Stats is StatsPsbench (also if empty) or StatsOriginal.
	Stats string
	// Width is how many columns the screen has; 0 is for a file or a pipe, which gets
	// everything in full.
	Width int
}

// Text writes r as text. What it writes depends on r and o alone: the same result read
// back from its JSON file gives the same text.
func Text(w io.Writer, r *result.Result, o Options) error {
	columns, err := metricColumns(o.Stats)
	if err != nil {
		return err
	}
	out := &screen.Page{Width: o.Width}
	header(out, r)
	if !r.Complete {
		incomplete(out, r)
	}
	if err := metricTables(out, r, columns); err != nil {
		return err
	}
	if err := epochTable(out, r); err != nil {
		return err
	}
	if err := evaluationTable(out, r); err != nil {
		return err
	}
	timeline(out, r)
	totals(out, r)
	if err := whatRanWhere(out, r); err != nil {
		return err
	}
	if err := NoiseTables(out, r.Noise); err != nil {
		return err
	}
	for _, warning := range r.Warnings {
		out.Line(0, "")
		out.Line(2, "warning: "+warning)
	}
	_, err = out.WriteTo(w)
	return err
}

// incomplete must catch the eye of somebody who only looks for the tables.
func incomplete(w *screen.Page, r *result.Result) {
	why := r.Error
	if why == "" {
		why = "the run ended early"
	}
	what := "The numbers below are of what was done until then, by the processes that survived."
	if r.Pass == result.WarmUp {
		what = "The measured pass had not begun. The numbers below are those of the WARM-UP."
	}
	bar := strings.Repeat("!", 72)
	w.Line(0, "")
	w.Line(0, bar)
	w.Line(2, "INCOMPLETE: "+why)
	w.Line(0, what)
	w.Line(0, bar)
}

// pass ends every title and total whose numbers are no measured ones.
func pass(r *result.Result) string {
	if r.Pass == result.WarmUp {
		return ", warm-up"
	}
	return ""
}

// totals writes throughput and loss.
func totals(w *screen.Page, r *result.Result) {
	w.Line(0, "")
	if t := r.Throughput; t.Samples > 0 {
		line(w, "throughput", fmt.Sprintf("%.1f samples per second (%d samples in %.3f s)%s",
			t.SamplesPerSecond, t.Samples, t.Seconds, pass(r)))
	}
	if first, last, ok := lossEnds(r.Losses); ok {
		line(w, "loss", fmt.Sprintf("%.6f → %.6f (mean over the trainers, first → last iteration)%s", first, last, pass(r)))
	}
	line(w, "noise", Noise(r.Noise))
	if r.StartMS > 0 {
		line(w, "start", fmt.Sprintf("%.1f ms until the first iteration", r.StartMS))
	}
}

// lossEnds is the mean over the trainers of their first and of their last
// losses. Trainers that have none, in an incomplete run, do not count.
func lossEnds(losses [][]float64) (first, last float64, ok bool) {
	n := 0.0
	for _, l := range losses {
		if len(l) > 0 {
			first += l[0]
			last += l[len(l)-1]
			n++
		}
	}
	return first / n, last / n, n > 0
}
