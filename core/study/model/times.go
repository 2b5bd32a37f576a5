package study

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Straggler is the trainer that cost the others of a run most.
type Straggler struct {
	Rank   int
	Share  float64 // of the iterations, in which it was last
	CostMS float64 // per iteration
	Host   string  // where it ran; "" of runs on one host
}

// orMinus is how wrong a time may be that was taken by the clocks of several hosts, as it stands after that:
// of several runs the most; "" on one host.
func orMinus(runs []*Run) string {
	var boundMS float64
	for _, r := range runs {
		boundMS = max(boundMS, r.BoundMS)
	}
	if boundMS == 0 {
		return ""
	}
	return fmt.Sprintf(" ± %.2g", boundMS)
}

// timeMetric is a metric of the time that iterations spend on a part of them.
type timeMetric struct{ part, metric string }

// The parts that breakdown.Times has, which add up to the whole, and what hooks stamp beside.
var timeMetrics = []timeMetric{
	{breakdown.DataTime, "time_data"}, {breakdown.ComputeTime, "time_compute"}, {breakdown.HookTime, "time_hook"},
	{breakdown.WaitingTime, "time_waiting"}, {breakdown.TransferTime, "time_transfer"}, {breakdown.ReductionTime, "time_reduction"}, {breakdown.UnaccountedFor, "time_rest"},
	{"codec", "time_codec"},
}

// takeTimes notes where the time of the iterations of a result goes.
func (run *Run) takeTimes(b *breakdown.Breakdown, r *result.Result) {
	if b == nil {
		return
	}
	times := b.Times()
	if codecNS := breakdown.CodecNS(r); codecNS > 0 {
		times = append(times, breakdown.Part{Name: "codec", TotalNS: codecNS})
	}
	if b.Waiting != nil {
		run.BoundMS = float64(b.Waiting.BoundNS) / 1e6
	}
	for _, p := range times {
		for _, t := range timeMetrics {
			if t.part == p.Name {
				run.Values[t.metric] = b.MeanMS(p.TotalNS)
			}
		}
	}
	if s, ok := b.Straggler(); ok {
		run.Values["time_straggler"] = float64(s.AllNS) / 1e6
		run.Straggler = &Straggler{s.Rank, float64(s.Times) / float64(max(1, s.Iterations)), float64(s.CostNS) / 1e6, r.ClockOf(s.Rank).Host}
	}
}

// times writes where the time of the cells goes, a row for each that has runs: medians of the runs.
func (s *Study) times(page *screen.Page) {
	columns := []screen.Column{screen.Left("ms per iteration")}
	shown := slices.DeleteFunc(slices.Clone(timeMetrics), func(t timeMetric) bool {
		return !slices.ContainsFunc(s.Cells, func(c *Cell) bool { return len(c.Of(t.metric)) > 0 })
	})
	if len(shown) == 0 {
		return
	}
	for _, t := range shown {
		columns = append(columns, screen.Right(t.part))
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
			if values := c.Of(t.metric); len(values) > 0 {
				cell = milli(judge.Of(values).Median)
				if t.part == breakdown.WaitingTime {
					cell += orMinus(c.Runs)
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, c.straggler()))
	}
	page.Columns(columns, rows)
	page.Line(0, "")
}

// straggler names the trainer that cost most in most of the runs.
func (c *Cell) straggler() string {
	runs := map[int][]Straggler{}
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
	text := fmt.Sprintf("trainer%d%s last in %.0f %%, %s%s ms", rank, host(runs[rank]), judge.Of(shares).Median, milli(judge.Of(costs).Median), orMinus(c.Runs))
	if len(ranks) > 1 {
		text += fmt.Sprintf(" (%d of %d runs)", len(shares), len(ranks))
	}
	return text
}

// host is where a trainer ran, as it stands after its name; "" if runs differ, as jobs of a cluster may.
func host(runs []Straggler) string {
	name := runs[0].Host
	if name == "" || slices.ContainsFunc(runs, func(s Straggler) bool { return s.Host != name }) {
		return ""
	}
	return " on " + quote.Word(name)
}

// milli shows ms, all with µs.
func milli(ms float64) string { return strconv.FormatFloat(ms, 'f', 3, 64) }
