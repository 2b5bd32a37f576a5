package study

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/judge"
	"github.com/psbench/psbench/core/screen"
	"github.com/psbench/psbench/internal/quote"
)

// TextOptions choose how a study is shown. The zero value is the default.
type TextOptions struct {
	// Metric is what cells are compared by, "" for that of the study.
	Metric string
	// Target is a value to be reached, e.g. "auc=0.80"; "" for none.
	Target string
	// Width is how many columns the screen has; 0 is for a file or a pipe.
	Width int
}

// Check says whether there are such a metric and such a target.
func (o TextOptions) Check() error {
	if o.Metric != "" {
		if _, err := MetricOf(o.Metric); err != nil {
			return err
		}
	}
	_, err := targetOf(o.Target)
	return err
}

// Text writes the table of the cells and, below it, what it comes to in sentences. It depends on the
// study and the options alone.
func (s *Study) Text(w io.Writer, o TextOptions) error {
	metric, err := s.metric(o.Metric)
	if err != nil {
		return err
	}
	answer, err := s.Sentences(metric, o.Target)
	if err != nil {
		return err
	}
	page := &screen.Page{Width: o.Width}
	v := s.Verdicts(metric)
	line(page, "study", s.heading(metric))
	line(page, "machine", s.machine())
	if len(s.Cells) > 0 {
		page.Line(0, "")
		withheld := s.table(page, v)
		page.Line(0, "")
		line(page, "floor", v.floorText())
		line(page, "p99", withheld)
		line(page, "checked", s.checked())
	}
	s.remarks(page, metric.Name)
	page.Line(0, "")
	s.times(page)
	for _, a := range answer {
		line(page, a.Label, a.Text)
	}
	for _, text := range slices.Concat(s.Warnings, s.mixed()) {
		page.Line(2, "warning: "+quote.Message(text))
	}
	_, err = page.WriteTo(w)
	return err
}

// metric is the one that is asked for, or that the study is compared by; of psbench comm the time.
func (s *Study) metric(name string) (Metric, error) {
	for _, n := range []string{name, s.Metric} {
		if n != "" {
			return MetricOf(n)
		}
	}
	if runs := s.allRuns(); len(runs) > 0 {
		if _, ok := runs[0].Values[CommTime]; ok {
			return MetricOf(CommTime)
		}
	}
	return MetricOf(Throughput)
}

func line(w *screen.Page, label, text string) {
	if text != "" {
		w.Line(12, fmt.Sprintf("%-11s %s", label, text))
	}
}

