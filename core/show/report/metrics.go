package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/screen"
)

// metricColumn is a column of the metric tables.
type metricColumn struct {
	name string
	cell func(stats.Summary) string
}

// metricYields lists the columns that narrow screens drop, in that order.
var metricYields = []string{"stdev", "variance", "min", "count", "max"}

func metricColumns(set string) ([]metricColumn, error) {
	ms := func(name string, value func(stats.Summary) float64) metricColumn {
		return metricColumn{name, func(s stats.Summary) string { return decimals(value(s)) }}
	}
	spread := func(name string, value func(stats.Summary) float64) metricColumn {
		return metricColumn{name, func(s stats.Summary) string {
			if !s.HasSpread() {
				return "-"
			}
			return decimals(value(s))
		}}
	}
	count := metricColumn{"count", func(s stats.Summary) string { return strconv.Itoa(s.Count) }}
	least := ms("min", func(s stats.Summary) float64 { return s.Min })
	p50 := ms("p50", func(s stats.Summary) float64 { return s.P50 })
	mean := ms("mean", func(s stats.Summary) float64 { return s.Mean })
	p95 := ms("p95", func(s stats.Summary) float64 { return s.P95 })
	most := ms("max", func(s stats.Summary) float64 { return s.Max })
	variance := spread("variance", func(s stats.Summary) float64 { return s.Variance })
	stdev := spread("stdev", func(s stats.Summary) float64 { return s.Stdev })

	switch set {
	case "", StatsPsbench:
		return []metricColumn{count, least, p50, mean, p95, most, stdev}, nil
	case StatsOriginal:
		return []metricColumn{least, most, mean, variance, stdev}, nil
	}
	return nil, fmt.Errorf("statistics %q are unknown: choose %q or %q", set, StatsPsbench, StatsOriginal)
}

// decimals formats a value in ms or ms² with three decimals, so the last digit of ms is µs.
func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// metricTables writes a table for each trainer and one for all trainers, then the same for servers. The tables
// contain the series that shown accepts. If numbers is true, metricTables adds the other measurements below each
// table, and the data's measurements at the end.
func metricTables(w *screen.Page, r *result.Result, columns []metricColumn, shown func(*result.Series) bool,
	withNumbers bool) error {
	tables := func(title string, of []result.Process) error {
		in := func(rank int) bool {
			return slices.ContainsFunc(of, func(p result.Process) bool { return p.Rank == rank })
		}
		var series []*result.Series
		for _, p := range of {
			for _, s := range r.Series {
				if s.Rank == p.Rank && shown(s) {
					series = append(series, s)
				}
			}
		}
		if err := metricTable(w, title+pass(r), series, columns); err != nil || !withNumbers {
			return err
		}
		return numbersTable(w, title+pass(r), numbersOf(r, in))
	}
	for _, kind := range []string{"trainer", "server"} {
		ranks := ranksOf(r.Processes, kind)
		for _, p := range ranks {
			if err := tables(p.Name, []result.Process{p}); err != nil {
				return err
			}
		}
		if err := tables("all "+kind, ranks); err != nil {
			return err
		}
	}
	if !withNumbers {
		return nil
	}
	if err := tables("data", ranksOf(r.Processes, "data")); err != nil {
		return err
	}
	return bucketTables(w, "all ranks"+pass(r), numbersOf(r, anyRank))
}

// metricTable writes the table of some series, or nothing if there are none.
func metricTable(w *screen.Page, title string, series []*result.Series, columns []metricColumn) error {
	if len(series) == 0 {
		return nil
	}
	head := []screen.Column{screen.Left("name")}
	for _, c := range columns {
		head = append(head, screen.Right(c.name).Yields(1+slices.Index(metricYields, c.name)))
	}
	var rows [][]string
	for _, m := range group(series) {
		row := []string{m.label()}
		summary := stats.Consume(m.ms())
		for _, c := range columns {
			row = append(row, c.cell(summary))
		}
		rows = append(rows, row)
	}
	return w.Table(title+" (ms)", head, rows)
}

// ranksOf lists the processes of a kind, sorted by rank.
func ranksOf(processes []result.Process, kind string) []result.Process {
	var ranks []result.Process
	for _, p := range processes {
		if p.Kind == kind {
			ranks = append(ranks, p)
		}
	}
	slices.SortFunc(ranks, func(a, b result.Process) int { return a.Rank - b.Rank })
	return ranks
}

// durations is one table row: all series with the same type and name.
type durations struct {
	breakdown.Metric
	series []*result.Series
}

// group combines series into metrics, in order of first appearance.
func group(series []*result.Series) []*durations {
	known := map[breakdown.Metric]*durations{}
	var metrics []*durations
	for _, s := range series {
		id := breakdown.Metric{Type: s.Type, Name: s.Name}
		m := known[id]
		if m == nil {
			m = &durations{Metric: id}
			known[id] = m
			metrics = append(metrics, m)
		}
		m.series = append(m.series, s)
	}
	return metrics
}

// ms returns the metric's durations in ms, series by series. Each value takes 8 bytes.
func (m *durations) ms() []float64 {
	n := 0
	for _, s := range m.series {
		n += s.Len()
	}
	ms := make([]float64, 0, n)
	for _, s := range m.series {
		for q := range s.All() {
			ms = append(ms, float64(q.DurationNS)/1e6)
		}
	}
	return ms
}

func (m *durations) totalNS() (ns int64) {
	for _, s := range m.series {
		for q := range s.All() {
			ns += q.DurationNS
		}
	}
	return ns
}

// label returns "type,name", the form that PyTorch's benchmark prints.
func (m *durations) label() string { return breakAtComma(m.Type + "," + m.Name) }

// breakAtComma breaks a long name at its first comma, so the table fits 120 columns.
func breakAtComma(label string) string {
	const widest = 44
	if len(label) > widest {
		label = strings.Replace(label, ",", ",\n", 1)
	}
	return label
}
