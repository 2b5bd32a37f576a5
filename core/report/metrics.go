package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/breakdown"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/screen"
	"github.com/psbench/psbench/core/stats"
)

// metricColumn is a column of the metric tables.
type metricColumn struct {
	name string
	cell func(stats.Summary) string
}

// metricYields is the order in which these columns go on a narrow screen; the others stay.
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

// decimals shows a value in ms or ms² with µs as its last digit.
func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// metricTables writes a table per trainer and one of all, then the same of the
// servers, of the series that are to be shown.
func metricTables(w *screen.Page, r *result.Result, columns []metricColumn, shown func(*result.Series) bool) error {
	byRank := map[int][]*result.Series{}
	for _, s := range r.Series {
		if !shown(s) {
			continue
		}
		byRank[s.Rank] = append(byRank[s.Rank], s)
	}
	for _, kind := range []string{"trainer", "server"} {
		var all []*result.Series
		for _, p := range ranksOf(r.Processes, kind) {
			if err := metricTable(w, p.Name+pass(r), byRank[p.Rank], columns); err != nil {
				return err
			}
			all = append(all, byRank[p.Rank]...)
		}
		if err := metricTable(w, "all "+kind+pass(r), all, columns); err != nil {
			return err
		}
	}
	return nil
}

// metricTable writes the table of some series; without series, nothing.
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
	return titled(w, title+" (ms)", head, rows)
}

// ranksOf lists the processes of a kind in the order of their ranks.
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

// metric is one row: the series of a type and name.
type metric struct {
	breakdown.Metric
	series []*result.Series
}

// group joins series to metrics, in the order of first appearance.
func group(series []*result.Series) []*metric {
	known := map[breakdown.Metric]*metric{}
	var metrics []*metric
	for _, s := range series {
		id := breakdown.Metric{Type: s.Type, Name: s.Name}
		m := known[id]
		if m == nil {
			m = &metric{Metric: id}
			known[id] = m
			metrics = append(metrics, m)
		}
		m.series = append(m.series, s)
	}
	return metrics
}

// ms are the durations of the metric, series by series. They take 8 bytes each.
func (m *metric) ms() []float64 {
	n := 0
	for _, s := range m.series {
		n += s.Len()
	}
	durations := make([]float64, 0, n)
	for _, s := range m.series {
		for q := range s.All() {
			durations = append(durations, float64(q.DurationNS)/1e6)
		}
	}
	return durations
}

func (m *metric) totalNS() (ns int64) {
	for _, s := range m.series {
		for q := range s.All() {
			ns += q.DurationNS
		}
	}
	return ns
}

// label is "type,name" as in the original. A long one breaks at the comma,
// which keeps the table within 120 columns.
func (m *metric) label() string {
	const widest = 44
	label := m.Type + "," + m.Name
	if len(label) > widest {
		label = strings.Replace(label, ",", ",\n", 1)
	}
	return label
}
