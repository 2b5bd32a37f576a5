package study

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/judge"
)

// note is a warning of a cell.
type note struct {
	kind    string // the same of warnings that say the same
	title   string // in a word or two
	runs    int    // that have it, 0 of one of the runs together
	example string // in full
}

// noteKinds are how warnings begin, and what they are in short.
var noteKinds = []struct{ begins, short string }{
	{"too few runs", "too few runs"},
	{"the runs are in two clusters", "two clusters"},
	{"a run has no finite value", "not finite"},
	{"each trainer measured", "few iterations"},
	{"--check took", "check costs"},
	{"a trend within", "trend in runs"},
	{"a step within", "step in runs"},
	{"an iteration tells", "autocorrelation"},
	{"other processes took", "machine busy"},
	{"other guests of the hypervisor", "stolen from"},
}

// noteOf makes a note of a warning.
func noteOf(warning string) note {
	for _, k := range noteKinds {
		if strings.HasPrefix(warning, k.begins) {
			return note{kind: k.short, title: k.short}
		}
	}
	if strings.Contains(warning, "throttle") {
		return note{kind: "throttled", title: "throttled"}
	}
	return note{kind: digits.ReplaceAllString(warning, "#"), title: "other"}
}

// digits are what may differ in warnings that say the same.
var digits = regexp.MustCompile(`[0-9][0-9.]*`)

// notes are the warnings of a cell by a metric: of its runs together, and of each run.
func (c *Cell) notes(metric string) []note {
	var notes []note
	values := c.Of(metric)
	for _, text := range judge.RunWarnings(values) {
		n := noteOf(text)
		n.example = text
		notes = append(notes, n)
	}
	if missing := len(c.Runs) - len(values); missing > 0 {
		notes = append(notes, note{kind: "no value", title: "no value", example: fmt.Sprintf("%d of %s have no %s", missing, count(len(c.Runs), "run"), metric)})
	}
	return append(notes, c.runNotes()...)
}

// runNotes are those of single runs, of which the first stands for all of its kind.
func (c *Cell) runNotes() []note {
	var notes []note
	for _, run := range c.Runs {
		said := map[string]bool{} // in this run
		for _, text := range run.Warnings {
			n := noteOf(text)
			n.example = fmt.Sprintf("run %d: %s", run.Round, text)
			i := slices.IndexFunc(notes, func(o note) bool { return o.kind == n.kind })
			if i < 0 {
				i, notes = len(notes), append(notes, n)
			}
			if !said[n.kind] {
				said[n.kind] = true
				notes[i].runs++
			}
		}
	}
	return notes
}

// shorts are the notes of a cell in its row, one of each title: that of the most runs.
func (c *Cell) shorts(metric string) []string {
	var shown []note
	for _, n := range c.notes(metric) {
		i := slices.IndexFunc(shown, func(o note) bool { return o.title == n.title })
		if i < 0 {
			i, shown = len(shown), append(shown, n)
		}
		shown[i].runs = max(shown[i].runs, n.runs)
	}
	var texts []string
	for _, n := range shown {
		if n.runs > 0 && len(c.Runs) > 1 {
			n.title = fmt.Sprintf("%s %d/%d", n.title, n.runs, len(c.Runs))
		}
		texts = append(texts, n.title)
	}
	return texts
}

// warnings are the notes of cells in full, one of each kind, with how many runs and cells have such.
func warnings(cells []*Cell, metric string) []string {
	type total struct {
		note
		cells, runs int
	}
	var totals []total
	for _, c := range cells {
		for _, n := range c.notes(metric) {
			i := slices.IndexFunc(totals, func(t total) bool { return t.kind == n.kind })
			if i < 0 {
				i, totals = len(totals), append(totals, total{note: note{kind: n.kind, title: n.title, example: c.Name + ", " + n.example}})
			}
			totals[i].cells++
			totals[i].runs += n.runs
		}
	}
	var texts []string
	for _, t := range totals {
		of := count(t.cells, "cell")
		if t.runs > 0 {
			of = count(t.runs, "run") + " of " + of
		}
		texts = append(texts, fmt.Sprintf("%s (%s): e.g. %s", t.title, of, t.example))
	}
	return texts
}
