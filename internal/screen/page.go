// Package screen formats text for a screen: grids and lines that fit its width.
package screen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/psbench/psbench/internal/quote"
)

// Page is text to be written to a screen of Width columns. Width 0 means a file or a pipe, for which nothing is
// broken or left out.
type Page struct {
	bytes.Buffer
	Width int
}

// Column has a heading, the alignment of its cells, and its order of hiding on a narrow screen.
type Column struct {
	Name   string
	side   tw.Align
	yields int
}

// Left returns a column of words, which may be broken over several lines.
func Left(name string) Column { return Column{Name: name, side: tw.AlignLeft} }

// Right returns a column of numbers, which are never broken.
func Right(name string) Column { return Column{Name: name, side: tw.AlignRight} }

// Yields returns the column as one that is hidden if the grid does not fit. Columns with the lowest order, from 1
// on, are hidden first.
func (c Column) Yields(order int) Column {
	c.yields = order
	return c
}

// Line writes a line and breaks it at spaces where the screen ends. Text after the first break is indented by so
// many columns.
func (p *Page) Line(indent int, text string) {
	lines := []string{text}
	if p.Width > 0 {
		lines = hang(text, p.Width, indent)
	}
	_, _ = p.WriteString(strings.Join(lines, "\n") + "\n") // writing to memory cannot fail
}

// Text writes lines like Line, without an indent.
func (p *Page) Text(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		p.Line(0, line)
	}
}

// Labelled writes a line that begins with a label. Labelled writes nothing if the text is empty.
func (p *Page) Labelled(label, text string) {
	if text != "" {
		p.Line(12, fmt.Sprintf("%-11s %s", label, text))
	}
}

// Title begins a block of labelled lines.
func (p *Page) Title(text string) {
	p.Line(0, text)
	p.Line(0, strings.Repeat("-", twwidth.Width(text)))
}

// Table writes a grid with lines between rows, below a blank line and a title.
func (p *Page) Table(title string, columns []Column, rows [][]string) error {
	p.Line(0, "")
	p.Line(2, title)
	return p.Grid(columns, rows, true)
}

// Grid writes a grid that fits the screen. If ruled is set, it has a line between rows. Cells may contain text from
// plugins. If columns are hidden, a line below the grid names them.
func (p *Page) Grid(columns []Column, rows [][]string, ruled bool) error {
	cells := quoted(rows)
	l := fit(columns, cells, p.Width, borders)
	if err := l.write(p, columns, cells, ruled); err != nil {
		return fmt.Errorf("a table with the columns %q cannot be laid out: %w", names(columns), err)
	}
	p.leftOut(l)
	return nil
}

// leftOut names the hidden columns.
func (p *Page) leftOut(l *layout) {
	if l.left != nil {
		p.Line(2, fmt.Sprintf("left out, for the screen has %d columns: %s", p.Width, strings.Join(l.left, ", ")))
	}
}

// Lines returns the number of lines of the page.
func (p *Page) Lines() int { return bytes.Count(p.Bytes(), []byte("\n")) }

func quoted(rows [][]string) [][]string {
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			cells[i] = append(cells[i], quote.Lines(cell))
		}
	}
	return cells
}

func names(columns []Column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return out
}

// write writes the visible columns.
func (l *layout) write(p *Page, columns []Column, rows [][]string, ruled bool) error {
	var heading []string
	var sides tw.CellAlignment
	for i, k := range l.shown {
		heading = append(heading, strings.Join(wrap(columns[k].Name, l.widths[i]), "\n"))
		sides.PerColumn = append(sides.PerColumn, columns[k].side)
	}
	between := tw.Off
	if ruled {
		between = tw.On
	}
	t := tablewriter.NewTable(&p.Buffer,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Symbols:  tw.NewSymbols(tw.StyleASCII),
			Settings: tw.Settings{Separators: tw.Separators{BetweenRows: between}},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(sides),
		tablewriter.WithRowAlignmentConfig(sides),
		tablewriter.WithHeader(heading),
	)
	for _, row := range rows {
		var cells []string
		for i, k := range l.shown {
			cell := row[k]
			if columns[k].side == tw.AlignLeft {
				cell = strings.Join(wrap(cell, l.widths[i]), "\n")
			}
			cells = append(cells, cell)
		}
		if err := t.Append(cells); err != nil {
			return err
		}
	}
	return t.Render()
}
