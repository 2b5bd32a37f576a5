// Package words writes the data of package model and the results of package verdict as tables and sentences.
package words

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Options choose how a study is shown. The zero value is the default.
type Options struct {
	// Metric is the metric for comparing cells; "" means the study's metric.
	Metric string
	// Target is a value to reach, e.g. "auc=0.80"; "" means none.
	Target string
	// Width is the number of columns of the screen, or 0 for a file or a pipe.
	Width int
	// Full adds the details: every sentence, the times of iterations and the full warnings.
	Full bool
}

// Check returns an error if the metric or the target is unknown.
func (o Options) Check() error {
	if o.Metric != "" {
		if _, err := model.MetricOf(o.Metric); err != nil {
			return err
		}
	}
	_, err := verdict.GoalOf(o.Target)
	return err
}

// WriteStudy writes the table of the cells and below it the answer in sentences. The text depends only on the study and
// the options.
func WriteStudy(w io.Writer, s *model.Study, o Options) error {
	metric, err := s.MetricOr(o.Metric)
	if err != nil {
		return err
	}
	answer, err := Sentences(s, metric, o.Target)
	if err != nil {
		return err
	}
	page := &screen.Page{Width: o.Width}
	v := verdict.TableOf(s, metric)
	line(page, "study", Heading(s, metric))
	line(page, "machine", Machine(s))
	if len(s.Cells) > 0 {
		page.Line(0, "")
		table(s, page, v)
		page.Line(0, "")
	}
	if o.Full {
		writeFull(page, s, v, answer)
	} else {
		writeShort(page, s, v, answer)
	}
	_, err = page.WriteTo(w)
	return err
}

// writeFull writes the answer with all its details.
func writeFull(page *screen.Page, s *model.Study, v *verdict.Table, answer []Sentence) {
	for _, r := range Remarks(s, v) {
		line(page, r.Label, r.Text)
	}
	page.Line(0, "")
	timesTable(s, page)
	for _, a := range answer {
		line(page, a.Label, quote.Message(a.Text)) // names of cells are untrusted text
	}
	for _, text := range Warnings(s) {
		page.Line(2, "warning: "+text)
	}
}

// writeShort writes what a reader needs first: the answer without details, the floor, and one line for all warnings of
// cells. It states how many lines it omits.
func writeShort(page *screen.Page, s *model.Study, v *verdict.Table, answer []Sentence) {
	left := 0
	for _, a := range answer {
		if a.Detail {
			left++
		} else {
			line(page, a.Label, quote.Message(a.Text))
		}
	}
	var warnings []string
	for _, r := range Remarks(s, v) {
		switch r.Label {
		case "warning":
			short, _, _ := strings.Cut(r.Text, ": ")
			warnings = append(warnings, short)
			left++
		case "p99", "drift":
			left++
		case "floor":
			short, _, _ := strings.Cut(r.Text, "; ") // without the floors of noisier cells
			line(page, r.Label, short)
		default:
			line(page, r.Label, r.Text)
		}
	}
	line(page, "warnings", strings.Join(slices.Compact(warnings), "; "))
	for _, text := range Warnings(s) {
		page.Line(2, "warning: "+text)
	}
	if left > 0 {
		line(page, "more", fmt.Sprintf("%s has %s", fullCommand(s), screen.Count(left, "more line")))
	}
}

// fullCommand returns the command that shows all details of a study.
func fullCommand(s *model.Study) string {
	if s.Folder == "" { // the user knows which runs were given
		return "psbench show --report full"
	}
	return "psbench show " + quote.Word(s.Folder) + " --report full"
}

func line(w *screen.Page, label, text string) {
	if text != "" {
		w.Line(12, fmt.Sprintf("%-11s %s", label, text))
	}
}

// Heading names the study and counts its cells and runs, so that every left-out cell is visible.
func Heading(s *model.Study, m model.Metric) string {
	done, failed, waiting := s.Counts()
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
		text += "; " + sharing(same)
	}
	return text + "; compared by " + worded(m)
}

// sharing states how many cells have no runs of their own.
func sharing(cells int) string {
	if cells == 1 {
		return "1 cell shares the runs of an equal one"
	}
	return fmt.Sprintf("%s share the runs of equal ones", screen.Count(cells, "cell"))
}

// table writes a row for each cell.
func table(s *model.Study, page *screen.Page, v *verdict.Table) {
	columns := []screen.Column{
		screen.Left("cell"), screen.Right("runs"), screen.Right("median " + v.Metric.Unit),
		screen.Right("95 % interval").Yields(3),
		screen.Right("spread").Yields(2), screen.Right("change"), screen.Right("p").Yields(4),
		screen.Right("p99 ms").Yields(1), screen.Left("warnings").Yields(5),
	}
	var rows [][]string
	barred := verdict.Barred(s, v.Metric)
	for i, row := range v.Rows {
		change := "-"
		if s.Counterpart(row.Cell, s.Cells[s.Baseline]) == row.Cell {
			change = "baseline"
		}
		rows = append(rows, rowOf(s, row, v.Metric, change, barred))
		if i == s.Baseline && v.Again != nil {
			cells := rowOf(s, *v.Again, v.Metric, "A/A", barred)
			cells[0], cells[6] = "  the same again", ""
			if v.Again.Compared {
				cells[5] = changeText(v.Metric, v.Again.Change) + " A/A"
			}
			rows = append(rows, cells)
		}
	}
	page.Columns(columns, rows)
}

// rowOf returns a row of the table.
func rowOf(s *model.Study, r verdict.Row, m model.Metric, change string, barred map[*model.Cell]bool) []string {
	c := r.Cell
	switch {
	case c.Skipped != "":
		return []string{c.Name, "0", "-", "", "", "", "", "", "skipped"}
	case c.Same != "":
		return []string{c.Name, "", "", "", "", "", "", "", "same as " + s.Resolved(c).Name}
	}
	e := r.Estimate
	interval, spread, p := "-", "-", ""
	if e.HasInterval {
		interval = fmt.Sprintf("%s – %s", screen.Number(e.Low), screen.Number(e.High))
	}
	if e.N > 1 && !math.IsNaN(e.Median) {
		spread = spreadText(m, e)
	}
	if r.Compared {
		change, p = verdictText(m, r.Change), short(r.Change.Adjusted)
	}
	shorts := verdict.Shorts(s, c, m.Name, barred)
	if len(c.Failed) > 0 {
		shorts = append(shorts, fmt.Sprintf("%d failed", len(c.Failed)))
	}
	if c.Waiting > 0 {
		shorts = append(shorts, fmt.Sprintf("%d waiting", c.Waiting))
	}
	p99 := "-"
	if values := c.Of(model.P99); len(values) > 0 && len(values) == len(c.Runs) {
		p99 = screen.Number(judge.Of(values).Median)
	}
	return []string{s.NameOf(c), strconv.Itoa(e.N), screen.Number(e.Median), interval, spread, change, p, p99,
		strings.Join(shorts, ", ")}
}

// verdictText returns a change in short form. ~ means that the change is not proven.
func verdictText(m model.Metric, c judge.Change) string {
	change := changeText(m, c)
	switch {
	case change == "-":
		return "~"
	case !c.Proven():
		return "~ " + change
	}
	return change + " " + string(c.Verdict)
}
