// Package metric provides units and histograms of recorded numbers. All stages use it: the recording process, the
// transfer to the core, and the result.
package metric

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/psbench/psbench/internal/quote"
)

// MostCount limits counts: every JSON reader represents integers up to this one exactly.
const MostCount = 1 << 53

// Head says what numbers are of: a type and a name, as a series of durations has, and the unit
// that they are in.
type Head struct {
	Type string `json:"type"`
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Title returns the type and the name, for errors.
func Title(h Head) string { return quote.Word(h.Type) + ", " + quote.Word(h.Name) }

// Lengths in letters.
const (
	longestName = 100
	longestUnit = 12
)

// CheckHead returns an error if a type, name or unit is invalid.
func CheckHead(h Head) error {
	if err := CheckNames(h.Type, h.Name); err != nil {
		return err
	}
	return CheckUnit(h.Unit)
}

// CheckNames returns an error if a type or name is invalid. A comma separates the two, so neither may contain a
// comma. All characters must be printable, so that users can type them.
func CheckNames(typ, name string) error {
	odd := func(r rune) bool { return r == ',' || !unicode.IsPrint(r) }
	for _, n := range []struct{ what, text string }{{"type", typ}, {"name", name}} {
		plain := utf8.ValidString(n.text) && !strings.ContainsFunc(n.text, odd) && strings.TrimSpace(n.text) == n.text
		if letters := utf8.RuneCountInString(n.text); !plain || letters == 0 || letters > longestName {
			return fmt.Errorf("%s %s must be 1 to %d letters, digits and signs, without commas, control characters and spaces at its ends",
				n.what, quote.String(n.text), longestName)
		}
	}
	return nil
}

// CheckUnit returns an error if a unit is invalid.
func CheckUnit(unit string) error {
	n := utf8.RuneCountInString(unit)
	odd := func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("%/^_-", r)
	}
	if n == 0 || n > longestUnit || strings.ContainsFunc(unit, odd) {
		return fmt.Errorf(
			"unit %s must be a short word such as 1, B, rows, steps or %%: at most %d letters, digits and %% / ^ _ -",
			quote.String(unit), longestUnit)
	}
	return nil
}

// CheckCount returns an error if a count is invalid.
func CheckCount(n int64) error {
	if n < 0 || n > MostCount {
		return fmt.Errorf("%d must be from 0 to 2^53", n)
	}
	return nil
}
