package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// numbers combines one counter, gauge or histogram over several ranks. Counters are summed, observations are
// concatenated, and histograms with equal bounds are summed.
type numbers struct {
	metric.Head
	value     int64             // counter: the sum
	observed  []float64         // gauge: finite observations
	nonFinite int               // gauge: number of non-finite observations
	counts    *metric.Histogram // nil unless the metric is a histogram
	isGauge   bool
}

// numbersOf returns the numbers of the ranks that of accepts: gauges, histograms, then counters, each in order of
// first appearance.
func numbersOf(r *result.Result, of func(rank int) bool) []*numbers {
	var all []*numbers
	byHead := map[metric.Head][]*numbers{}
	find := func(h metric.Head, alike func(*numbers) bool) *numbers {
		for _, n := range byHead[h] {
			if alike(n) {
				return n
			}
		}
		n := &numbers{Head: h}
		all, byHead[h] = append(all, n), append(byHead[h], n)
		return n
	}
	for _, g := range r.Gauges {
		if !of(g.Rank) || g.Len() == 0 {
			continue
		}
		n := find(g.Head, func(n *numbers) bool { return n.isGauge })
		n.isGauge = true
		for _, x := range g.All() {
			if numeral.Finite(x) {
				n.observed = append(n.observed, x)
			} else {
				n.nonFinite++
			}
		}
	}
	for _, h := range r.Histograms {
		if !of(h.Rank) {
			continue
		}
		n := find(h.Head, func(n *numbers) bool { return n.counts != nil && slices.Equal(n.counts.Bounds, h.Bounds) })
		if n.counts == nil {
			n.counts = new(metric.NewHistogram(h.Bounds))
		}
		n.counts.Merge(&h.Histogram)
	}
	for _, c := range r.Counters {
		if of(c.Rank) {
			find(c.Head, func(n *numbers) bool { return !n.isGauge && n.counts == nil }).value += c.Value
		}
	}
	return all
}

// anyRank accepts every rank.
func anyRank(int) bool { return true }

// name returns "type,name", the form for metrics that psbench does not know.
func (n *numbers) name() string { return quote.Text(n.Type + "," + n.Name) }

// called returns the term of psbench's own numbers. Other numbers keep their names.
func (n *numbers) called() string {
	if t := termOf(breakdown.Metric{Type: n.Type, Name: n.Name}); t.means != "" && n.Type != computation {
		return t.name
	}
	return n.name()
}

// numberColumns are the columns to the right of name and unit.
var numberColumns = []string{"count", "min", "p50", "mean", "p95", "p99", "max", "stdev"}

// numberYields lists the columns that narrow screens drop, in that order.
var numberYields = []string{"stdev", "min", "p99", "p95", "max"}

// row returns the cells of the given columns. A counter shows its sum in the column count. A gauge shows its
// statistics. A histogram shows the buckets that contain its statistics.
func (n *numbers) row(columns []string) []string {
	cells := map[string]string{"count": strconv.FormatInt(n.value, 10)}
	switch {
	case n.isGauge:
		s := stats.Consume(n.observed)
		cells["count"] = strconv.Itoa(s.Count)
		for name, x := range map[string]float64{"min": s.Min, "p50": s.P50, "mean": s.Mean, "p95": s.P95, "p99": s.P99,
			"max": s.Max} {
			if cells[name] = "-"; s.Count > 0 {
				cells[name] = plain(x)
			}
		}
		if cells["stdev"] = "-"; s.HasSpread() {
			cells["stdev"] = plain(s.Stdev)
		}
	case n.counts != nil:
		cells["count"] = strconv.FormatInt(n.counts.Total(), 10)
		for name, p := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1} {
			cells[name] = bucketName(n.counts, n.counts.Quantile(p))
		}
	}
	row := []string{n.name(), n.Unit}
	for _, name := range columns {
		row = append(row, cells[name])
	}
	return row
}

// bucketName returns the value range of a bucket, or "-" if there is no such bucket.
func bucketName(h *metric.Histogram, i int) string {
	switch {
	case i < 0:
		return "-"
	case i < len(h.Bounds):
		return "≤ " + bound(h.Bounds[i])
	default:
		return "> " + bound(h.Bounds[i-1])
	}
}

