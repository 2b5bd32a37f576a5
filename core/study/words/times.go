package words

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// orMinus returns " ± MS", the largest error in ms of times that compare the clocks of several hosts. It returns "" on
// one host.
func orMinus(runs []*model.Run) string {
	var boundMS float64
	for _, r := range runs {
		boundMS = max(boundMS, r.BoundMS)
	}
	if boundMS == 0 {
		return ""
	}
	return fmt.Sprintf(" ± %.2g", boundMS)
}

// timesTable writes how the cells spend their time. Each cell with runs has a row with the medians of its runs.
func timesTable(s *model.Study, page *screen.Page) {
	columns := []screen.Column{screen.Left("ms per iteration")}
	shown := slices.DeleteFunc(slices.Clone(model.TimeMetrics), func(t model.TimeMetric) bool {
		return !slices.ContainsFunc(s.Cells, func(c *model.Cell) bool { return len(c.Of(t.Metric)) > 0 })
	})
	if len(shown) == 0 {
		return
	}
	for _, t := range shown {
		columns = append(columns, screen.Right(t.Part))
	}
	columns = append(columns, screen.Left("straggler").Yields(1))
	var rows [][]string
	for _, c := range s.Cells {
		if len(c.Of("time_compute")) == 0 {
			continue
		}
		row := []string{c.Name}
		for _, t := range shown {
			cell := "-"
			if values := c.Of(t.Metric); len(values) > 0 {
				cell = milli(judge.Of(values).Median)
				if t.Part == breakdown.WaitingTime {
					cell += orMinus(c.Runs)
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, stragglerText(c)))
	}
	page.Columns(columns, rows)
	page.Line(0, "")
}

// stragglerText names the trainer that was the straggler in most of the runs.
func stragglerText(c *model.Cell) string {
	runs := map[int][]model.Straggler{}
	var ranks []int
	for _, r := range c.Runs {
		if r.Straggler != nil {
			runs[r.Straggler.Rank] = append(runs[r.Straggler.Rank], *r.Straggler)
			ranks = append(ranks, r.Straggler.Rank)
		}
	}
	if len(ranks) == 0 {
		return "-"
	}
	slices.Sort(ranks)
	rank := slices.MaxFunc(slices.Compact(slices.Clone(ranks)), func(a, b int) int {
		return cmp.Or(cmp.Compare(len(runs[a]), len(runs[b])), cmp.Compare(b, a))
	})
	var shares, costs []float64
	for _, s := range runs[rank] {
		shares, costs = append(shares, 100*s.Share), append(costs, s.CostMS)
	}
	text := fmt.Sprintf("trainer%d%s last in %.0f %%, %s%s ms", rank, host(runs[rank]), judge.Of(shares).Median,
		milli(judge.Of(costs).Median), orMinus(c.Runs))
	if len(ranks) > 1 {
		text += fmt.Sprintf(" (%d of %d runs)", len(shares), len(ranks))
	}
	return text
}

// host returns " on HOST" for the host of a trainer. It returns "" if the host differs between runs, as it may
// in a cluster.
func host(runs []model.Straggler) string {
	name := runs[0].Host
	if name == "" || slices.ContainsFunc(runs, func(s model.Straggler) bool { return s.Host != name }) {
		return ""
	}
	return " on " + quote.Word(name)
}

// milli formats a time in ms with three decimals.
func milli(ms float64) string { return strconv.FormatFloat(ms, 'f', 3, 64) }
