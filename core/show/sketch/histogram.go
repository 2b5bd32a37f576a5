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

// leastBins and mostBins bound the rows of a histogram, and leastValues is how many values one makes sense of.
const (
	leastBins   = 5
	mostBins    = 10
	leastValues = 5
)

// Iterations draws how long the iterations of a run took, each from the end of the one before to its own, by
// its slowest trainer. A run of few iterations has no picture.
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

// bin is how many values there are from one step of a scale to the next.
type bin struct {
	label string
	count int
	// more says what there is to know of a bin that is on no scale.
	more string
}

// histogram draws values in rows from one round number to the next. On a narrow screen the bars come first, before how
// far above the scale the largest value is; where the numbers alone fill it nothing is drawn.
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

// binsOf counts values. Those that are far above all others are in a bin of their own, which says so: on one scale
// with them all others would be in one bin.
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

// usual is the largest of sorted values that a scale for all has room for: the last one, unless it is more than
// twice as far from the first as the last within three times the distance of the quartiles above the upper one, which
// are nine of ten at least.
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

// bar is count of most in a room of columns, padded. Whatever there is at least one of shows.
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
