package clicklog

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

const columns = 1 + Numbers + Categories

// explain returns an error that names the fault of a malformed line and its column, counted in bytes from 1.
// explain returns nil for a line that parse accepts.
func (p *parser) explain(line []byte) error {
	fields := bytes.Split(line, []byte{p.separator})
	if len(fields) != columns {
		// The first surplus column begins here, or a missing column should.
		column := len(bytes.Join(fields[:min(columns, len(fields))], []byte{0})) + 2
		advice := ""
		for _, other := range []string{";", "|"} {
			if len(fields) == 1 && bytes.Count(line, []byte(other)) == columns-1 {
				advice = fmt.Sprintf("; set delimiter to %s if that separates them", other)
			}
		}
		return fmt.Errorf(
			"column %d: the number of columns is %d but must be %d: a label, %d numbers and %d categories%s",
			column, len(fields), columns, Numbers, Categories, advice)
	}
	column := 1
	for i, field := range fields {
		var err error
		switch text := string(field); {
		case i == 0:
			err = explainLabel(text)
		case i <= Numbers:
			err = explainNumber(text, i)
		case p.index:
			err = explainIndex(text, i-Numbers, p.rows[i-1-Numbers])
		}
		if err != nil {
			return fmt.Errorf("column %d: %w", column, err)
		}
		column += len(field) + 1
	}
	return nil
}

func explainLabel(text string) error {
	if _, ok := parseLabel(text); !ok {
		return fmt.Errorf("the label is %s but must be 0 or 1", quote.String(text))
	}
	return nil
}

func explainNumber(text string, number int) error {
	if text == "" {
		return nil
	}
	switch _, err := numeral.Float(numeral.Truth(text), 32); {
	case errors.Is(err, numeral.ErrRange):
		return fmt.Errorf("number %d is %s, which is too large for a 32-bit number", number, quote.Text(text))
	case err != nil:
		return fmt.Errorf("number %d is %s but must be a finite number or empty%s", number, quote.String(text),
			numeral.Why(err))
	}
	return nil
}

func explainIndex(text string, category int, rows uint64) error {
	row, err := numeral.Uint(text)
	switch {
	case errors.Is(err, numeral.ErrRange) || err == nil && row >= rows:
		return fmt.Errorf("category %d is %s but its table has the rows 0 to %d", category, quote.Text(text), rows-1)
	case err != nil:
		return fmt.Errorf("category %d is %s but must be a row of its table, 0 to %d%s", category, quote.String(text),
			rows-1, numeral.Why(err))
	}
	return nil
}
