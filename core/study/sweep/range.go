package sweep

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

// mostOfRange is the largest number of values of a range. An axis with more values would exceed the maximum number of
// cells.
const mostOfRange = Most

// mostDigits is the largest number of decimals of a value. A float64 distinguishes fewer decimals.
const mostDigits = 20

// number matches a number of a range. A number must not end with a point, because two points may follow.
const number = `([+-]?(?:\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})(?:[eE][+-]?\d{1,3})?)`

// aRange matches FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR.
var aRange = regexp.MustCompile(`^` + number + `\.\.` + number + `(?:([+*])` + number + `)?$`)

// looksRange matches text that was probably meant as a range.
var looksRange = regexp.MustCompile(`^[-+._\deE]*\d\.?\.\.[-+.\d]`)

// parseRange returns the numbers of a range, computed exactly. isRange is false if text is not meant as a range.
func parseRange(text string) (numbers []string, isRange bool, err error) {
	parts := aRange.FindStringSubmatch(text)
	if parts == nil {
		if looksRange.MatchString(text) {
			return nil, true,
				fmt.Errorf("range %s must be FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR, as in 1..8*2",
					quote.String(text))
		}
		return nil, false, nil
	}
	if strings.Contains(text, "...") && !strings.HasPrefix(strings.TrimLeft(text, "+-"), ".") {
		return nil, true, fmt.Errorf("range %s could end at %s or at 0%s: write two points, and a 0 before a third",
			quote.String(text), parts[2][1:], parts[2])
	}
	first, last, step := decimal(parts[1]), decimal(parts[2]), big.NewRat(1, 1)
	next := (*big.Rat).Add
	if parts[3] != "" {
		step = decimal(parts[4])
	}
	switch one := big.NewRat(1, 1); {
	case first == nil || last == nil || step == nil:
		return nil, true, fmt.Errorf("range %s has numbers that are too large", quote.String(text))
	case first.Cmp(last) > 0:
		return nil, true, fmt.Errorf("range %s is empty: %s is above %s", quote.String(text), parts[1], parts[2])
	case parts[3] == "*" && (step.Cmp(one) <= 0 || first.Sign() <= 0):
		return nil, true, fmt.Errorf("range %s has no end: a factor must be above 1, and the first value above 0",
			quote.String(text))
	case parts[3] == "*":
		next = (*big.Rat).Mul
	case step.Sign() <= 0:
		return nil, true, fmt.Errorf("range %s has no end: a step must be above 0", quote.String(text))
	default:
		steps := new(big.Rat).Sub(last, first)
		if steps.Quo(steps, step).Cmp(big.NewRat(mostOfRange, 1)) >= 0 {
			return nil, true, tooMany(text)
		}
	}
	for n := first; n.Cmp(last) <= 0; n = next(new(big.Rat), n, step) {
		if len(numbers) == mostOfRange {
			return nil, true, tooMany(text)
		}
		written, ok := inDecimals(n)
		if !ok {
			return nil, true, fmt.Errorf("range %s has values of more than %d decimals", quote.String(text), mostDigits)
		}
		numbers = append(numbers, written)
	}
	return numbers, true, nil
}

func tooMany(text string) error {
	return fmt.Errorf("range %s has more than %d values", quote.String(text), mostOfRange)
}

// decimal parses a number. It returns nil if the number is too large for a float64.
func decimal(text string) *big.Rat {
	if _, err := numeral.Float(text, 64); err != nil {
		return nil
	}
	r, _ := new(big.Rat).SetString(text) // the regular expression has checked the syntax
	return r
}

// inDecimals writes a number exactly. It returns false if the number needs more than mostDigits decimals.
func inDecimals(n *big.Rat) (string, bool) {
	digits, exact := n.FloatPrec()
	if !exact || digits > mostDigits {
		return "", false
	}
	return n.FloatString(digits), true
}

// aNumber matches a number that is not part of a range.
var aNumber = regexp.MustCompile(`^` + number + `$`)

// mostPlain is the largest length of a number without an exponent that people can still read.
const mostPlain = 21

// plainNumber gives equal numbers the same spelling, so that 0.1, .1 and 1e-1 are one value. It returns other text
// unchanged.
func plainNumber(text string) string {
	written, err := numeral.JSON(text)
	if err != nil || !aNumber.MatchString(written) {
		return text
	}
	n := decimal(written)
	if n == nil {
		return text
	}
	if plain, ok := inDecimals(n); ok && len(plain) <= mostPlain {
		return plain
	}
	nearest, _ := n.Float64()
	return strings.Replace(strconv.FormatFloat(nearest, 'e', -1, 64), "e+", "e", 1)
}
