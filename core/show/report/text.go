// Package report writes the result of a run as text with tables.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/environment"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// These are the column sets of the metric tables.
const (
	// StatsPsbench has the columns count, min, p50, mean, p95, max and stdev.
	StatsPsbench = "psbench"
	// StatsOriginal has the columns of the PyTorch benchmark: min, max, mean, variance and stdev.
	StatsOriginal = "original"
)

// These are the reports.
const (
	// Table has a heading, one table of all ranks, and the answer.
	Table = "table"
	// Full has every table and ends with Table.
	Full = "full"
	// Summary has only the answer.
	Summary = "summary"
)

// Options choose the form of a report. The zero value is the default.
type Options struct {
	// Report is Table, Full or Summary; empty means Table.
	Report string
	// Stats is StatsPsbench or StatsOriginal; empty means StatsPsbench. With StatsOriginal, every report has the format
	// of PyTorch's benchmark.
	Stats string
	// Width is the width of the screen in columns. 0 means a file or a pipe, which gets everything in full.
	Width int
}

// Text writes r as text. The text depends only on r and o, so a result read from its JSON file gives the same text.
func Text(w io.Writer, r *result.Result, o Options) error {
	columns, err := metricColumns(o.Stats)
	if err != nil {
		return err
	}
	out := &screen.Page{Width: o.Width}
	switch {
	case o.Stats == StatsOriginal:
		err = original(out, r, columns)
	case o.Report == "" || o.Report == Table:
		tableReport(out, r)
	case o.Report == Full:
		err = full(out, r, columns)
	case o.Report == Summary:
		summary(out, r)
	default:
		err = fmt.Errorf("report %q is unknown: choose %q, %q or %q", o.Report, Table, Full, Summary)
	}
	if err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

// original writes a report in the format of PyTorch's benchmark.
func original(w *screen.Page, r *result.Result, columns []metricColumn) error {
	header(w, r)
	incomplete(w, r)
	if err := tables(w, r, columns, func(s *result.Series) bool {
		return s.Type != dataparallel.IterationMetric && s.Type != record.HookMetric
	}, false); err != nil {
		return err
	}
	totals(w, r)
	if err := environment.Processes(w, r); err != nil {
		return err
	}
	for _, text := range r.Warnings {
		w.Line(0, "")
		warning(w, text)
	}
	return nil
}

// full writes all tables. The tables of all ranks come last.
func full(w *screen.Page, r *result.Result, columns []metricColumn) error {
	header(w, r)
	w.Labelled("start", startMS(r))
	incomplete(w, r)
	if err := tables(w, r, columns, func(*result.Series) bool { return true }, true); err != nil {
		return err
	}
	if err := environment.Processes(w, r); err != nil {
		return err
	}
	if r.Placement != nil {
		w.Line(0, "")
		if err := environment.Placement(w, r.Placement); err != nil {
			return err
		}
	}
	environment.Clocks(w, r.Clocks)
	environment.HostLinks(w, r.HostLinks)
	if err := environment.NoiseTables(w, r.Noise); err != nil {
		return err
	}
	b := breakdown.Of(r)
	metrics := inOrder(group(measuring(r)))
	if len(metrics) > 0 {
		legend(w, metrics, b)
		w.Line(0, "")
		overview(w, r, overviewRows(r, metrics, b))
	}
	if numbers := numbersOf(r, anyRank); len(numbers) > 0 {
		w.Line(0, "")
		numbersOverview(w, r, numbers)
	}
	times(w, r, b)
	w.Line(0, "")
	answer(w, r, b)
	for _, text := range r.Warnings {
		warning(w, text)
	}
	return nil
}

// tables writes the tables of each rank and each epoch for the series that shown accepts. If withNumbers is true, it
// also writes the tables of numbers.
func tables(w *screen.Page, r *result.Result, columns []metricColumn, shown func(*result.Series) bool,
	withNumbers bool) error {
	if err := metricTables(w, r, columns, shown, withNumbers); err != nil {
		return err
	}
	if err := epochTable(w, r); err != nil {
		return err
	}
	if err := evaluationTable(w, r); err != nil {
		return err
	}
	timeline(w, r)
	return nil
}

// summary writes only the answer.
func summary(w *screen.Page, r *result.Result) {
	incomplete(w, r)
	answer(w, r, breakdown.Of(r))
	w.Labelled("numbers", numbersLine(numbersOf(r, anyRank)))
	for _, text := range r.Warnings {
		warning(w, text)
	}
}

func warning(w *screen.Page, text string) { w.Line(2, "warning: "+text) }

// incomplete writes a warning that even a reader who skips to the tables notices.
func incomplete(w *screen.Page, r *result.Result) {
	if r.Complete {
		return
	}
	why := r.Error
	if why == "" {
		why = "the run ended early"
	}
	what := "The numbers below cover the work until then, of the processes that survived."
	if r.Pass == result.WarmUp {
		what = "The measured pass had not begun. The numbers below are from the WARM-UP."
	}
	bar := strings.Repeat("!", 72)
	w.Line(0, "")
	w.Line(0, bar)
	w.Line(2, "INCOMPLETE: "+why)
	w.Line(0, what)
	w.Line(0, bar)
}

// pass returns the suffix for titles and totals if the numbers come from the warm-up, and "" otherwise.
func pass(r *result.Result) string {
	if r.Pass == result.WarmUp {
		return ", warm-up"
	}
	return ""
}

// totals writes throughput and loss as PyTorch's benchmark prints them below its tables.
func totals(w *screen.Page, r *result.Result) {
	w.Line(0, "")
	if t := r.Throughput; t.Samples > 0 {
		w.Labelled("throughput", rate(t)+pass(r))
	}
	if first, last, ok := lossEnds(r.Losses); ok {
		w.Labelled("loss", fmt.Sprintf("%.6f → %.6f (mean over the trainers, first → last iteration)%s", first, last,
			pass(r)))
		w.Labelled("order", r.ArrivalOrder)
	}
	w.Labelled("start", startMS(r))
}

// startMS returns the time until the first iteration, in ms.
func startMS(r *result.Result) string {
	if r.StartMS <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f ms until the first iteration%s", r.StartMS, screen.GiveOrTake(r.StartBoundMS))
}

// lossEnds returns two means over the trainers: of their first losses and of their last losses. It skips trainers
// without losses, which occur in incomplete runs.
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
