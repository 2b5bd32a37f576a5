package sketch

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/breakdown"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/screen"
)

// mostBins bounds the rows of a histogram, and leastValues is how many values one makes sense of.
const (
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

// bin is how many values are from one number up to, but without, another one; the last has that, too.
type bin struct {
	from, to float64
	count    int
}

// histogram draws values in rows. What is above their 99th percentile is in one row of its own if that would
// otherwise take most of the picture.
func histogram(w io.Writer, title string, values []float64, s Style) error {
	columns, ok := s.columns()
	if !ok {
		return nil
	}
	bins := binsOf(values)
	labels := make([][2]string, len(bins))
	var width [2]int
	most := 0
	for i, b := range bins {
		labels[i] = [2]string{number(b.from), number(b.to)}
		for k, l := range labels[i] {
			width[k] = max(width[k], len(l))
		}
		most = max(most, b.count)
	}
	counts := len(strconv.Itoa(most))
	room := columns - width[0] - width[1] - counts - len(" to  │ ")
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", cut(title, columns))
	for i, b := range bins {
		line := fmt.Sprintf("%*s to %*s │%s %*d", width[0], labels[i][0], width[1], labels[i][1], s.bar(b.count, most, room), counts, b.count)
		fmt.Fprintf(&text, "%s\n", s.plain(line))
	}
	_, err := io.WriteString(w, text.String()+"\n")
	return err
}

// binsOf counts values.
func binsOf(values []float64) []bin {
	sorted := slices.Sorted(slices.Values(values))
	low, high := sorted[0], sorted[len(sorted)-1]
	end := high
	if p99 := sorted[(len(sorted)*99+99)/100-1]; high-low > 2*(p99-low) {
		end = p99
	}
	if end <= low {
		bins := []bin{{low, low, len(values)}}
		if high > low { // and all others are one value
			above := len(sorted) - atMost(sorted, low)
			bins = []bin{{low, low, len(sorted) - above}, {sorted[len(sorted)-above], high, above}}
		}
		return bins
	}
	count := min(mostBins, max(2, int(math.Sqrt(float64(len(values))))))
	width := (end - low) / float64(count)
	bins := make([]bin, count, count+1)
	for i := range bins {
		bins[i].from, bins[i].to = low+float64(i)*width, low+float64(i+1)*width
	}
	bins[count-1].to = end
	if end < high {
		bins = append(bins, bin{from: end, to: high})
	}
	for _, v := range sorted {
		i := min(count-1, int((v-low)/width))
		if v > end {
			i = count
		}
		bins[i].count++
	}
	return bins
}

// atMost is how many of the values are at most x.
func atMost(sorted []float64, x float64) int {
	n, _ := slices.BinarySearchFunc(sorted, x, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	return n
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
