package screen

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/numeral"
)

// Number formats a value with four significant digits.
func Number(x float64) string { return Significant(x, 4) }

// Significant formats a value with the given number of significant digits. Significant always shows all digits
// before the point, in groups, and uses no exponent between 1e-4 and 1e12. A value that is not finite gives "-".
// Halves are rounded away from zero. The page formats numbers by the same rules in web/src/format.js. The file
// web/testdata/numbers.json tests both.
func Significant(x float64, digits int) string {
	switch {
	case !numeral.Finite(x):
		return "-"
	case x == 0:
		return "0"
	}
	sign, size := "", math.Abs(x)
	if x < 0 {
		sign = "−"
	}
	exponent := exponentOf(size, digits)
	value := new(big.Rat).SetFloat64(size)
	if size >= 1e-4 && size < 1e12 {
		return sign + Grouped(value.FloatString(max(0, digits-1-exponent)))
	}
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
	if exponent >= 0 {
		value.Quo(value, power)
	} else {
		value.Mul(value, power)
	}
	return sign + value.FloatString(digits-1) + "e" + strings.Replace(strconv.Itoa(exponent), "-", "−", 1)
}

// exponentOf returns the exponent of a size after rounding to so many digits. For example, it is 3 for 999.96 with
// four digits.
func exponentOf(size float64, digits int) int {
	_, text, _ := strings.Cut(strconv.FormatFloat(size, 'e', digits-1, 64), "e")
	exponent, _ := strconv.Atoi(text) // the text comes from FormatFloat
	return exponent
}
