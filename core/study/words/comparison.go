package words

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/screen"
)

// WriteComparison writes a comparison for a screen of width columns; 0 means no limit. It writes other differences
// between the sides, a row for each cell, and the conditions for each verdict.
func WriteComparison(w io.Writer, c *verdict.Comparison, width int) error {
	page := &screen.Page{Width: width}
	if len(c.Differences) > 0 {
		page.Line(2, "the sides differ in")
		for _, d := range c.Differences {
			page.Line(4, "  "+d)
		}
		page.Line(0, "")
	}
	page.Line(2, fmt.Sprintf("%s in %s, %s is better: from %s to %s", c.Metric.Name, c.Metric.Unit, c.Metric.Better,
		c.Old, c.New))
	page.Line(0, "")
	page.Columns([]screen.Column{
		screen.Left("cell"), screen.Right("old"), screen.Right("new"), screen.Right("change"),
		screen.Right("95 % interval"), screen.Right("p"), screen.Right("runs"), screen.Right("needed"),
	}, comparedRows(c))
	page.Line(0, "")
	for _, line := range foot(c) {
		page.Line(2, line)
	}
	for _, warning := range c.Warnings {
		page.Line(2, "warning: "+warning)
	}
	_, err := page.WriteTo(w)
	return err
}

func comparedRows(c *verdict.Comparison) [][]string {
	var rows [][]string
	for _, r := range c.Rows {
		change := "~"
		if r.Proven() {
			change = changeText(c.Metric, r.Change)
		}
		interval := cmp.Or(endsText(c.Metric, r.Change), "-")
		rows = append(rows, []string{
			r.Name, estimate(r.Old), estimate(r.New), change, interval, fmt.Sprintf("%.3g", r.Adjusted),
			fmt.Sprintf("%d+%d", r.Old.N, r.New.N), needed(r.Needed),
		})
	}
	if !math.IsNaN(c.Mean) &&
		!slices.ContainsFunc(c.Rows, func(r verdict.CellChange) bool { return r.Difference != nil }) &&
		len(c.Rows) > 1 {
		rows = append(rows, []string{"geometric mean", "", "", signed(c.Mean), "", "", "", ""})
	}
	return rows
}

// foot returns the result of the comparison and its certainty.
func foot(c *verdict.Comparison) []string {
	counts := map[judge.Verdict]int{}
	for _, r := range c.Rows {
		counts[r.Verdict]++
	}
	lines := []string{
		fmt.Sprintf("%d better, %d worse, and %d of which the runs cannot tell (~)", counts[judge.Better],
			counts[judge.Worse], counts[judge.CannotTell]),
		proven(c),
	}
	if c.Against != "" {
		lines = append(lines, yardstickText(c.Held)+": "+c.Against)
	}
	if slices.ContainsFunc(c.Rows, func(r verdict.CellChange) bool { return r.Needed > 0 }) {
		lines = append(lines,
			"needed: runs on each side that would prove the change which the medians show, in 4 of 5 studies")
	}
	return lines
}

// proven states the conditions for better and worse.
func proven(c *verdict.Comparison) string {
	test, what := "the test of Mann and Whitney", "medians that changed by more than "+yardstickText(c.Held)
	if c.InRounds() {
		test, what = "Student's test within rounds", "a change of more than "+yardstickText(c.Held)
		if c.Held.Each {
			what = "a change of more than its rounds go up and down by themselves"
		}
	}
	return fmt.Sprintf("proven: p < %g by %s, corrected for %s by Holm's method, and %s", judge.Alpha, test,
		screen.Count(len(c.Rows), "comparison"), what)
}

// estimate returns a median. If the median has an interval, estimate adds the distance to the farther end.
func estimate(e judge.Estimate) string {
	if !e.HasInterval || e.Median == 0 {
		return screen.Number(e.Median)
	}
	off := max(e.High-e.Median, e.Median-e.Low)
	if share, ok := judge.Relative(e.Median, e.Median+off); ok && share <= 1 {
		return screen.Number(e.Median) + " ± " + screen.Percent(share)
	}
	return screen.Number(e.Median) + " ± " + screen.Number(off)
}

func needed(runs int) string {
	switch {
	case runs == 0:
		return ""
	case runs > judge.MostNeeded:
		return "not within reach"
	}
	return screen.Thousands(int64(runs))
}
