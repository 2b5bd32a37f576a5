package data

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/psbench/psbench/internal/quote"
)

// delimiter is what separates the columns of a format.
func (s FileSettings) delimiter(format string) (rune, error) {
	switch only, size := utf8.DecodeRuneInString(s.Delimiter); {
	case s.Delimiter == "auto" && format == "tsv", s.Delimiter == "tab", s.Delimiter == `\t`:
		return '\t', nil
	case s.Delimiter == "auto":
		return ',', nil
	case size == len(s.Delimiter) && separates(only):
		return only, nil
	}
	return 0, fmt.Errorf("setting delimiter is %s but must be auto, tab, or one character that no number has, as ;",
		quote.String(s.Delimiter))
}

// separates says whether a character can be a delimiter: neither numbers nor quotes nor line ends have it.
func separates(r rune) bool {
	return r != utf8.RuneError && !strings.ContainsRune("\"\r\n\uFEFF+-.0123456789", r)
}

// separate has the rest of the file be read with that delimiter.
func (f *csvFile) separate(delimiter rune) {
	f.rows.Comma = delimiter
	f.rows.TrimLeadingSpace = delimiter != '\t' // which would be trimmed as well, and the column with it
}

// separatorOf is what a line sep=; says that the columns are separated by, 0 where that has separated it already.
func separatorOf(row []string) (rune, bool) {
	mark, is := strings.CutPrefix(row[0], "sep=")
	separator, size := utf8.DecodeRuneInString(mark)
	switch {
	case is && size == len(mark) && len(row) == 1:
		return separator, separates(separator)
	case is && mark == "" && len(row) == 2 && row[1] == "": // which was cut at the mark itself
		return 0, true
	}
	return 0, false
}

// checkDelimiter refuses a first row of one column that something else seems to divide.
func (f *csvFile) checkDelimiter(row []string) error {
	line, column := f.rows.FieldPos(0)
	if other := f.otherDelimiter(row[0]); len(row) == 1 && other != "" {
		return at(line, column,
			fmt.Errorf("the row has one column, %s: set delimiter to %s if that separates the columns",
				quote.String(row[0]), other))
	}
	return nil
}

// otherDelimiter is what seems to separate columns within the text of a field; "" if nothing does.
func (f *csvFile) otherDelimiter(text string) string {
	for _, d := range []struct{ mark, name string }{{";", ";"}, {"\t", "tab"}, {"|", "|"}, {",", ","}} {
		if strings.Contains(text, d.mark) && d.mark != f.form.Decimal && d.mark != string(f.rows.Comma) {
			return d.name
		}
	}
	return ""
}

// advice says what setting may be at fault where a field is no number.
func (f *csvFile) advice(text string, err error) error {
	switch other := f.otherDelimiter(text); {
	case other == "," && f.form.Decimal == ".":
		return fmt.Errorf("%w; or set decimal to , if that begins the decimals", err)
	case other != "":
		return fmt.Errorf("%w; set delimiter to %s if that separates the columns", err, other)
	}
	return err
}

// plain is the text of a number with a point before the decimals.
func (f *csvFile) plain(text string) (string, error) {
	if f.form.Decimal != "," {
		return text, nil
	}
	if strings.Contains(text, ".") {
		return "", fmt.Errorf("%s has a point but setting decimal is a comma, so the point could separate thousands",
			quote.String(text))
	}
	return strings.Replace(text, ",", ".", 1), nil
}
