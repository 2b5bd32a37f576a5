// Package sketch draws what recorded runs show in text, for people on a screen without a browser.
package sketch

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Style describes the abilities of a screen.
type Style struct {
	// Width is the number of columns. 0 means a file or a pipe, which gets usualWidth.
	Width int
	// Colour gives each curve a colour. Without colours, curves have letters.
	Colour bool
	// ASCII restricts pictures to ASCII characters.
	ASCII bool
}

// All widths are in columns. Pictures have usualWidth in files, and otherwise leastWidth to mostWidth. The longest
// bar has at least leastBar columns.
const (
	usualWidth = 80
	mostWidth  = 120
	leastWidth = 40
	leastBar   = 4
)

// columns returns the width of a picture, or false if the screen is too narrow.
func (s Style) columns() (int, bool) {
	if s.Width == 0 {
		return usualWidth, true
	}
	return min(s.Width, mostWidth), s.Width >= leastWidth
}

// plain returns text in ASCII if the screen shows nothing else.
func (s Style) plain(text string) string {
	if !s.ASCII {
		return text
	}
	return strings.Map(func(r rune) rune {
		if replaced, ok := plain[r]; ok {
			return replaced
		}
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, text)
}

// plain maps the drawing characters of pictures to ASCII.
var plain = map[rune]rune{
	'─': '-', '│': '|', '┤': '|', '┼': '+', '╭': '.', '╮': '.', '╰': '\'', '╯': '\'', '╴': '-', '╶': '-', '└': '+',
	'┬': '+', '…': '~', 'µ': 'u', '−': '-',
}

// cut quotes an untrusted text and cuts it to a number of columns.
func cut(text string, columns int) string { return screen.Cut(quote.Text(text), columns) }

// scale is an axis with round steps. A step is 1, 2 or 5 times a power of ten. The ends of the scale are multiples of
// the step.
type scale struct {
	step        float64
	first, last int // multiples of step
}

// scaleOf returns the scale from low to high with the smallest step that needs at most most steps.
func scaleOf(low, high float64, most int) scale {
	if !(high > low) {
		high, most = low+cmp.Or(math.Abs(low)/10, 1), 1 // a range that contains all values
	}
	for power := math.Floor(math.Log10((high - low) / float64(most))); ; power++ {
		for _, digit := range []float64{1, 2, 5} {
			step := digit * math.Pow(10, power)
			s := scale{step, int(math.Floor(low / step)), int(math.Ceil(high / step))}
			if s.last-s.first <= most {
				return s
			}
		}
	}
}

// at returns the value at step i.
func (s scale) at(i int) float64 { return float64(i) * s.step }

// text formats a value with as many decimals as the step has.
func (s scale) text(x float64) string {
	if s.step >= 1e6 || s.step < 1e-6 {
		return screen.Number(x)
	}
	return screen.Grouped(strconv.FormatFloat(x, 'f', max(0, -int(math.Floor(math.Log10(s.step)+1e-9))), 64))
}
