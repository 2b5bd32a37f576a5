package sketch

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/screen"
)

// A histogram has leastBins to mostBins rows. With fewer than leastValues values there is no histogram.
const (
	leastBins   = 5
	mostBins    = 10
	leastValues = 5
)

// Iterations draws the distribution of iteration times. An iteration's time runs from the end of the previous one to
// its own end, on its slowest trainer. A run with too few iterations gets no picture.
func Iterations(w io.Writer, r *result.Result, s Style) error {
	var values []float64
	for _, set := range breakdown.Iterations(r) {
		for _, i := range set {
			values = append(values, float64(i.NS)/1e6)
		}
	}
	if len(values) < leastValues {
		return nil
	}
	title := screen.Count(len(values), "iteration")
	if r.Pass == result.WarmUp {
		title += " of the warm-up"
	}
	return histogram(w, title+" by their time in ms", values, s)
}

// bin is the number of values between two adjacent steps of a scale.
type bin struct {
	label string
	count int
	// more is extra text for a bin beyond the scale.
	more string
}

// histogram draws values in rows from one round number to the next. On a narrow screen it omits the note about the
// largest value. It draws nothing if the numbers alone fill the screen.
func histogram(w io.Writer, title string, values []float64, s Style) error {
	columns, ok := s.columns()
	if !ok {
		return nil
	}
	bins := binsOf(values)
	label, most, more := 0, 0, 0
	for _, b := range bins {
		label, most, more = max(label, len(b.label)), max(most, b.count), max(more, len(b.more))
	}
	counts := len(strconv.Itoa(most))
	room := columns - label - counts - len(" │ ")
	saysMore := room-more >= leastBar
	if saysMore {
		room -= more
	}
	if room < leastBar {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", cut(title, columns))
	for _, b := range bins {
		line := fmt.Sprintf("%*s │%s %*d", label, b.label, s.bar(b.count, most, room), counts, b.count)
		if saysMore {
			line += b.more
		}
		fmt.Fprintf(&text, "%s\n", s.plain(line))
	}
	_, err := io.WriteString(w, text.String()+"\n")
	return err
}

// binsOf counts values in bins. Extreme outliers get a separate bin with a label. On a common scale they would
// squeeze all other values into one bin.
func binsOf(values []float64) []bin {
	sorted := slices.Sorted(slices.Values(values))
	low, end, high := sorted[0], usual(sorted), sorted[len(sorted)-1]
	axis := scaleOf(low, end, min(mostBins, max(leastBins, int(math.Sqrt(float64(len(values)))))))
	bins := make([]bin, axis.last-axis.first)
	from, to := make([]string, len(bins)), make([]string, len(bins))
	wide := 0
	for i := range bins {
		from[i], to[i] = axis.text(axis.at(axis.first+i)), axis.text(axis.at(axis.first+i+1))
		wide = max(wide, utf8.RuneCountInString(to[i]))
	}
	for i := range bins {
		bins[i].label = fmt.Sprintf("%*s to %*s", wide, from[i], wide, to[i])
	}
	beyond := bin{label: "over " + to[len(to)-1], more: ", up to " + screen.Significant(high, 3)}
	for _, v := range sorted {
		if v > axis.at(axis.last) {
			beyond.count++
			continue
		}
		i := int(math.Floor(v/axis.step)) - axis.first
		bins[min(len(bins)-1, max(0, i))].count++
	}
	if beyond.count > 0 {
		bins = append(bins, beyond)
	}
	return bins
}

// usual returns the largest value that the common scale includes. The parameter sorted is in ascending order. The
// inner values lie within three interquartile ranges above the upper quartile, and include at least nine tenths of
// all values. If the maximum is more than twice as far from the minimum as the largest inner value is, usual returns
// the largest inner value. Otherwise it returns the maximum.
func usual(sorted []float64) float64 {
	n := len(sorted)
	quarter, threeQuarters := sorted[n/4], sorted[3*n/4]
	fence := max(threeQuarters+3*(threeQuarters-quarter), sorted[9*n/10-1])
	within, _ := slices.BinarySearchFunc(sorted, fence, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	end, high := sorted[within-1], sorted[n-1]
	if high-sorted[0] > 2*(end-sorted[0]) {
		return end
	}
	return high
}

// bar returns a bar for count, where most fills the whole room of columns. It pads the bar with blanks. Any count
// above 0 is visible.
func (s Style) bar(count, most, room int) string {
	const parts = 8
	eighths := 0
	if most > 0 {
		eighths = int(math.Round(float64(count) / float64(most) * float64(room*parts)))
	}
	if count > 0 {
		eighths = max(1, eighths)
	}
	full, rest := eighths/parts, eighths%parts
	if s.ASCII {
		if rest > 0 && (full == 0 || rest >= parts/2) {
			full++
		}
		return strings.Repeat("#", full) + strings.Repeat(" ", room-full)
	}
	bar := strings.Repeat("█", full)
	if rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
		full++
	}
	return bar + strings.Repeat(" ", room-full)
}
