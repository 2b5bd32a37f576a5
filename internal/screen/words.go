package screen

import (
	"fmt"
	"strconv"
	"strings"
)

// Count returns "1 run" or "7 runs". The plural of the noun must end in s.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(int64(n)) + " " + noun + "s"
}

// Thousands formats a count with its digits in groups, e.g. 1,234.
func Thousands(n int64) string { return Grouped(strconv.FormatInt(n, 10)) }

// Grouped formats a decimal number with the digits before its point in groups: 1,234.5.
func Grouped(number string) string {
	whole, rest, point := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0 && isDigit(whole[i-1]); i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	return whole
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Percent formats a share from 0 to 1.
func Percent(share float64) string {
	return Grouped(strconv.FormatFloat(100*share, 'f', 1, 64)) + " %"
}

// GiveOrTake returns the possible error of a time as a suffix, such as " ± 0.15 ms". GiveOrTake returns "" for an
// exact time.
func GiveOrTake(ms float64) string {
	if ms <= 0 {
		return ""
	}
	return fmt.Sprintf(" ± %.3g ms", ms)
}

// Cut shortens a text to at most so many characters. If it removes some, the last character is ….
func Cut(text string, columns int) string {
	if runes := []rune(text); len(runes) > columns {
		return string(runes[:max(0, columns-1)]) + "…"
	}
	return text
}
