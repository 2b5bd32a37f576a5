package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// OneRun says that the study is of a single run. Nothing is compared then, and nobody is told of cells.
func (s *Study) OneRun() bool {
	return len(s.Cells) == 1 && s.Again == nil && s.Cells[0].ofOneRun()
}

func (c *Cell) ofOneRun() bool { return len(c.Runs)+len(c.Failed)+c.Waiting == 1 }

// NameOf is what a cell is called. The only run is called as the study is.
func (s *Study) NameOf(c *Cell) string {
	if s.OneRun() {
		return cmp.Or(s.Title, s.Name)
	}
	return c.Name
}

// Notes are the warnings of a cell by a metric in full, one of each kind.
func (s *Study) Notes(c *Cell, metric string) []string { return full(s.notes(c, metric)) }

// Shorts are the warnings of a cell by a metric in a word or two, and whether it is among those that are barred from winning.
func (s *Study) Shorts(c *Cell, metric string, barred map[*Cell]bool) []string {
	texts := shorts(s.notes(c, metric), len(c.Runs))
	if c.Repeated > 0 {
		texts = append(texts, fmt.Sprintf("%d failed and repeated", c.Repeated))
	}
	if barred[c] {
		texts = append(texts, "barred")
	}
	return texts
}

// notes are the warnings of a cell. A study of one run says neither that one run is too few, since it compares
// nothing, nor which run it is.
func (s *Study) notes(c *Cell, metric string) []note {
	notes := c.notes(metric)
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

// warned are the warnings of the cells by a metric in full, one of each kind.
func (s *Study) warned(metric string) []string {
	if s.OneRun() {
		return s.runWarnings(metric)
	}
	return warnings(s.All(), metric)
}

// runWarnings are the warnings of the only run.
func (s *Study) runWarnings(metric string) []string {
	var texts []string
	for _, n := range s.notes(s.Cells[0], metric) {
		texts = append(texts, n.title+": "+n.example)
	}
	return texts
}
