package report

import (
	"bytes"
	"fmt"

	"github.com/psbench/psbench/core/table"
)

// titled writes a grid under a title.
func titled(w *bytes.Buffer, title string, columns []table.Column, rows [][]string) error {
	fmt.Fprintf(w, "\n%s\n", title)
	return table.Write(w, columns, rows, true)
}
