package main

import (
	"io"

	"github.com/psbench/psbench/core/table"
)

// wordTable prints rows of words under headings.
func wordTable(w io.Writer, headings []string, rows [][]string) error {
	columns := make([]table.Column, len(headings))
	for i, h := range headings {
		columns[i] = table.Left(h)
	}
	return table.Write(w, columns, rows, false)
}
