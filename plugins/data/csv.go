package data

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// parseCSV reads rows whose last field is the target. header is yes, no or auto.
func parseCSV(r io.Reader, header string, out *fileSamples) error {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = -1 // bags differ in length
	rows.ReuseRecord = true
	rows.TrimLeadingSpace = true
	var numbers []number
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvError(rows, err)
		}
		if first && (header == "yes" || header == "auto" && isHeader(row)) {
			continue
		}
		numbers = numbers[:0]
		for i, field := range row {
			line, column := rows.FieldPos(i)
			value, err := parseNumber(strings.TrimSpace(field))
			if err != nil {
				return at(line, column, err)
			}
			numbers = append(numbers, number{value, column})
		}
		last := len(numbers) - 1
		line, _ := rows.FieldPos(last)
		if err := out.add(line, &sample{hasBag: true, bag: numbers[:last], targets: numbers[last:]}); err != nil {
			return at(line, 1, err)
		}
	}
}

// isHeader says whether no field of the first row is an integer.
func isHeader(row []string) bool {
	for _, field := range row {
		_, err := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
		if err == nil || errors.Is(err, strconv.ErrRange) {
			return false
		}
	}
	return true
}

// csvError gives a syntax error or a failed read the form of the other errors.
func csvError(rows *csv.Reader, err error) error {
	var syntax *csv.ParseError
	if errors.As(err, &syntax) {
		return at(syntax.Line, syntax.Column, syntax.Err)
	}
	return fmt.Errorf("after byte %d: %w", rows.InputOffset(), err)
}
