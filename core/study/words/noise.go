package words

import (
	"fmt"
	"io"
	"slices"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/screen"
)

// The table has a row for each of these changes and a column for each of these numbers of comparisons. It shows how
// many runs are needed for a proof.
var (
	toldChanges     = []float64{0.05, 0.02, 0.01}
	toldComparisons = []int{1, 20}
)

// WriteNoise writes the noise of a metric for a screen of width columns; 0 means no limit.
func WriteNoise(w io.Writer, n *verdict.Noise, metric model.Metric, width int) error {
	page := &screen.Page{Width: width}
	var rows [][]string
	for i, s := range n.Sessions {
		values := s.Of(metric.Name)
		e := judge.Of(values)
		floor := "-"
		if f, err := judge.FloorOf(values, 0); err == nil {
			floor = screen.Percent(f.Change)
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), fmt.Sprint(e.N), estimate(e), spreadText(metric, e), floor})
	}
	page.Line(2, fmt.Sprintf("%s in %s of the same experiment, on %d cores of %s", metric.Name, metric.Unit,
		n.Machine.Cores, n.Machine.CPU))
	page.Line(0, "")
	page.Columns([]screen.Column{
		screen.Right("session"), screen.Right("runs"), screen.Right("median"), screen.Right("spread"),
		screen.Right("floor"),
	}, rows)
	page.Line(0, "")
	if err := floors(n, page, metric.Name); err != nil {
		return err
	}
	for _, s := range noiseWarnings(n) {
		page.Line(2, "warning: "+s)
	}
	_, err := page.WriteTo(w)
	return err
}

// floors writes which differences count on this machine, and how many runs a proof of a change takes.
func floors(n *verdict.Noise, page *screen.Page, metric string) error {
	within, err := n.Within(metric)
	if err != nil {
		return err
	}
	page.Line(2, fmt.Sprintf("within a session: medians of %s each must differ by more than %s",
		screen.Count(within.Runs, "run"), screen.Percent(within.Change)))
	if len(n.Sessions) > 1 {
		between, err := n.Between(metric)
		if err != nil {
			return err
		}
		page.Line(2, fmt.Sprintf("between sessions: by more than %s, by %d of them", screen.Percent(between.Change),
			len(n.Sessions)))
	} else {
		page.Line(2, "between sessions: not measured; give --sessions 5")
	}
	page.Line(0, "")
	same := pooled(n, metric)
	var rows [][]string
	for _, change := range toldChanges {
		row := []string{fmt.Sprintf("%g %%", 100*change)}
		for _, comparisons := range toldComparisons {
			row = append(row, needed(judge.RunsFor(change, same, comparisons, within)))
		}
		rows = append(rows, row)
	}
	columns := []screen.Column{screen.Right("to find")}
	for _, comparisons := range toldComparisons {
		columns = append(columns, screen.Right("runs for "+screen.Count(comparisons, "comparison")))
	}
	page.Columns(columns, rows)
	return nil
}

// pooled returns the runs of all sessions, each divided by the median of its session.
func pooled(n *verdict.Noise, metric string) []float64 {
	var all []float64
	for _, s := range n.Sessions {
		values := s.Of(metric)
		center := judge.Of(values).Median
		for _, v := range values {
			all = append(all, v/center)
		}
	}
	return all
}

// noiseWarnings returns the warnings of the sessions without repeats.
func noiseWarnings(n *verdict.Noise) []string {
	var all []string
	for i, s := range n.Sessions {
		for _, w := range s.Warnings {
			if text := fmt.Sprintf("session %d: %s", i+1, w); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}