// heading counts everything: nothing is left out unsaid.
func (s *Study) heading(m Metric) string {
	done, failed, waiting := s.counts()
	skipped, same := 0, 0
	for _, c := range s.Cells {
		if c.Skipped != "" {
			skipped++
		}
		if c.Same != "" {
			same++
		}
	}
	text := fmt.Sprintf("%s: %s, %s done", s.Name, screen.Count(len(s.Cells), "cell"), screen.Count(done, "run"))
	for _, part := range []struct {
		n    int
		what string
	}{{failed, "failed"}, {waiting, "waiting"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	if skipped > 0 {
		text += fmt.Sprintf("; %s skipped", screen.Count(skipped, "cell"))
	}
	if same > 0 {
		text += fmt.Sprintf("; %s of an experiment that another one runs", screen.Count(same, "cell"))
	}
	return text + "; compared by " + m.Name
}

// table writes a row for each cell and says which of them have too few iterations for a p99.
func (s *Study) table(page *screen.Page, v *Verdicts) (withheld string) {
	columns := []screen.Column{
		screen.Left("cell"), screen.Right("runs"), screen.Right("median " + v.Metric.Unit), screen.Right("95 % interval").Yields(3),
		screen.Right("spread").Yields(2), screen.Right("change"), screen.Right("p").Yields(4), screen.Right("p99 ms").Yields(1), screen.Left("warnings").Yields(5),
	}
	var rows [][]string
	few := 0
	for i, row := range v.Rows {
		change := "-"
		if i == s.Baseline {
			change = "baseline"
		}
		cells, withheld := s.row(row, v.Metric, change)
		rows = append(rows, cells)
		if withheld {
			few++
		}
		if i == s.Baseline && v.Again != nil {
			cells, _ := s.row(*v.Again, v.Metric, "A/A")
			cells[0], cells[6] = "  the same again", ""
			if v.Again.Compared {
				cells[5] = signed(v.Again.Change.Change) + " A/A"
			}
			rows = append(rows, cells)
		}
	}
	page.Columns(columns, rows)
	if few > 0 {
		return fmt.Sprintf("withheld (-) of %s, whose runs have fewer than %d iterations", screen.Count(few, "cell"), judge.PercentileSamples(99))
	}
	return ""
}

// row is a row of the table, and whether p99 is withheld from it.
func (s *Study) row(r Row, m Metric, change string) (cells []string, withheld bool) {
	c := r.Cell
	switch {
	case c.Skipped != "":
		return []string{c.Name, "0", "-", "", "", "", "", "", "skipped"}, false
	case c.Same != "":
		return []string{c.Name, "", "", "", "", "", "", "", "same as " + s.resolved(c).Name}, false
	}
	e := r.Estimate
	interval, spread, p := "-", "-", ""
	if e.HasInterval {
		interval = fmt.Sprintf("%s – %s", number(e.Low), number(e.High))
	}
	if e.N > 1 && !math.IsNaN(e.Median) {
		spread = screen.Percent(e.Spread)
	}
	if r.Compared {
		change, p = verdict(r.Change), short(r.Change.Adjusted)
	}
	shorts := c.shorts(m.Name)
	if len(c.Failed) > 0 {
		shorts = append(shorts, fmt.Sprintf("%d failed", len(c.Failed)))
	}
	if c.Waiting > 0 {
		shorts = append(shorts, fmt.Sprintf("%d waiting", c.Waiting))
	}
	p99 := "-"
	withheld = slices.ContainsFunc(c.Runs, func(r *Run) bool { return r.Iterations > 0 })
	if values := c.Of(P99); len(values) > 0 && len(values) == len(c.Runs) {
		p99, withheld = number(judge.Of(values).Median), false
	}
	return []string{c.Name, strconv.Itoa(e.N), number(e.Median), interval, spread, change, p, p99, strings.Join(shorts, ", ")}, withheld
}

// verdict is a change in a few signs: ~ where nothing is proven.
func verdict(c judge.Change) string {
	switch {
	case math.IsNaN(c.Change):
		return "~"
	case !c.Proven():
		return "~ " + signed(c.Change)
	}
	return signed(c.Change) + " " + string(c.Verdict)
}

// floorText says below which change nothing is believed, and why.
func (v *Verdicts) floorText() string {
	if v.NoFloor != nil {
		return "none, so nothing is proven: " + v.NoFloor.Error()
	}
	return fmt.Sprintf("%s of the %s: %d runs of the baseline, split into halves at random, differ by less in 95 of 100 cases", screen.Percent(v.Floor.Change), v.Metric.Name, v.FloorOf)
}

// mostReasons bounds the reasons of failures that are told.
const mostReasons = 10

// remarks are the warnings in full, and what did not run, each with its reason.
func (s *Study) remarks(page *screen.Page, metric string) {
	for _, text := range warnings(s.all(), metric) {
		line(page, "warning", quote.Message(text))
	}
	var failed []Failure
	for _, c := range s.all() {
		failed = append(failed, c.Failed...)
	}
	groups := grouped(failed)
	for i, group := range groups {
		if i == mostReasons {
			line(page, "failed", fmt.Sprintf("and %s, which psbench sweep status shows", screen.Count(len(groups)-i, "other reason")))
			break
		}
		var folders []string
		for _, f := range group {
			folders = append(folders, quote.Word(f.Folder))
		}
		line(page, "failed", fmt.Sprintf("%s: %s (%s)", screen.Count(len(group), "run"), quote.Message(group[0].Reason), named(folders)))
	}
	reasons := map[string][]string{}
	var order []string
	for _, c := range s.Cells {
		if c.Skipped != "" {
			if reasons[c.Skipped] == nil {
				order = append(order, c.Skipped)
			}
			reasons[c.Skipped] = append(reasons[c.Skipped], c.Name)
		}
	}
	for _, why := range order {
		line(page, "skipped", fmt.Sprintf("%s: %s", named(reasons[why]), quote.Message(why)))
	}
}

// grouped are failures by their reason, in the order of the first of each.
func grouped(failed []Failure) [][]Failure {
	var groups [][]Failure
	for _, f := range failed {
		if i := slices.IndexFunc(groups, func(g []Failure) bool { return g[0].Reason == f.Reason }); i >= 0 {
			groups[i] = append(groups[i], f)
			continue
		}
		groups = append(groups, []Failure{f})
	}
	return groups
}
