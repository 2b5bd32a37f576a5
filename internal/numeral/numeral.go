// Package numeral reads numbers in the notations of people and programs: 5, +5, 5.0, 5., 5e3, .5 and 1_000, with
// spaces around. The package refuses ambiguous texts such as 1,000. The package also computes medians and checks
// that values are finite.
package numeral

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Faults in the text of a number; each text is a sentence about the number.
var (
	ErrSyntax = errors.New("it is not a number")
	ErrComma  = errors.New(
		"its comma could separate thousands or decimals: write a point before decimals and nothing between thousands")
	ErrFraction = errors.New("it is not a whole number")
	ErrNegative = errors.New("it is below 0")
	ErrRange    = errors.New("it is too large")
)

// Int reads a whole number without rounding: 3.0 is whole, 3.00000000000000000001 is not.
func Int(text string) (int64, error) {
	digits, err := Whole(text)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, ErrRange
	}
	return n, nil
}

// Uint reads a whole number of 0 or more, as Int does.
func Uint(text string) (uint64, error) {
	digits, err := Whole(text)
	if err != nil {
		return 0, err
	}
	if digits[0] == '-' {
		return 0, ErrNegative
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, ErrRange
	}
	return n, nil
}

// Float reads a finite number and rounds it to the nearest number of 32 or 64 bits.
func Float(text string, bits int) (float64, error) {
	if _, err := parse(text); err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), bits)
	if err != nil {
		return 0, ErrRange // the syntax is valid
	}
	return v, nil
}

// Whole returns the digits of a whole number, with a minus sign if it is negative. A number of more than 64 bits is
// ErrRange.
func Whole(text string) (string, error) {
	p, err := parse(text)
	if err != nil {
		return "", err
	}
	all := strings.TrimLeft(p.whole+p.decimals, "0")
	digits := strings.TrimRight(all, "0")
	if digits == "" {
		return "0", nil
	}
	exponent := int64(0)
	if p.exponent != "" {
		exponent, err = strconv.ParseInt(p.exponent, 10, 64)
	}
	if err != nil { // the exponent is far larger than any number of digits
		exponent = math.MaxInt32
		if p.exponent[0] == '-' {
			exponent = -exponent
		}
	}
	exponent = max(-math.MaxInt32, min(exponent, math.MaxInt32)) + int64(len(all)-len(digits)-len(p.decimals))
	switch {
	case exponent < 0:
		return "", ErrFraction
	case int64(len(digits))+exponent > 20:
		return "", ErrRange
	}
	return p.sign + digits + strings.Repeat("0", int(exponent)), nil
}

// JSON writes a number in JSON syntax and keeps its decimals and exponent.
func JSON(text string) (string, error) {
	p, err := parse(text)
	if err != nil {
		return "", err
	}
	return p.json(), nil
}

// Like reports whether a text is a number, finite or not, or could be meant as a number. A word with underscores,
// such as 2020_01, does not count: it may be a name.
func Like(text string) bool {
	_, err := parse(text)
	if err == nil || errors.Is(err, ErrComma) {
		return !strings.Contains(text, "_")
	}
	_, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// Truth returns 1 for True and 0 for False in the spellings of Python, R and spreadsheets. Truth returns any other
// text unchanged.
func Truth(text string) string {
	switch strings.TrimSpace(text) {
	case "True", "true", "TRUE":
		return "1"
	case "False", "false", "FALSE":
		return "0"
	}
	return text
}

// Why returns an explanation to append to a message, for errors whose text alone is not clear. For any other error
// it returns "".
func Why(err error) string {
	if errors.Is(err, ErrComma) {
		return "; " + ErrComma.Error()
	}
	return ""
}
