package judge

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psbench/psbench/internal/numeral"
)

// Thresholds for warnings about the iterations of a run. If the iterations are independent noise of any one
// distribution, at most 1 % of runs get a warning.
const (
	fewestIterations = 20
	mostBlocks       = 40
	drifting         = 0.003   // p-value of a trend or a step
	leastDrift       = 0.02    // relative change from one end to the other
	leastResemblance = 1.0 / 3 // resemblance of normal noise with a correlation of 0.5
	resembling       = 0.003   // p-value of a resemblance
)

// IterationWarnings warns of iterations that are not a sample of one distribution: a trend, a step, or iterations that
// depend on the previous one. durations are in ms and in order of time. They belong to one trainer, or hold one value
// per iteration for all trainers. Runs of fewer than 20 iterations get no warning.
func IterationWarnings(durations []float64) []string {
	if len(durations) < fewestIterations || !numeral.Finite(durations...) {
		return nil
	}
	if w := drift(durations); w != "" {
		return []string{w} // drift also makes neighbours resemble each other
	}
	least := max(leastResemblance, z(1-resembling/2)/math.Sqrt(float64(len(durations)-1)))
	if r := resemblance(durations); math.Abs(r) > least {
		return []string{
			fmt.Sprintf("iterations depend on the one before (autocorrelation %.2f), so their percentiles and means are less certain than their count suggests",
				math.Sin(math.Pi/2*r)),
		}
	}
	return nil
}

// drift describes the trend or the step within durations, whichever fits better. It returns "" if it finds neither.
func drift(durations []float64) string {
	blocks := blocksOf(durations)
	at, offStep := stepOf(blocks)
	step, stepP := relative(numeral.Median(blocks[:at]), numeral.Median(blocks[at:])), pettitt(blocks)
	slope, trendP := kendall(blocks)
	center := numeral.Median(blocks)
	trend := relative(center, center+slope*float64(len(blocks)-1))

	isStep := stepP < drifting && math.Abs(step) > leastDrift
	isTrend := trendP < drifting && math.Abs(trend) > leastDrift
	if isStep && isTrend {
		isStep = offStep < offLine(blocks, slope, center)
	}
	switch {
	case isStep:
		return fmt.Sprintf("a step within the run: iterations take%s before, from number %d of %d on (medians)",
			lengths(numeral.Median(blocks[:at]), numeral.Median(blocks[at:])), 1+at*len(durations)/len(blocks),
			len(durations))
	case isTrend:
		return trendText(durations, trend)
	}
	return ""
}

// trendText describes a trend by the measured medians of both halves. It does not use the ends of the fitted line: they
// are extrapolated and may lie below 0.
func trendText(durations []float64, trend float64) string {
	half := len(durations) / 2
	first, second := numeral.Median(durations[:half]), numeral.Median(durations[half:])
	switch {
	case sign(second-first) == sign(trend):
	case trend < 0:
		return fmt.Sprintf("a trend within the run: its %d iterations get shorter", len(durations))
	default:
		return fmt.Sprintf("a trend within the run: its %d iterations get longer", len(durations))
	}
	return fmt.Sprintf("a trend within the run: in the second half of %d iterations they take%s in the first (medians)",
		len(durations), lengths(first, second))
}

// lengths describes the change from one duration to another, e.g. " 5.0 % more than" or " 3 ms instead of 0 ms".
func lengths(from, to float64) string {
	change, ok := Relative(from, to)
	switch {
	case !ok:
		return fmt.Sprintf(" %.3g ms instead of %.3g ms", to, from)
	case change < 0:
		return fmt.Sprintf(" %.1f %% less than", -100*change)
	}
	return fmt.Sprintf(" %.1f %% more than", 100*change)
}

// blocksOf returns the medians of up to 40 equal pieces of durations.
func blocksOf(durations []float64) []float64 {
	n := len(durations)
	count := min(n, mostBlocks)
	blocks := make([]float64, count)
	for i := range blocks {
		blocks[i] = numeral.Median(durations[i*n/count : (i+1)*n/count])
	}
	return blocks
}

// stepOf finds the best-fitting step within two or more values. The step lies before index at. off is the sum of the
// values' distances from the step.
func stepOf(values []float64) (at int, off float64) {
	off = math.Inf(1)
	for i := 1; i < len(values); i++ {
		if o := offLevel(values[:i]) + offLevel(values[i:]); o < off {
			at, off = i, o
		}
	}
	return at, off
}

func offLevel(values []float64) (off float64) {
	level := numeral.Median(values)
	for _, v := range values {
		off += math.Abs(v - level)
	}
	return off
}

// offLine returns the sum of the values' distances from a line.
func offLine(values []float64, slope, center float64) (off float64) {
	for i, v := range values {
		off += math.Abs(v - center - slope*(float64(i)-float64(len(values)-1)/2))
	}
	return off
}

// pettitt returns the p-value of Pettitt's test for a step in values. The p-value is approximate; its error is on the
// high side.
func pettitt(values []float64) float64 {
	largest, u := 0.0, 0.0
	for _, v := range values {
		for _, w := range values {
			u += sign(w - v)
		}
		largest = max(largest, math.Abs(u))
	}
	n := float64(len(values))
	return min(1, 2*math.Exp(-6*largest*largest/(n*n*n+n*n)))
}

// kendall returns the Theil-Sen slope of values, and the trend's p-value by the Mann-Kendall test.
func kendall(values []float64) (slope, p float64) {
	n := float64(len(values))
	var slopes []float64
	s := 0.0
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			slopes = append(slopes, (values[j]-values[i])/float64(j-i))
			s += sign(values[j] - values[i])
		}
	}
	deviation := math.Sqrt(n * (n - 1) * (2*n + 5) / 18)
	return numeral.Median(slopes), 2 * distuv.UnitNormal.Survival(max(0, math.Abs(s)-1)/deviation)
}

// resemblance returns the correlation of neighbouring durations, counting only whether each lies above or below the
// median. It is 1 if all stay on their side and -1 if they alternate. An outlier has no more weight than any other
// value.
func resemblance(durations []float64) float64 {
	center := numeral.Median(durations)
	sum, last := 0.0, 0.0
	for i, v := range durations {
		side := sign(v - center)
		if i > 0 {
			sum += side * last
		}
		last = side
	}
	return sum / float64(len(durations)-1)
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}
