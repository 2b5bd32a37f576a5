package data

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// csvFile reads samples from rows. Some fields of each row are the targets.
type csvFile struct {
	rows    *csv.Reader
	form    FileSettings
	wanted  wanted
	targets []int // column numbers of the targets in a row, from 0; nil: the last column
	sample  sample
}

func newCSV(r io.Reader, form FileSettings, delimiter rune) *csvFile {
	f := &csvFile{rows: csv.NewReader(r), form: form}
	f.rows.FieldsPerRecord = -1 // bags differ in length
	f.rows.ReuseRecord = true
	f.separate(delimiter)
	return f
}

// parse reads all rows.
func (f *csvFile) parse(out *fileSamples) error {
	f.wanted = out.wanted
	for first := true; ; first = false {
		row, err := f.next()
		if err != nil || row == nil {
			return err
		}
		if first {
			if err := f.checkDelimiter(row); err != nil {
				return err
			}
			header := f.form.Header == "yes" || f.form.Header == "auto" && isHeader(row)
			if err := f.findTargets(row, header); err != nil {
				return err
			}
			if header {
				continue
			}
		}
		if err := f.parseRow(row); err != nil {
			return err
		}
		line, _ := f.rows.FieldPos(len(row) - 1)
		if err := out.add(line, &f.sample); err != nil {
			return at(line, 1, err)
		}
	}
}

// next returns the next row that is not blank, and nil after the last row. Spreadsheets leave blank rows after a
// table: rows of delimiters alone.
func (f *csvFile) next() ([]string, error) {
	for {
		row, err := f.rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, csvError(f.rows, err)
		}
		if last := len(row) - 1; f.rows.Comma == ' ' && last > 0 && row[last] == "" { // spaces end the line
			row = row[:last]
		}
		if mark, named := separatorOf(row); named && f.rows.InputOffset() < 16 { // Excel writes such a line first
			if f.form.Delimiter == "auto" && mark != 0 {
				f.separate(mark)
			}
			continue
		}
		if !isBlank(row) {
			return row, nil
		}
	}
}

// findTargets finds the target columns by their names or numbers.
func (f *csvFile) findTargets(first []string, header bool) error {
	if f.form.Target == "" {
		return nil
	}
	var names []string
	for _, name := range first {
		names = append(names, strings.TrimSpace(name))
	}
	asked := strings.Split(f.form.Target, ",")
	if header && slices.Contains(names, f.form.Target) {
		asked = []string{f.form.Target}
	}
	for _, name := range asked {
		place, err := findTarget(strings.TrimSpace(name), names, header)
		if err == nil && slices.Contains(f.targets, place) {
			err = fmt.Errorf("setting target names column %d twice", place+1)
		}
		if err != nil {
			line, _ := f.rows.FieldPos(0)
			return at(line, 1, err)
		}
		f.targets = append(f.targets, place)
	}
	return nil
}

// findTarget returns the position of one column, given its name in the header or its number.
func findTarget(name string, names []string, header bool) (int, error) {
	if place := slices.Index(names, name); header && place >= 0 {
		if slices.Contains(names[place+1:], name) {
			return 0, fmt.Errorf("setting target is %s, but several columns have that name: give the number of one",
				quote.String(name))
		}
		return place, nil
	}
	number, err := strconv.Atoi(name)
	switch {
	case err == nil && 1 <= number && number <= len(names):
		return number - 1, nil
	case err == nil:
		return 0, fmt.Errorf("setting target is %d but must be the name of a column or its number from 1 to %d", number,
			len(names))
	case !header:
		return 0, fmt.Errorf("the row is no header, so setting target must be a number from 1 to %d, not %s",
			len(names), quote.String(name))
	default:
		return 0, fmt.Errorf("setting target is %s, but no column has that name%s", quote.String(name),
			spelling.Hint(name, names, "columns", ""))
	}
}

// parseRow stores a row in the sample.
func (f *csvFile) parseRow(row []string) error {
	s := &f.sample
	*s = sample{hasBag: f.form.Columns == "indices", bag: s.bag[:0], features: s.features[:0], targets: s.targets[:0]}
	last := []int{len(row) - 1}
	places := f.targets
	if places == nil {
		places = last
	}
	for i, field := range row {
		if slices.Contains(places, i) {
			continue
		}
		line, column := f.rows.FieldPos(i)
		text, err := f.plain(strings.TrimSpace(field))
		switch {
		case err != nil:
		case s.hasBag:
			s.bag, err = appendNumber(s.bag, text, column)
		default:
			var value float32
			value, err = parseFeature(text)
			s.features = append(s.features, feature{value, column})
		}
		if err != nil {
			return at(line, column, f.advice(field, err))
		}
	}
	return f.parseTargets(row, places)
}

// parseTargets reads the targets of a row, in the order in which the settings list them.
func (f *csvFile) parseTargets(row []string, places []int) error {
	for _, place := range places {
		if place >= len(row) {
			line, _ := f.rows.FieldPos(0)
			return at(line, 1, fmt.Errorf("the row has %d columns but the target is in column %d", len(row), place+1))
		}
		line, column := f.rows.FieldPos(place)
		text, err := f.plain(strings.TrimSpace(row[place]))
		var t target
		if err == nil {
			t, err = f.wanted.parse(text)
		}
		if err == nil && len(places) == 1 {
			err = f.wanted.checkSingle(&t, text)
		}
		if err != nil {
			return at(line, column, f.advice(row[place], err))
		}
		t.column = column
		f.sample.targets = append(f.sample.targets, t)
	}
	return nil
}

func appendNumber(to []number, text string, column int) ([]number, error) {
	value, err := parseNumber(text)
	return append(to, number{value, column}), err
}

// isHeader reports whether the first row is a header: no field is a number and some field is not empty.
func isHeader(row []string) bool {
	return !isBlank(row) && !slices.ContainsFunc(row, func(field string) bool {
		return numeral.Like(numeral.Truth(field))
	})
}

// isBlank reports whether all fields of a row are empty.
func isBlank(row []string) bool {
	return !slices.ContainsFunc(row, func(field string) bool { return strings.TrimSpace(field) != "" })
}

// csvError words a syntax error or a failed read like the other errors.
func csvError(rows *csv.Reader, err error) error {
	var syntax *csv.ParseError
	if errors.As(err, &syntax) {
		if syntax.StartLine != syntax.Line {
			return at(syntax.Line, syntax.Column,
				fmt.Errorf("%w in the row that begins in line %d", syntax.Err, syntax.StartLine))
		}
		return at(syntax.Line, syntax.Column, syntax.Err)
	}
	return fmt.Errorf("after byte %d: %w", rows.InputOffset(), err)
}
