package verdict

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// note is a warning about a cell.
type note struct {
	kind    string // key of all equal warnings
	title   string // the warning in a word or two
	runs    int    // number of runs with this warning; 0 if it concerns all runs together
	settled bool   // it follows from the cell's configuration, so it does not depend on the run
	example string // full text
}

const tooFewRuns = "too few runs"

// noteKinds maps phrases in warnings to short titles. The first phrase that matches counts.
var noteKinds = []struct {
	says, short string
	settled     bool
}{
	{says: tooFewRuns, short: tooFewRuns},
	{says: "the runs are in two clusters", short: "two clusters"},
	{says: "a run has no finite value", short: "not finite"},
	{says: ", so that a slow one changes the means", short: "few iterations"},
	{says: "--check took", short: "check costs"},
	{says: "a trend within", short: "trend in runs"},
	{says: "a step within", short: "step in runs"},
	{says: "(autocorrelation", short: "autocorrelation"},
	{says: "other processes took", short: "machine busy"},
	{says: "other guests of the hypervisor", short: "CPU stolen by other VMs"},
	{says: "throttled", short: "throttled"},
	{says: "that are not finite", short: "loss not finite"},
	{says: "is not finite at the end of the pass", short: "loss not finite"},
	{says: "the replicas ended unequal", short: "replicas unequal"},
	{says: "leaves running", short: "left running"},
	{says: "this process runs alone", short: "lone task"},
	{says: "a year, as 0 means", short: "no timeout", settled: true},
	{says: "never uses the servers", short: "unused servers", settled: true},
	{says: " has no effect: ", short: "no effect", settled: true},
}

// noteOf classifies a warning. It leaves runs and example empty.
func noteOf(warning string) note {
	for _, k := range noteKinds {
		if strings.Contains(warning, k.says) {
			n := note{kind: k.short, title: k.short, settled: k.settled}
			if k.settled {
				n.kind = warning // each value without effect has its own warning
			}
			return n
		}
	}
	return note{kind: digits.ReplaceAllString(warning, "#"), title: "warned"}
}

// digits matches numbers. Warnings of the same kind may contain different numbers.
var digits = regexp.MustCompile(`[0-9][0-9.]*`)

// cellNotes returns the warnings about a cell for a metric. Some concern all runs together, others single runs.
func cellNotes(c *model.Cell, metric string) []note {
	var notes []note
	values := c.Of(metric)
	for _, text := range judge.RunWarnings(values) {
		n := noteOf(text)
		n.example = text
		notes = append(notes, n)
	}
	if missing := len(c.Runs) - len(values); missing > 0 {
		notes = append(notes, note{kind: "no value", title: "no value",
			example: fmt.Sprintf("%d of %s have no %s", missing, screen.Count(len(c.Runs), "run"), metric)})
	}
	if left, ok := c.Unseen[metric]; ok {
		notes = append(notes, note{kind: "left out", title: screen.Percent(left.Share) + " left out",
			example: fmt.Sprintf("%s left out: %s", leftOutSum(left), whyLeftOut(left))})
	}
	return append(notes, runNotes(c)...)
}

// runNotes returns the warnings about single runs, one of each kind.
func runNotes(c *model.Cell) []note {
	var notes []note
	for _, run := range c.Runs {
		said := map[string]bool{} // kinds that this run has
		for _, text := range run.Warnings {
			n := noteOf(text)
			n.example = fmt.Sprintf("run %d: %s", run.Round, text)
			if n.settled {
				n.example = text
			}
			i := slices.IndexFunc(notes, func(o note) bool { return o.kind == n.kind })
			if i < 0 {
				i, notes = len(notes), append(notes, n)
			}
			if !n.settled && !said[n.kind] {
				said[n.kind] = true
				notes[i].runs++
			}
		}
	}
	return notes
}

// shorts returns the short notes for a cell's row, one for each title, with the largest number of runs. It leaves out
// notes that follow from the configuration, because these say nothing about the runs.
func shorts(notes []note, runs int) []string {
	var shown []note
	for _, n := range notes {
		if n.settled {
			continue
		}
		i := slices.IndexFunc(shown, func(o note) bool { return o.title == n.title })
		if i < 0 {
			i, shown = len(shown), append(shown, n)
		}
		shown[i].runs = max(shown[i].runs, n.runs)
	}
	var texts []string
	for _, n := range shown {
		if n.runs > 0 && runs > 1 {
			n.title = fmt.Sprintf("%s %d/%d", n.title, n.runs, runs)
		}
		texts = append(texts, n.title)
	}
	return texts
}

// full returns the full texts of notes.
func full(notes []note) []string {
	var texts []string
	for _, n := range notes {
		texts = append(texts, quote.Message(n.example))
	}
	return texts
}

// warnings returns one full warning of each kind over all cells, with the number of affected runs and cells.
func warnings(cells []*model.Cell, metric string) []string {
	type total struct {
		note
		cells, runs int
	}
	var totals []total
	for _, c := range cells {
		for _, n := range cellNotes(c, metric) {
			i := slices.IndexFunc(totals, func(t total) bool { return t.kind == n.kind })
			if i < 0 {
				i, totals = len(totals), append(totals,
					total{note: note{kind: n.kind, title: n.title, example: c.Name + ", " + n.example}})
			}
			totals[i].cells++
			totals[i].runs += n.runs
		}
	}
	var texts []string
	for _, t := range totals {
		of := screen.Count(t.cells, "cell")
		if t.runs > 0 {
			of = screen.Count(t.runs, "run") + " of " + of
		}
		texts = append(texts, fmt.Sprintf("%s (%s): e.g. %s", t.title, of, t.example))
	}
	return texts
}

// Notes returns the full warnings about a cell for a metric, one of each kind.
func Notes(s *model.Study, c *model.Cell, metric string) []string { return full(notesOf(s, c, metric)) }

// Shorts returns the warnings about a cell for a metric, each in a word or two. It also states how many failed runs
// were repeated, and marks a barred cell as "excluded".
func Shorts(s *model.Study, c *model.Cell, metric string, barred map[*model.Cell]bool) []string {
	texts := shorts(notesOf(s, c, metric), len(c.Runs))
	if c.Repeated > 0 {
		texts = append(texts, fmt.Sprintf("%d failed and repeated", c.Repeated))
	}
	if barred[c] {
		texts = append(texts, "excluded")
	}
	return texts
}

// notesOf returns the warnings about a cell. If the study has one run, it omits the run's number. It then also omits
// the warning of too few runs, because such a study compares nothing.
func notesOf(s *model.Study, c *model.Cell, metric string) []note {
	notes := cellNotes(c, metric)
	if !s.OneRun() {
		return notes
	}
	for i := range notes {
		for _, r := range c.Runs {
			notes[i].example = strings.TrimPrefix(notes[i].example, fmt.Sprintf("run %d: ", r.Round))
		}
	}
	return slices.DeleteFunc(notes, func(n note) bool { return n.kind == tooFewRuns })
}

// Warnings returns the full warnings about all cells for a metric, one of each kind.
func Warnings(s *model.Study, metric string) []string {
	if s.OneRun() {
		return onlyRunWarnings(s, metric)
	}
	return warnings(s.All(), metric)
}

// onlyRunWarnings returns the warnings about the study's only run.
func onlyRunWarnings(s *model.Study, metric string) []string {
	var texts []string
	for _, n := range notesOf(s, s.Cells[0], metric) {
		texts = append(texts, n.title+": "+n.example)
	}
	return texts
}
