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

// note is a warning of a cell.
type note struct {
	kind    string // the same of warnings that say the same
	title   string // in a word or two
	runs    int    // that have it, 0 of one of the runs together
	settled bool   // it holds by the configuration of the cell, whichever run says it
	example string // in full
}

const tooFewRuns = "too few runs"

// noteKinds are words of warnings, and what these are in short. The first that fits counts.
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
	{says: "an iteration tells", short: "autocorrelation"},
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

// noteOf makes a note of a warning.
func noteOf(warning string) note {
	for _, k := range noteKinds {
		if strings.Contains(warning, k.says) {
			n := note{kind: k.short, title: k.short, settled: k.settled}
			if k.settled {
				n.kind = warning // another value without effect is another warning
			}
			return n
		}
	}
	return note{kind: digits.ReplaceAllString(warning, "#"), title: "warned"}
}

// digits are what may differ in warnings that say the same.
var digits = regexp.MustCompile(`[0-9][0-9.]*`)

// cellNotes are the warnings of a cell by a metric: of its runs together, and of each run.
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

// runNotes are those of single runs, of which the first stands for all of its kind.
func runNotes(c *model.Cell) []note {
	var notes []note
	for _, run := range c.Runs {
		said := map[string]bool{} // in this run
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

// shorts are the notes of a cell of so many runs in its row, one of each title: that of the most runs. What its
// configuration settles says nothing of its runs, and is none of them.
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

// full are notes in full.
func full(notes []note) []string {
	var texts []string
	for _, n := range notes {
		texts = append(texts, quote.Message(n.example))
	}
	return texts
}

// warnings are the notes of cells in full, one of each kind, with how many runs and cells have such.
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

// Notes are the warnings of a cell by a metric in full, one of each kind.
func Notes(s *model.Study, c *model.Cell, metric string) []string { return full(notesOf(s, c, metric)) }

// Shorts are the warnings of a cell by a metric in a word or two, and whether it is among those that are barred from
// winning.
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

// notesOf are the warnings of a cell. A study of one run says neither that one run is too few, since it compares
// nothing, nor which run it is.
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

// Warnings are the warnings of the cells by a metric in full, one of each kind.
func Warnings(s *model.Study, metric string) []string {
	if s.OneRun() {
		return onlyRunWarnings(s, metric)
	}
	return warnings(s.All(), metric)
}

// onlyRunWarnings are the warnings of the only run.
func onlyRunWarnings(s *model.Study, metric string) []string {
	var texts []string
	for _, n := range notesOf(s, s.Cells[0], metric) {
		texts = append(texts, n.title+": "+n.example)
	}
	return texts
}
