// Package bytesize reads and writes sizes in bytes in common notations: 4KiB, 25M, 2GiB.
package bytesize

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

// units of sizes, largest first.
var units = []struct {
	letter string
	bytes  int
}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}

// ErrUnit is the error for a size in KB, MB or GB, which may mean powers of 1000 or of 1024.
var ErrUnit = errors.New("is a power of 1000 to some and of 1024 to others")

// Parse reads a number of bytes such as 4096, 4096B, 1e6, 4K, 4 KiB, 1.5M or 1G. The
// units are powers of 1024; KB, MB and GB are refused.
func Parse(text string) (int, error) {
	upper := strings.ToUpper(strings.TrimSpace(text))
	digits, unit := cutUnit(upper)
	n, err := numeral.Uint(digits)
	if errors.Is(err, numeral.ErrFraction) { // a fraction may still be a whole number of bytes, such as 1.5M
		n, err = numeral.Uint(inBytes(digits, unit))
		unit = 1
	}
	switch number, isUnit := strings.CutSuffix(upper, "B"); {
	case err == nil && n > 0 && n <= uint64(math.MaxInt/unit): // #nosec G115 -- a unit
		return int(n) * unit, nil // #nosec G115 -- checked above
	case isUnit && number != "" && strings.ContainsAny(number[len(number)-1:], "KMG"):
		return 0, fmt.Errorf("is %s, but that unit %w: write %siB, or the number of bytes", quote.String(text), ErrUnit,
			number)
	}
	return 0, fmt.Errorf("is %s but must be a number of bytes, as in 4096, 4K, 25M or 1G%s", quote.String(text),
		numeral.Why(err))
}

// inBytes converts a number of units to bytes exactly. inBytes returns texts with an exponent or of more than 40
// characters unchanged.
func inBytes(digits string, unit int) string {
	exact, ok := new(big.Rat), false
	if len(digits) <= 40 && !strings.Contains(digits, "E") {
		exact, ok = exact.SetString(strings.TrimSpace(digits))
	}
	if !ok {
		return digits
	}
	return exact.Mul(exact, big.NewRat(int64(unit), 1)).FloatString(40)
}

func cutUnit(text string) (digits string, unit int) {
	for _, u := range units {
		for _, suffix := range []string{u.letter + "IB", u.letter} {
			if digits, ok := strings.CutSuffix(text, suffix); ok {
				return digits, u.bytes
			}
		}
	}
	return strings.TrimSuffix(text, "B"), 1
}

// Format writes a number of bytes in the largest unit that divides it, e.g.
// 1MiB.
func Format(bytes int) string {
	for _, u := range units {
		if bytes >= u.bytes && bytes%u.bytes == 0 {
			return strconv.Itoa(bytes/u.bytes) + u.letter + "iB"
		}
	}
	return strconv.Itoa(bytes) + "B"
}
