package report

import (
	"fmt"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/screen"
)

// mostLines is how many lines of a terminal Table may take: all but one of 25, which is
// for the prompt.
const mostLines = 24

// leastNumbers are the lines of the table of numbers that are no durations, where there are any:
// for its heading and three of them, unless that leaves the other table less than fewestLines.
const (
	leastNumbers = 4
	fewestLines  = 6
)

// leastLines are those that warnings leave the table of all ranks: for its heading and for
// what an iteration is made of.
const leastLines = 9

// tableReport writes Table: what ran, the table of all ranks, the answer. On a terminal
// it has mostLines lines: the answer comes first, then as many warnings as leave the table
// leastLines, but at least one, then as many rows of numbers that are no durations as leave it
// these, but leastNumbers, and then as many rows of the table as there is room for. What was left
// out is counted.
func tableReport(w *screen.Page, r *result.Result) {
	b := breakdown.Of(r)
	above, below := &screen.Page{Width: w.Width}, &screen.Page{Width: w.Width}
	heading(above, r)
	incomplete(above, r)
	answer(below, r, b)
	const others = 3 // two lines that are blank, and the one that says where there is more
	room := mostLines - above.Lines() - below.Lines() - others
	all := numbersOf(r, anyRank)
	least := leastLines
	if len(all) > 0 {
		room-- // a line that is blank
		least += leastNumbers
	}
	warnings := warningsWithin(w.Width, r.Warnings, room-least)
	room -= warnings.Lines()
	lines := max(room-leastLines, min(leastNumbers, room-fewestLines))
	beside, hiddenBeside := within(w.Width, len(all), lines,
		func(page *screen.Page, shown int) { numbersOverview(page, r, all[:shown]) })
	rows := overviewRows(r, inOrder(group(measuring(r))), b)
	grid, hidden := within(w.Width, len(rows), room-beside.Lines(),
		func(page *screen.Page, shown int) { overview(page, r, rows[:shown]) })
	more(below, hidden+hiddenBeside)
	_, _ = warnings.WriteTo(below) // into memory
	for _, part := range []*screen.Page{above, grid, beside, below} {
		if w.Len() > 0 && part.Len() > 0 {
			w.Line(0, "")
		}
		_, _ = part.WriteTo(w) // into memory
	}
}

// more writes where to find the rest, and how many rows do not fit the screen.
func more(w *screen.Page, hidden int) {
	if hidden == 0 {
		w.Labelled("more", "--report full, --json FILE; psbench help metrics explains the rows")
		return
	}
	w.Labelled("more",
		fmt.Sprintf("--report full (%s); psbench help metrics explains the rows", screen.Count(hidden, "more row")))
}

// warningsWithin returns the warnings that fit into some lines of a terminal, but at least one.
func warningsWithin(width int, warnings []string, lines int) *screen.Page {
	w := &screen.Page{Width: width}
	for i, text := range warnings {
		next := &screen.Page{Width: w.Width}
		warning(next, text)
		lines -= next.Lines()
		if last := i == len(warnings)-1; w.Width > 0 && i > 0 && (lines < 0 || lines == 0 && !last) {
			w.Line(2, fmt.Sprintf("%s: see --report full", screen.Count(len(warnings)-i, "more warning")))
			break
		}
		_, _ = next.WriteTo(w) // into memory
	}
	return w
}

// within returns a page of at most so many lines with as many rows as fit, and the number of hidden rows. A row
// takes at least a line, so no more rows than lines are laid out.
func within(width, rows, lines int, write func(page *screen.Page, shown int)) (page *screen.Page, hidden int) {
	shown := rows
	if width > 0 {
		shown = min(rows, lines)
	}
	for ; shown > 0; shown-- {
		page := &screen.Page{Width: width}
		write(page, shown)
		if width == 0 || page.Lines() <= lines {
			return page, rows - shown
		}
	}
	return &screen.Page{}, rows
}
