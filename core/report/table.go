package report

import (
	"github.com/psbench/psbench/core/table"
)

// titled writes a grid under a title.
func titled(w *table.Page, title string, columns []table.Column, rows [][]string) error {
	w.Line(0, "")
	w.Line(2, title)
	return w.Grid(columns, rows, true)
}
