package study

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/spelling"
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
	metric, err := s.MetricOr(o.Metric)
	if err != nil {
		return err
	}
	answer, err := s.Sentences(metric, o.Target)
	if err != nil {
		return err
	}
	page := &screen.Page{Width: o.Width}
	v := s.Verdicts(metric)
	line(page, "study", s.Heading(metric))
	line(page, "machine", s.Machine())
	if len(s.Cells) > 0 {
		page.Line(0, "")
		s.table(page, v)
		page.Line(0, "")
	}
	for _, r := range s.Remarks(v) {
		line(page, r.Label, r.Text)
	}
	page.Line(0, "")
	s.times(page)
	for _, a := range answer {
		line(page, a.Label, quote.Message(a.Text)) // names of cells are anybody's
	}
	for _, text := range s.AllWarnings() {
		page.Line(2, "warning: "+text)
	}
	_, err = page.WriteTo(w)
	return err
}

// MetricOr is the metric that is asked for, or with "" the one that the study is compared by; of psbench
// comm that is the time. What is asked for and no run has is an error, unless the study itself was made for it.
func (s *Study) MetricOr(name string) (Metric, error) {
	switch {
	case name != "" && name != s.Metric:
		m, err := MetricOf(name)
		if err == nil {
			err = s.has(m)
		}
		return m, err
	case s.Metric != "":
		return MetricOf(s.Metric)
	case s.isComm():
		return MetricOf(CommTime)
	}
	return MetricOf(Throughput)
}

// has refuses a metric of which no run has a value, though there are runs.
func (s *Study) has(m Metric) error {
	runs := s.allRuns()
	have := map[string]bool{}
	for _, r := range runs {
		for name := range r.Values {
			have[name] = true
		}
	}
	if have[m.Name] || len(runs) == 0 {
		return nil
	}
	names := slices.DeleteFunc(MetricNames(), func(name string) bool { return !have[name] })
	return fmt.Errorf("no run has the metric %s; %s", m.Name, spelling.Choices(m.Name, names, "metrics that they have", "psbench export lists all"))
}

func line(w *screen.Page, label, text string) {
	if text != "" {
		w.Line(12, fmt.Sprintf("%-11s %s", label, text))
	}
}

// Heading counts everything: nothing is left out unsaid.
func (s *Study) Heading(m Metric) string {
	done, failed, waiting := s.counts()
	switch one := s.OneRun(); {
	case one && done > 0:
		return s.Name + ": 1 run done"
	case one && failed > 0:
		return s.Name + ": 1 run failed"
	case one:
		return s.Name + ": 1 run waiting"
	}
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
			text += fmt.Sprintf(", %s %s", screen.Thousands(int64(part.n)), part.what)
		}
	}
	if skipped > 0 {
		text += fmt.Sprintf("; %s skipped", screen.Count(skipped, "cell"))
	}
	if same > 0 {
		text += fmt.Sprintf("; %s of an experiment that another one runs", screen.Count(same, "cell"))
	}
	return text + "; compared by " + m.worded()
}

// table writes a row for each cell.
func (s *Study) table(page *screen.Page, v *Verdicts) {
	columns := []screen.Column{
		screen.Left("cell"), screen.Right("runs"), screen.Right("median " + v.Metric.Unit), screen.Right("95 % interval").Yields(3),
		screen.Right("spread").Yields(2), screen.Right("change"), screen.Right("p").Yields(4), screen.Right("p99 ms").Yields(1), screen.Left("warnings").Yields(5),
	}
	var rows [][]string
	barred := s.Barred(v.Metric)
	for i, row := range v.Rows {
		change := "-"
		if s.counterpart(row.Cell, s.Cells[s.Baseline]) == row.Cell {
			change = "baseline"
		}
		rows = append(rows, s.row(row, v.Metric, change, barred))
		if i == s.Baseline && v.Again != nil {
			cells := s.row(*v.Again, v.Metric, "A/A", barred)
			cells[0], cells[6] = "  the same again", ""
			if v.Again.Compared {
				cells[5] = v.Metric.change(v.Again.Change) + " A/A"
			}
			rows = append(rows, cells)
		}
	}
	page.Columns(columns, rows)
}

// row is a row of the table.
func (s *Study) row(r Row, m Metric, change string, barred map[*Cell]bool) []string {
	c := r.Cell
	switch {
	case c.Skipped != "":
		return []string{c.Name, "0", "-", "", "", "", "", "", "skipped"}
	case c.Same != "":
		return []string{c.Name, "", "", "", "", "", "", "", "same as " + s.resolved(c).Name}
	}
	e := r.Estimate
	interval, spread, p := "-", "-", ""
	if e.HasInterval {
		interval = fmt.Sprintf("%s – %s", number(e.Low), number(e.High))
	}
	if e.N > 1 && !math.IsNaN(e.Median) {
		spread = m.spread(e)
	}
	if r.Compared {
		change, p = m.verdict(r.Change), short(r.Change.Adjusted)
	}
	shorts := s.Shorts(c, m.Name, barred)
	if len(c.Failed) > 0 {
		shorts = append(shorts, fmt.Sprintf("%d failed", len(c.Failed)))
	}
	if c.Waiting > 0 {
		shorts = append(shorts, fmt.Sprintf("%d waiting", c.Waiting))
	}
	p99 := "-"
	if values := c.Of(P99); len(values) > 0 && len(values) == len(c.Runs) {
		p99 = number(judge.Of(values).Median)
	}
	return []string{s.NameOf(c), strconv.Itoa(e.N), number(e.Median), interval, spread, change, p, p99, strings.Join(shorts, ", ")}
}

// verdict is a change in a few signs: ~ where nothing is proven.
func (m Metric) verdict(c judge.Change) string {
	change := m.change(c)
	switch {
	case change == "-":
		return "~"
	case !c.Proven():
		return "~ " + change
	}
	return change + " " + string(c.Verdict)
}
