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

// Style is what a screen can show.
type Style struct {
	// Width is how many columns it has; 0 is for a file or a pipe, which gets usualWidth.
	Width int
	// Colour says that lines of a curve have colours. Without them they have letters.
	Colour bool
	// ASCII says that nothing but ASCII is to be drawn.
	ASCII bool
}

// Widths of pictures, in columns: in files, at most, and the least that a picture makes sense in.
const (
	usualWidth = 80
	mostWidth  = 120
	leastWidth = 40
	leastBar   = 4
)

// columns is how wide a picture is; false if there is no room for one.
func (s Style) columns() (int, bool) {
	if s.Width == 0 {
		return usualWidth, true
	}
	return min(s.Width, mostWidth), s.Width >= leastWidth
}

// plain has text in ASCII, if the screen shows nothing else.
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

// plain is what stands for the characters that pictures are drawn with.
var plain = map[rune]rune{
	'─': '-', '│': '|', '┤': '|', '┼': '+', '╭': '.', '╮': '.', '╰': '\'', '╯': '\'', '╴': '-', '╶': '-', '└': '+',
	'┬': '+', '…': '~', 'µ': 'u', '−': '-',
}

// cut is a text from outside in so many columns.
func cut(text string, columns int) string { return screen.Cut(quote.Text(text), columns) }

// scale is an axis of round numbers: steps of it, each 1, 2 or 5 times a power of ten, from one multiple of the
// step up to another one.
type scale struct {
	step        float64
	first, last int // steps, from 0
}

// scaleOf has as many steps from low to high as there may be, and one at least.
func scaleOf(low, high float64, most int) scale {
	if !(high > low) {
		high, most = low+cmp.Or(math.Abs(low)/10, 1), 1 // which all values are in
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

// at is where a step is.
func (s scale) at(i int) float64 { return float64(i) * s.step }

// text is a value on the scale, with the decimals that its step has.
func (s scale) text(x float64) string {
	if s.step >= 1e6 || s.step < 1e-6 {
		return screen.Number(x)
	}
	return screen.Grouped(strconv.FormatFloat(x, 'f', max(0, -int(math.Floor(math.Log10(s.step)+1e-9))), 64))
}
