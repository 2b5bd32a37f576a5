package screen

import (
	"fmt"
	"strconv"
)

// Count is "1 run" or "7 runs", of a noun whose plural ends in s.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Percent shows a share from 0 to 1.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }
