package report

import (
	"fmt"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/screen"
)

// mostLines is the maximum number of lines of Table on a terminal. The prompt takes the last of 25 lines.
const mostLines = 24

// The table of numbers gets at least leastNumbers lines: its heading and three rows. The main table takes precedence:
// it gets at least fewestLines.
const (
	leastNumbers = 4
	fewestLines  = 6
)

// leastLines is the number of lines that warnings must leave to the table of all ranks. These lines hold the heading
// and the parts of an iteration.
const leastLines = 9

// tableReport writes Table: the heading, the table of all ranks, and the answer. On a terminal it writes at most
// mostLines lines, which it allots in this order:
//
// The complete answer comes first. Then come as many warnings as leave leastLines to the table, but at least one. The
// numbers get the next lines, as long as the table keeps leastLines. They get leastNumbers lines in any case, unless
// the table would then have fewer than fewestLines. The table of all ranks gets the rest.
//
// The report states how many rows and how many warnings did not fit.
func tableReport(w *screen.Page, r *result.Result) {
	b := breakdown.Of(r)
	above, below := &screen.Page{Width: w.Width}, &screen.Page{Width: w.Width}
	heading(above, r)
	incomplete(above, r)
	answer(below, r, b)
	const others = 3 // two blank lines and the line that says where to find more
	room := mostLines - above.Lines() - below.Lines() - others
	all := numbersOf(r, anyRank)
	least := leastLines
	if len(all) > 0 {
		room-- // blank line
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
	_, _ = warnings.WriteTo(below) // writing to memory cannot fail
	for _, part := range []*screen.Page{above, grid, beside, below} {
		if w.Len() > 0 && part.Len() > 0 {
			w.Line(0, "")
		}
		_, _ = part.WriteTo(w) // writing to memory cannot fail
	}
}

// more writes where to find all rows, and how many rows did not fit the screen.
func more(w *screen.Page, hidden int) {
	if hidden == 0 {
		w.Labelled("more", "--report full, --json FILE; psbench help metrics explains the rows")
		return
	}
	w.Labelled("more",
		fmt.Sprintf("--report full (%s); psbench help metrics explains the rows", screen.Count(hidden, "more row")))
}

// warningsWithin returns the warnings that fit into the given number of lines, but at least one.
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

// within returns a page of at most the given number of lines, with as many rows as fit. It also returns the number of
// hidden rows. Each row takes at least one line, so within never lays out more rows than lines.
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
