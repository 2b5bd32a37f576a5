package metric

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/psbench/psbench/internal/numeral"
)

// mostBounds is the most bounds of a histogram.
const mostBounds = 1000

// Histogram counts values in buckets. Bucket i has those up to and including bound i that are
// above the bound before it; the last bucket has those above all bounds.
type Histogram struct {
	Bounds []float64 `json:"bounds"`
	Counts []int64   `json:"counts"` // of the buckets, one more than bounds
	NaN    int64     `json:"nan,omitempty"`
}

// NewHistogram returns a histogram without values. The caller must check the bounds.
func NewHistogram(bounds []float64) Histogram {
	return Histogram{Bounds: slices.Clone(bounds), Counts: make([]int64, len(bounds)+1)}
}

// CheckBounds returns an error if the bounds of a histogram are invalid.
func CheckBounds(bounds []float64) error {
	if n := len(bounds); n < 1 || n > mostBounds {
		return fmt.Errorf("it has %d bounds, but must have 1 to %d", n, mostBounds)
	}
	for i, b := range bounds {
		switch {
		case !numeral.Finite(b):
			return fmt.Errorf("bound %d is %g, but must be finite", i, b)
		case i > 0 && b <= bounds[i-1]:
			return fmt.Errorf("bound %d is %g, but bounds must ascend and the one before it is %g", i, b, bounds[i-1])
		}
	}
	return nil
}

// Check returns an error if a histogram from another process or file is invalid.
func (h *Histogram) Check() error {
	if err := CheckBounds(h.Bounds); err != nil {
		return err
	}
	if len(h.Counts) != len(h.Bounds)+1 {
		return fmt.Errorf("it has %d counts, but %d bounds make %d buckets", len(h.Counts), len(h.Bounds),
			len(h.Bounds)+1)
	}
	total := int64(0)
	for i, n := range append(slices.Clone(h.Counts), h.NaN) {
		err := CheckCount(n)
		if total += n; err == nil && total > MostCount {
			err = errors.New("the sum of all must be at most 2^53")
		}
		if err != nil {
			return fmt.Errorf("count %d: %w", i, err)
		}
	}
	return nil
}

// Bucket returns the bucket that counts x. x must not be NaN.
func (h *Histogram) Bucket(x float64) int { return sort.SearchFloat64s(h.Bounds, x) }

// Merge adds the counts of o, which has the same bounds.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
	h.NaN += o.NaN
}

// Clone returns a copy with separate counts.
func (h *Histogram) Clone() Histogram {
	return Histogram{Bounds: h.Bounds, Counts: slices.Clone(h.Counts), NaN: h.NaN}
}

// Total returns how many values were counted. NaN is not counted.
func (h *Histogram) Total() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Quantile returns the bucket of quantile p, 0 < p <= 1. Of n values in ascending order, this is the bucket of
// value ceil(p*n), counted from 1. Quantile returns -1 if there are no values.
func (h *Histogram) Quantile(p float64) int {
	rank := int64(math.Ceil(p * float64(h.Total())))
	if h.Total() == 0 {
		return -1
	}
	for i, n := range h.Counts {
		if rank -= n; rank <= 0 {
			return i
		}
	}
	return len(h.Counts) - 1
}
