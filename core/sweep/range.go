package sweep

import (
	"fmt"
	"math/big"
	"regexp"

	"github.com/psbench/psbench/internal/quote"
)

// mostOfRange bounds the values of a range: with more an axis alone has too many cells.
const mostOfRange = Most

// mostDigits is more than a float64 tells apart.
const mostDigits = 20

// aRange is FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR, in decimals.
var aRange = regexp.MustCompile(`^(\d{1,18}(?:\.\d{1,18})?)\.\.(\d{1,18}(?:\.\d{1,18})?)(?:([+*])(\d{1,18}(?:\.\d{1,18})?))?$`)

// looksRange is what was meant as one.
var looksRange = regexp.MustCompile(`^[-+.\d]*\d\.\.[-+.\d]`)

// parseRange are the numbers of a range, computed without rounding; a text that is none is no range.
func parseRange(text string) (numbers []string, isRange bool, err error) {
	parts := aRange.FindStringSubmatch(text)
	if parts == nil {
		if looksRange.MatchString(text) {
			return nil, true, fmt.Errorf("range %s must be FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR, as in 1..8*2", quote.String(text))
		}
		return nil, false, nil
	}
	first, last, step := decimal(parts[1]), decimal(parts[2]), big.NewRat(1, 1)
	next := (*big.Rat).Add
	if parts[3] != "" {
		step = decimal(parts[4])
	}
	switch one := big.NewRat(1, 1); {
	case first.Cmp(last) > 0:
		return nil, true, fmt.Errorf("range %s is empty: %s is above %s", quote.String(text), parts[1], parts[2])
	case parts[3] == "*" && (step.Cmp(one) <= 0 || first.Sign() == 0):
		return nil, true, fmt.Errorf("range %s has no end: a factor must be above 1, and the first value above 0", quote.String(text))
	case parts[3] == "*":
		next = (*big.Rat).Mul
	case step.Sign() == 0:
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
		digits, _ := n.FloatPrec() // exact: sums and products of decimals are decimals
		if digits > mostDigits {
			return nil, true, fmt.Errorf("range %s has values of more than %d decimals", quote.String(text), mostDigits)
		}
		numbers = append(numbers, n.FloatString(digits))
	}
	return numbers, true, nil
}

func tooMany(text string) error {
	return fmt.Errorf("range %s has more than %d values", quote.String(text), mostOfRange)
}

func decimal(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text) // the expression has seen to it
	return r
}
