package data

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/psbench/psbench/internal/quote"
)

// delimiter returns the character that separates the columns of a format.
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

// separates reports whether a character can be a delimiter. A character of numbers, quotes or line ends cannot.
func separates(r rune) bool {
	return r != utf8.RuneError && !strings.ContainsRune("\"\r\n\uFEFF+-.0123456789", r)
}

// separate reads the rest of the file with the given delimiter.
func (f *csvFile) separate(delimiter rune) {
	f.rows.Comma = delimiter
	f.rows.TrimLeadingSpace = delimiter != '\t' // trimming would remove a leading tab too, and with the tab a column
}

// separatorOf returns the delimiter that a line "sep=;" declares. separatorOf returns 0 if that delimiter has
// already split the line itself.
func separatorOf(row []string) (rune, bool) {
	mark, is := strings.CutPrefix(row[0], "sep=")
	separator, size := utf8.DecodeRuneInString(mark)
	switch {
	case is && size == len(mark) && len(row) == 1:
		return separator, separates(separator)
	case is && mark == "" && len(row) == 2 && row[1] == "": // the declared delimiter itself split the line
		return 0, true
	}
	return 0, false
}

// checkDelimiter refuses a first row of one column if another delimiter seems to divide it.
func (f *csvFile) checkDelimiter(row []string) error {
	line, column := f.rows.FieldPos(0)
	if other := f.otherDelimiter(row[0]); len(row) == 1 && other != "" {
		return at(line, column,
			fmt.Errorf("the row has one column, %s: set delimiter to %s if that separates the columns",
				quote.String(row[0]), other))
	}
	return nil
}

// otherDelimiter returns the character that seems to separate columns within a field's text, or "" if there is
// none.
func (f *csvFile) otherDelimiter(text string) string {
	for _, d := range []struct{ mark, name string }{{";", ";"}, {"\t", "tab"}, {"|", "|"}, {",", ","}} {
		if strings.Contains(text, d.mark) && d.mark != f.form.Decimal && d.mark != string(f.rows.Comma) {
			return d.name
		}
	}
	return ""
}

// advice names the setting that may be wrong when a field is not a number.
func (f *csvFile) advice(text string, err error) error {
	switch other := f.otherDelimiter(text); {
	case other == "," && f.form.Decimal == ".":
		return fmt.Errorf("%w; or set decimal to , if that begins the decimals", err)
	case other != "":
		return fmt.Errorf("%w; set delimiter to %s if that separates the columns", err, other)
	}
	return err
}

// plain returns a number's text with a decimal point.
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
