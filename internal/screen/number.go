package screen

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/numeral"
)

// Number shows a value with four significant digits.
func Number(x float64) string { return Significant(x, 4) }

// Significant shows a value with so many significant digits, but all those before the point, in groups, and without an
// exponent between 1e-4 and 1e12. It is "-" of one that is not finite. Halves are rounded away from zero. The page
// shows numbers by the same rules: web/src/format.js has them, and web/testdata/numbers.json holds both to them.
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

// exponentOf is the exponent of a size once it is rounded to so many digits: 3 of 999.96 with four.
func exponentOf(size float64, digits int) int {
	_, text, _ := strings.Cut(strconv.FormatFloat(size, 'e', digits-1, 64), "e")
	exponent, _ := strconv.Atoi(text) // FormatFloat wrote it
	return exponent
}
