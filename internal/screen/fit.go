package screen

import (
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/tw"
)

// The minimum width of a column of words: before columns are left out, and when no more can be left out.
const (
	narrow    = 20
	narrowest = 8
)

// frame is the number of screen columns around cells: for every cell, and in addition for the whole row.
type frame struct{ each, all int }

// A grid has a border and two spaces for each column, and a last border. Plain columns have two spaces between
// them.
var (
	borders = frame{each: 3, all: 1}
	spaces  = frame{each: 2, all: -2}
)

// layout is the visible part of a grid.
type layout struct {
	frame  frame
	shown  []int    // columns, in order
	widths []int    // widths of the cells
	left   []string // names of the hidden columns, in the order in which they were hidden
}

// fit lays columns out on a screen of the given width, 0 for any. If they are too wide, fit shrinks them in this
// order. First, it breaks headings at spaces. Then it breaks cells of words, the widest column first. Then it hides
// columns that yield, one after the other, and gives their space to the words. Finally, it breaks words at any
// place. If that is not enough, the text is wider than the screen.
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

// next returns the position, among the visible columns, of the next column to hide, or -1.
func (l *layout) next(columns []Column) int {
	next := -1
	for i, k := range l.shown {
		if y := columns[k].yields; y > 0 && (next < 0 || y < columns[l.shown[next]].yields) {
			next = i
		}
	}
	return next
}

// narrow chooses widths for the visible columns and reports whether they fit. It makes no text column narrower than the
// width least.
func (l *layout) narrow(columns []Column, rows [][]string, screen, least int) bool {
	l.widths = make([]int, len(l.shown))
	broken := make([]int, len(l.shown)) // widths if headings are as narrow as their longest words
	for i, k := range l.shown {
		for _, row := range rows {
			l.widths[i] = max(l.widths[i], broad(strings.Split(row[k], "\n")))
		}
		broken[i] = max(l.widths[i], broad(strings.Fields(columns[k].Name)))
		l.widths[i] = max(l.widths[i], twwidth.Width(columns[k].Name))
	}
	over := func() bool { return screen > 0 && sum(l.widths)+l.frame.each*len(l.shown)+l.frame.all > screen }
	for over() { // headings, starting with the one that saves most
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

// broad returns the width of the widest text.
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
