package report

import (
	"github.com/psbench/psbench/core/screen"
)

// titled writes a grid under a title.
func titled(w *screen.Page, title string, columns []screen.Column, rows [][]string) error {
	w.Line(0, "")
	w.Line(2, title)
	return w.Grid(columns, rows, true)
}