// bound formats a bucket bound with plain, or exactly in a form like 1e6 if that is shorter.
func bound(x float64) string {
	text, short := plain(x), strconv.FormatFloat(x, 'g', -1, 64)
	short = strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e−", "-", "−").Replace(short)
	if strings.Contains(short, "e") && utf8.RuneCountInString(short) < utf8.RuneCountInString(text) {
		return short
	}
	return text
}

// plain formats x as screen.Number does but without trailing zeros, since most of these numbers are counts.
func plain(x float64) string {
	text := screen.Number(x)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// omitted states how many values the statistics leave out. It returns "" if there are none.
func (n *numbers) omitted() string {
	switch {
	case n.nonFinite > 0:
		return fmt.Sprintf("%s: %d of %s not finite and left out of the statistics", n.name(), n.nonFinite,
			are(int64(n.nonFinite+len(n.observed)), "observation"))
	case n.counts != nil && n.counts.NaN > 0:
		return fmt.Sprintf("%s: %d of %s NaN and in no bucket", n.name(), n.counts.NaN,
			are(n.counts.Total()+n.counts.NaN, "value"))
	}
	return ""
}

// are returns e.g. "1 thing is" or "7 things are".
func are(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return fmt.Sprintf("%d %ss are", n, thing)
}

// numbersTable writes a table of numbers, or nothing if there are none.
func numbersTable(w *screen.Page, title string, all []*numbers) error {
	if len(all) == 0 {
		return nil
	}
	head := []screen.Column{screen.Left("name"), screen.Left("unit")}
	for _, name := range numberColumns {
		head = append(head, screen.Right(name).Yields(1+slices.Index(numberYields, name)))
	}
	var rows [][]string
	for _, n := range all {
		row := n.row(numberColumns)
		row[0] = breakAtComma(row[0])
		rows = append(rows, row)
	}
	if err := w.Table(title+" (in units of their own)", head, rows); err != nil {
		return err
	}
	for _, n := range all {
		if text := n.omitted(); text != "" {
			w.Line(2, text)
		}
	}
	return nil
}

// bucketTables writes the distributions of histograms, from the first to the last non-empty bucket.
func bucketTables(w *screen.Page, title string, all []*numbers) error {
	for _, n := range all {
		if n.counts == nil || n.counts.Total() == 0 {
			continue
		}
		var rows [][]string
		total := n.counts.Total()
		last := n.counts.Quantile(1)
		for i := slices.IndexFunc(n.counts.Counts, func(c int64) bool { return c > 0 }); i <= last; i++ {
			c := n.counts.Counts[i]
			rows = append(rows,
				[]string{bucketName(n.counts, i), strconv.FormatInt(c, 10),
					screen.Percent(float64(c) / float64(total))})
		}
		columns := []screen.Column{screen.Right(n.Unit), screen.Right("count"), screen.Right("share").Yields(1)}
		w.Line(0, "")
		w.Line(2, title+", "+n.name())
		if err := w.Grid(columns, rows, false); err != nil {
			return err
		}
	}
	return nil
}

// shortColumns are the columns of the table for all ranks.
var shortColumns = []string{"count", "p50", "mean", "p95", "max"}

// numbersOverview writes the numbers of all ranks, below the table of durations.
func numbersOverview(w *screen.Page, r *result.Result, all []*numbers) {
	head := []screen.Column{screen.Left("not in ms, all ranks" + pass(r)), screen.Left("unit")}
	for _, name := range shortColumns {
		yields := map[string]int{"max": 1, "p95": 2, "p50": 3}[name]
		head = append(head, screen.Right(name).Yields(yields))
	}
	var rows [][]string
	for _, n := range all {
		row := n.row(shortColumns)
		row[0] = n.called()
		rows = append(rows, row)
	}
	w.Columns(head, rows)
}

// numbersLine summarizes in one line the measurements other than durations.
func numbersLine(all []*numbers) string {
	var parts []string
	for _, n := range all {
		text, unit := n.called()+" ", " "+n.Unit
		if n.Unit == "1" {
			unit = ""
		}
		switch {
		case n.isGauge && len(n.observed) == 0:
			continue
		case n.isGauge:
			text += "mean " + plain(stats.Consume(n.observed).Mean) + unit
		case n.counts != nil && n.counts.Total() == 0:
			continue
		case n.counts != nil:
			text += "median " + bucketName(n.counts, n.counts.Quantile(0.5)) + unit
		default:
			text += strconv.FormatInt(n.value, 10) + unit
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
