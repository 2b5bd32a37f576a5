// Package numeral reads numbers as people and programs write them: 5, +5, 5.0, 5., 5e3, .5 and
// 1_000 with spaces around. It refuses a text with two meanings, as 1,000. It also has the median
// of values and the test that they are finite.
package numeral

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// What can be wrong with the text of a number; each is a sentence about it.
var (
	ErrSyntax = errors.New("it is not a number")
	ErrComma  = errors.New(
		"its comma could separate thousands or decimals: write a point before decimals and nothing between thousands")
	ErrFraction = errors.New("it is not a whole number")
	ErrNegative = errors.New("it is below 0")
	ErrRange    = errors.New("it is too large")
)

// Int reads a whole number. It is computed without rounding: 3.0 is whole, 3.00000000000000000001
// is not.
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

// Float reads a number of so many bits, 32 or 64, rounded to the nearest. It is finite.
func Float(text string, bits int) (float64, error) {
	if _, err := parse(text); err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), bits)
	if err != nil {
		return 0, ErrRange // the syntax is right
	}
	return v, nil
}

// Whole gives the digits of a whole number, after a minus if it is below 0. One of more than 64
// bits is ErrRange.
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
	if err != nil { // far beyond all digits that there are
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

// JSON writes a number as JSON has it, with the decimals and the exponent that it has.
func JSON(text string) (string, error) {
	p, err := parse(text)
	if err != nil {
		return "", err
	}
	return p.json(), nil
}

// Like says whether a text is a number, finite or not, or could be meant as one. A word with
// underscores, as 2020_01, is none: it may be a name.
func Like(text string) bool {
	_, err := parse(text)
	if err == nil || errors.Is(err, ErrComma) {
		return !strings.Contains(text, "_")
	}
	_, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// Truth gives 1 for True and 0 for False, as Python, R and spreadsheets write them, and any
// other text as it is.
func Truth(text string) string {
	switch strings.TrimSpace(text) {
	case "True", "true", "TRUE":
		return "1"
	case "False", "false", "FALSE":
		return "0"
	}
	return text
}

// Why is the reason of a refusal that its text does not show at once, to follow a message: ""
// for any other error.
func Why(err error) string {
	if errors.Is(err, ErrComma) {
		return "; " + ErrComma.Error()
	}
	return ""
}
