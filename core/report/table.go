package report

import (
	"fmt"

	"github.com/psbench/psbench/core/breakdown"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/screen"
)

// mostLines is how many lines of a terminal ReportTable may take: all but one of 25, which is
// for the prompt.
const mostLines = 24

// leastLines are those that warnings leave the table of all ranks: for its heading, what an
// iteration is made of, and a line that says what was left out.
const leastLines = 9

// tableReport writes ReportTable: what ran, the table of all ranks, the answer. On a terminal
// it has mostLines lines: the answer comes first, then as many warnings as leave the table
// leastLines, but at least one, and then as many rows of the table as there is room for. Lines
// say what was left out.
func tableReport(w *screen.Page, r *result.Result) {
	b := breakdown.Of(r)
	above, below := &screen.Page{Width: w.Width}, &screen.Page{Width: w.Width}
	heading(above, r)
	incomplete(above, r)
	answer(below, r, b)
	line(below, "more", "--report full, --json FILE; psbench help metrics explains the rows")
	const blank = 2
	room := mostLines - above.Lines() - below.Lines() - blank
	warningsWithin(below, r.Warnings, room-leastLines)
	room = mostLines - above.Lines() - below.Lines() - blank

	rows := overviewRows(r, inOrder(group(measuring(r))), b)
	grid := overviewWithin(w.Width, r, rows, room)
	for i, part := range []*screen.Page{above, grid, below} {
		if i > 0 && part.Len() > 0 {
			w.Line(0, "")
		}
		_, _ = part.WriteTo(w) // into memory
	}
}

// warningsWithin writes the warnings that fit into some lines of a terminal, and at least one.
func warningsWithin(w *screen.Page, warnings []string, lines int) {
	for i, text := range warnings {
		next := &screen.Page{Width: w.Width}
		warning(next, text)
		lines -= next.Lines()
		if last := i == len(warnings)-1; w.Width > 0 && i > 0 && (lines < 0 || lines == 0 && !last) {
			w.Line(2, fmt.Sprintf("and %s, which --report full shows", count(len(warnings)-i, "more warning")))
			return
		}
		_, _ = next.WriteTo(w) // into memory
	}
}

// overviewWithin is the overview in some lines of a terminal.
func overviewWithin(width int, r *result.Result, rows [][]string, lines int) *screen.Page {
	for shown := len(rows); shown > 0; shown-- {
		page := &screen.Page{Width: width}
		overview(page, r, rows[:shown])
		if shown < len(rows) {
			page.Line(2, fmt.Sprintf("and %s, which --report full shows", count(len(rows)-shown, "more row")))
		}
		if width == 0 || page.Lines() <= lines {
			return page
		}
	}
	return &screen.Page{}
}

// titled writes a grid under a title.
func titled(w *screen.Page, title string, columns []screen.Column, rows [][]string) error {
	w.Line(0, "")
	w.Line(2, title)
	return w.Grid(columns, rows, true)
}
