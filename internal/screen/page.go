// Package screen lays text out for a screen: grids and lines that fit its width.
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

// Page is text that is yet to be written to a screen of Width columns. Width 0 is that of
// a file or a pipe, where nothing is broken or left out.
type Page struct {
	bytes.Buffer
	Width int
}

// Column is a heading, the side on which its cells are aligned, and how soon it gives way
// on a narrow screen.
type Column struct {
	Name   string
	side   tw.Align
	yields int
}

// Left is a column of words, which may be broken over several lines.
func Left(name string) Column { return Column{Name: name, side: tw.AlignLeft} }

// Right is a column of numbers, which are never broken.
func Right(name string) Column { return Column{Name: name, side: tw.AlignRight} }

// Yields is the column as one that is left out where the grid does not fit otherwise, the
// one with the lowest order, from 1 on, first.
func (c Column) Yields(order int) Column {
	c.yields = order
	return c
}

// Line writes a line, broken at spaces where the screen ends; what follows the first break
// is indented by so many columns.
func (p *Page) Line(indent int, text string) {
	lines := []string{text}
	if p.Width > 0 {
		lines = hang(text, p.Width, indent)
	}
	_, _ = p.WriteString(strings.Join(lines, "\n") + "\n") // into memory
}

// Text writes lines, each as Line does without an indent.
func (p *Page) Text(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		p.Line(0, line)
	}
}

// Labelled writes a line that begins with a label; without a text, nothing.
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

// Table writes a grid that is ruled, below a blank line and a title.
func (p *Page) Table(title string, columns []Column, rows [][]string) error {
	p.Line(0, "")
	p.Line(2, title)
	return p.Grid(columns, rows, true)
}

// Grid writes a grid that fits the screen, with ruled set with a line between rows. What
// plugins say may be in cells. Below a grid of which columns were left out a line names
// them.
func (p *Page) Grid(columns []Column, rows [][]string, ruled bool) error {
	cells := quoted(rows)
	l := fit(columns, cells, p.Width, borders)
	if err := l.write(p, columns, cells, ruled); err != nil {
		return fmt.Errorf("a table with the columns %q cannot be laid out: %w", names(columns), err)
	}
	p.leftOut(l)
	return nil
}

// leftOut names the columns that are not shown.
func (p *Page) leftOut(l *layout) {
	if l.left != nil {
		p.Line(2, fmt.Sprintf("left out, for the screen has %d columns: %s", p.Width, strings.Join(l.left, ", ")))
	}
}

// Lines is how many lines the page has.
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

// write writes the columns that are shown.
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
