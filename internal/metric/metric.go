// Package metric has what is common to numbers that are recorded, in a process, on the way to
// the core and in a result: their units, and histograms.
package metric

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/psbench/psbench/internal/quote"
)

// MostCount bounds what is counted: every reader of JSON has whole numbers up to here exactly.
const MostCount = 1 << 53

// Head says what numbers are of: a type and a name, as a series of durations has, and the unit
// that they are in.
type Head struct {
	Type string `json:"type"`
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Title names them for errors.
func Title(h Head) string { return quote.Word(h.Type) + ", " + quote.Word(h.Name) }

// longestUnit is in letters.
const longestUnit = 12

// CheckUnit says what is wrong with a unit.
func CheckUnit(unit string) error {
	n := utf8.RuneCountInString(unit)
	odd := func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("%/^_-", r)
	}
	if n == 0 || n > longestUnit || strings.ContainsFunc(unit, odd) {
		return fmt.Errorf("unit %s must be a short word such as 1, B, rows, steps or %%: at most %d letters, digits and %% / ^ _ -",
			quote.String(unit), longestUnit)
	}
	return nil
}

// CheckCount says what is wrong with a number of things that were counted.
func CheckCount(n int64) error {
	if n < 0 || n > MostCount {
		return fmt.Errorf("%d must be from 0 to 2^53", n)
	}
	return nil
}
