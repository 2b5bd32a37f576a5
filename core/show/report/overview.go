package report

import (
	"slices"
	"strconv"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// overview writes the given rows of the table of all ranks.
func overview(w *screen.Page, r *result.Result, rows [][]string) {
	w.Columns([]screen.Column{
		screen.Left("ms, all ranks" + pass(r)), screen.Right("count").Yields(2), screen.Right("p50"),
		screen.Right("mean"),
		screen.Right("p95").Yields(3), screen.Right("max").Yields(1), screen.Right("share").Yields(4),
	}, rows)
}

// overviewRows returns the rows of the table of all ranks: the parts of iterations, other trainer measurements, then
// the servers' measurements.
func overviewRows(r *result.Result, metrics []*durations, b *breakdown.Breakdown) [][]string {
	digits := precision(b)
	number := func(ms float64) string { return strconv.FormatFloat(ms, 'f', digits, 64) }
	row := func(name string, ms []float64, share string) []string {
		s := stats.Consume(ms)
		return []string{name, strconv.Itoa(s.Count), number(s.P50), number(s.Mean), number(s.P95), number(s.Max), share}
	}
	var parts, others [][]string
	for _, m := range metrics {
		name := termOf(m.Metric).name
		switch {
		case m.Metric == breakdown.Whole:
			parts = append(parts, row(name, m.ms(), ""))
			continue
		case breakdown.IsHook(m.Metric): // the rows "hook" have its cost
			continue
		case b == nil || !breakdown.IsPart(m.Metric):
			others = append(others, row(name, m.ms(), ""))
			continue
		}
		parts = append(parts, row("  "+name, m.ms(), screen.Percent(b.Share(m.totalNS()))))
		if ns, each := hookIn(b, termOf(m.Metric).name); ns > 0 {
			parts = append(parts, row("  "+hookRow, inMS(each), screen.Percent(b.Share(ns))))
		}
		if m.Metric == breakdown.Exposed && b.Waiting != nil {
			parts = append(parts, row("  "+waitRow+screen.GiveOrTake(float64(b.Waiting.BoundNS)/1e6),
				waitingMS(b.Waiting), screen.Percent(b.Share(b.Waiting.TotalNS))))
		}
	}
	if b != nil {
		parts = append(parts,
			[]string{"  " + rest, "", "", number(b.MeanMS(b.RestNS())), "", "", screen.Percent(b.Share(b.RestNS()))})
	}
	return append(parts, others...)
}

// leastHook is the smallest share of the time per batch for which a hook's own time in a part gets its own row and
// words. A hook that only calls its links takes less.
const leastHook = 0.01

// hookIn returns the hooks' own time in a part of iterations: the total, and the time of each iteration. It returns 0
// if the time is too short to show.
func hookIn(b *breakdown.Breakdown, part string) (totalNS int64, each []int64) {
	switch {
	case b.Hook == nil:
	case part == breakdown.Exposed.Name:
		totalNS, each = b.Hook.ExposedNS, b.Hook.Exposed
	case part == dataparallel.Backward:
		totalNS, each = b.Hook.BackwardNS, b.Hook.Backward
	}
	if b.Share(totalNS) < leastHook {
		return 0, nil
	}
	return totalNS, each
}

// showsHook reports whether any part has a row for the hooks' own time.
func showsHook(b *breakdown.Breakdown) bool {
	exposed, _ := hookIn(b, breakdown.Exposed.Name)
	backward, _ := hookIn(b, dataparallel.Backward)
	return exposed+backward > 0
}

func inMS(ns []int64) []float64 {
	ms := make([]float64, 0, len(ns))
	for _, one := range ns {
		ms = append(ms, float64(one)/1e6)
	}
	return ms
}

func waitingMS(w *breakdown.Waiting) []float64 {
	var ms []float64
	for ns := range w.Durations() {
		ms = append(ms, float64(ns)/1e6)
	}
	return ms
}

// measuring returns the series of the trainers by rank, then the series of the servers and of the data.
func measuring(r *result.Result) []*result.Series {
	var all []*result.Series
	for _, kind := range []string{"trainer", "server", "data"} {
		for _, p := range ranksOf(r.Processes, kind) {
			for _, s := range r.Series {
				if s.Rank == p.Rank && s.Len() > 0 {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// inOrder sorts metrics in the order of the legend. Metrics without a legend entry keep their order and come last.
func inOrder(metrics []*durations) []*durations {
	place := func(m *durations) int {
		if i := slices.IndexFunc(terms, func(t term) bool { return t.metric == m.Metric }); i >= 0 {
			return i
		}
		return len(terms)
	}
	slices.SortStableFunc(metrics, func(a, b *durations) int { return place(a) - place(b) })
	return metrics
}

// precision returns the number of decimals for ms: enough for µs, and more if iterations are short.
func precision(b *breakdown.Breakdown) int {
	switch {
	case b == nil || b.MeanMS(b.WallNS) >= 1:
		return 3
	case b.MeanMS(b.WallNS) >= 0.1:
		return 4
	default:
		return 5
	}
}
