package study

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/judge"
)

// note is a warning of a cell: in a word or two for its row, and in full.
type note struct{ short, long string }

// noteKinds are how warnings begin, and what they are in short.
var noteKinds = []struct{ begins, short string }{
	{"too few runs", "too few runs"},
	{"the runs are in two clusters", "two clusters"},
	{"a run has no finite value", "not finite"},
	{"a trend within", "trend in runs"},
	{"a step within", "step in runs"},
	{"an iteration tells", "autocorrelation"},
	{"other processes took", "machine busy"},
	{"other guests of the hypervisor", "stolen from"},
}

// other is a warning of no kind.
const other = "warning"

// shortOf is a warning in a word or two.
func shortOf(warning string) string {
	for _, k := range noteKinds {
		if strings.HasPrefix(warning, k.begins) {
			return k.short
		}
	}
	if strings.Contains(warning, "throttle") {
		return "throttled"
	}
	return other
}

// notes are the warnings of a cell by a metric: of its runs together, and of each run, of which the first
// stands for all of its kind.
func (c *Cell) notes(metric string) []note {
	var notes []note
	values := c.Of(metric)
	for _, text := range judge.RunWarnings(values) {
		notes = append(notes, note{shortOf(text), text})
	}
	if missing := len(c.Runs) - len(values); missing > 0 {
		notes = append(notes, note{"no value", fmt.Sprintf("%d of %s have no %s", missing, count(len(c.Runs), "run"), metric)})
	}
	return append(notes, c.runNotes()...)
}

// runNotes are those of single runs.
func (c *Cell) runNotes() []note {
	var kinds []string
	examples, counts := map[string]note{}, map[string]int{}
	for _, run := range c.Runs {
		said := map[string]bool{}
		for _, text := range run.Warnings {
			n := note{shortOf(text), fmt.Sprintf("run %d: %s", run.Round, text)}
			kind := n.short
			if kind == other {
				kind = text
			}
			if said[kind] {
				continue
			}
			if counts[kind] == 0 {
				kinds, examples[kind] = append(kinds, kind), n
			}
			said[kind] = true
			counts[kind]++
		}
	}
	var notes []note
	for _, kind := range kinds {
		n := examples[kind]
		if len(c.Runs) > 1 {
			n.short = fmt.Sprintf("%s %d/%d", n.short, counts[kind], len(c.Runs))
			n.long = fmt.Sprintf("%d of %d runs, e.g. %s", counts[kind], len(c.Runs), n.long)
		}
		notes = append(notes, n)
	}
	return notes
}
