package report

import (
	"bytes"
	"fmt"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// column is a heading and the side on which its cells are aligned.
type column struct {
	name string
	side tw.Align
}

func left(name string) column  { return column{name, tw.AlignLeft} }
func right(name string) column { return column{name, tw.AlignRight} }

// table writes a grid under a title. Cells are shown as they are: a cell has
// more lines than one only where it has line breaks.
func table(w *bytes.Buffer, title string, columns []column, rows [][]string) error {
	names := make([]string, len(columns))
	sides := tw.CellAlignment{PerColumn: make([]tw.Align, len(columns))}
	for i, c := range columns {
		names[i], sides.PerColumn[i] = c.name, c.side
	}
	t := tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Symbols:  tw.NewSymbols(tw.StyleASCII),
			Settings: tw.Settings{Separators: tw.Separators{BetweenRows: tw.On}},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(sides),
		tablewriter.WithRowAlignmentConfig(sides),
		tablewriter.WithHeader(names),
	)
	if err := t.Bulk(rows); err != nil {
		return fmt.Errorf("cannot lay out table %q: %w", title, err)
	}
	fmt.Fprintf(w, "\n%s\n", title)
	return t.Render()
}
