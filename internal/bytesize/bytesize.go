// Package bytesize reads and writes numbers of bytes as people do: 4KiB, 25M, 2GiB.
package bytesize

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// units of sizes, the largest first.
var units = []struct {
	letter string
	bytes  int
}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}

// Parse reads a number of bytes such as 4096, 4096B, 4K, 4KiB, 25M or 1G. The
// units are powers of 1024.
func Parse(text string) (int, error) {
	digits, unit := cutUnit(strings.ToUpper(text))
	n, err := strconv.ParseUint(digits, 10, 62)
	if err != nil || n == 0 || n > uint64(math.MaxInt/unit) { // #nosec G115 -- a unit
		return 0, fmt.Errorf("is %s but must be a number of bytes, as in 4096, 4K, 25M or 1G", quote.String(text))
	}
	return int(n) * unit, nil
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
