// Package table lays text out in grids.
package table

import (
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/psbench/psbench/internal/quote"
)

// Column is a heading and the side on which its cells are aligned.
type Column struct {
	Name string
	side tw.Align
}

// Left is a column of words.
func Left(name string) Column { return Column{name, tw.AlignLeft} }

// Right is a column of numbers.
func Right(name string) Column { return Column{name, tw.AlignRight} }

// Write writes a grid, with ruled set with a line between rows. A cell has
// more lines than one only where it has line breaks. What plugins say may be in cells.
func Write(w io.Writer, columns []Column, rows [][]string, ruled bool) error {
	names := make([]string, len(columns))
	sides := tw.CellAlignment{PerColumn: make([]tw.Align, len(columns))}
	for i, c := range columns {
		names[i], sides.PerColumn[i] = c.Name, c.side
	}
	between := tw.Off
	if ruled {
		between = tw.On
	}
	t := tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Symbols:  tw.NewSymbols(tw.StyleASCII),
			Settings: tw.Settings{Separators: tw.Separators{BetweenRows: between}},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(sides),
		tablewriter.WithRowAlignmentConfig(sides),
		tablewriter.WithHeader(names),
	)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = quote.Lines(cell)
		}
		if err := t.Append(cells); err != nil {
			return fmt.Errorf("a table with the columns %q cannot be laid out: %w", names, err)
		}
	}
	return t.Render()
}
