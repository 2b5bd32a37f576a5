package screen

import (
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/tw"
)

// Columns writes a table like Grid but without lines, with two spaces between columns. Columns suits output where
// every line of the screen counts.
func (p *Page) Columns(columns []Column, rows [][]string) {
	l := fit(columns, quoted(rows), p.Width, spaces)
	for _, row := range slices.Concat([][]string{names(columns)}, quoted(rows)) {
		l.plain(p, columns, row)
	}
	p.leftOut(l)
}

// plain writes the visible cells of a row. plain breaks words over several lines.
func (l *layout) plain(p *Page, columns []Column, row []string) {
	cells, height := make([][]string, len(l.shown)), 0
	for i, k := range l.shown {
		cells[i] = wrap(row[k], l.widths[i])
		height = max(height, len(cells[i]))
	}
	for y := range height {
		line := ""
		for i, k := range l.shown {
			text := ""
			if y < len(cells[i]) {
				text = cells[i][y]
			}
			room := strings.Repeat(" ", max(0, l.widths[i]-twwidth.Width(text)))
			if columns[k].side == tw.AlignRight {
				text = room + text
			} else {
				text += room
			}
			line += text + "  "
		}
		_, _ = p.WriteString(strings.TrimRight(line, " ") + "\n") // writing to memory cannot fail
	}
}
