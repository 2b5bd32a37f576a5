package screen

import (
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/tw"
)

// How narrow a column of words gets: before columns yield, and once none is left to yield.
const (
	narrow    = 20
	narrowest = 8
)

// frame is the columns of a screen that stand around cells: of every cell, and of all but that.
type frame struct{ each, all int }

// The frame of a grid is a border and two spaces of each column, and the last border; plain
// columns have two spaces between them.
var (
	borders = frame{each: 3, all: 1}
	spaces  = frame{each: 2, all: -2}
)

// layout is what of a grid is shown.
type layout struct {
	frame  frame
	shown  []int    // columns, in order
	widths []int    // of their cells
	left   []string // names of the columns that are not shown, in the order in which they went
}

// fit lays columns out on a screen of so many columns, 0 for any. What is too wide gives way
// in this order: headings break at spaces; cells of words do, the widest column
// first; columns that yield go, one after the other, and the words take the room that each
// leaves; last, words break wherever they must. What is still too wide then sticks out.
func fit(columns []Column, rows [][]string, screen int, frame frame) *layout {
	l := &layout{frame: frame}
	for k := range columns {
		l.shown = append(l.shown, k)
	}
	for !l.narrow(columns, rows, screen, narrow) {
		next := l.next(columns)
		if next < 0 || len(l.shown) == 1 {
			l.narrow(columns, rows, screen, narrowest)
			break
		}
		l.left = append(l.left, columns[l.shown[next]].Name)
		l.shown = slices.Delete(l.shown, next, next+1)
	}
	return l
}

// next is the place among the shown columns of the one that yields next, or -1.
func (l *layout) next(columns []Column) int {
	next := -1
	for i, k := range l.shown {
		if y := columns[k].yields; y > 0 && (next < 0 || y < columns[l.shown[next]].yields) {
			next = i
		}
	}
	return next
}

// narrow chooses widths for the shown columns and says whether they fit. No column of
// words gets narrower than least for it.
func (l *layout) narrow(columns []Column, rows [][]string, screen, least int) bool {
	l.widths = make([]int, len(l.shown))
	broken := make([]int, len(l.shown)) // widths with headings as narrow as their words
	for i, k := range l.shown {
		for _, row := range rows {
			l.widths[i] = max(l.widths[i], broad(strings.Split(row[k], "\n")))
		}
		broken[i] = max(l.widths[i], broad(strings.Fields(columns[k].Name)))
		l.widths[i] = max(l.widths[i], twwidth.Width(columns[k].Name))
	}
	over := func() bool { return screen > 0 && sum(l.widths)+l.frame.each*len(l.shown)+l.frame.all > screen }
	for over() { // headings, the one that gives most first
		most := 0
		for i := range l.widths {
			if l.widths[i]-broken[i] > l.widths[most]-broken[most] {
				most = i
			}
		}
		if len(broken) == 0 || l.widths[most] == broken[most] {
			break
		}
		l.widths[most] = broken[most]
	}
	for over() { // words
		widest := -1
		for i, k := range l.shown {
			if columns[k].side == tw.AlignLeft && l.widths[i] > least &&
				(widest < 0 || l.widths[i] > l.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		l.widths[widest]--
	}
	return true
}

// broad is the width of the widest of some texts.
func broad(texts []string) int {
	width := 0
	for _, text := range texts {
		width = max(width, twwidth.Width(text))
	}
	return width
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}
