package result

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk"
)

// Counter is a sum that the parts of a rank counted during the pass.
type Counter struct {
	Rank int `json:"rank"`
	metric.Head
	Value int64 `json:"value"`
}

// Gauge holds the observations that the parts of a rank recorded, in order.
type Gauge struct {
	Rank int
	metric.Head

	observations packed.List[packed.Observation]
}

// Histogram is the distribution of values that the parts of a rank recorded.
type Histogram struct {
	Rank int `json:"rank"`
	metric.Head
	metric.Histogram
}

// Add appends an observation.
func (g *Gauge) Add(key sdk.Key, value float64) {
	g.observations.Add(packed.Observation{A: key.A, B: key.B, Value: value})
}

// Append appends observations without copying their bytes.
func (g *Gauge) Append(c packed.Chunk[packed.Observation]) { g.observations.Append(c) }

// Len returns the number of observations.
func (g *Gauge) Len() int { return g.observations.Len() }

// All decodes and yields the observations. Observations may be NaN or infinite. In a file, all values that are not
// finite become NaN.
func (g *Gauge) All() iter.Seq2[sdk.Key, float64] {
	return func(yield func(sdk.Key, float64) bool) {
		for o := range g.observations.All() {
			if !yield(sdk.Key{A: o.A, B: o.B}, o.Value) {
				return
			}
		}
	}
}

// Count adds the count of one process of a rank. If the sum exceeds 2^53, which is the limit of a file, Count keeps the
// limit and adds a warning.
func (r *Result) Count(rank int, h metric.Head, value int64) {
	for i := range r.Counters {
		if c := &r.Counters[i]; c.Rank == rank && c.Head == h {
			if c.Value += value; c.Value > metric.MostCount {
				c.Value = metric.MostCount
				r.warn("counter", rank, h, "its processes counted more than 2^53, so the result says 2^53")
			}
			return
		}
	}
	r.Counters = append(r.Counters, Counter{rank, h, value})
}

// warn adds a warning, unless it was added before.
func (r *Result) warn(kind string, rank int, h metric.Head, text string) {
	text = fmt.Sprintf("%s %s of rank %d: %s", kind, metric.Title(h), rank, text)
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

// GaugeOf returns the gauge of a rank. If the gauge does not exist, GaugeOf adds an empty gauge.
func (r *Result) GaugeOf(rank int, h metric.Head) *Gauge {
	for _, g := range slices.Backward(r.Gauges) { // most calls are for the last one
		if g.Rank == rank && g.Head == h {
			return g
		}
	}
	g := &Gauge{Rank: rank, Head: h}
	r.Gauges = append(r.Gauges, g)
	return g
}

// Distribute adds the histogram of one process of a rank. Histograms with different bounds are kept separately. If the
// total count would exceed 2^53, Distribute omits the new histogram and adds a warning.
func (r *Result) Distribute(rank int, h metric.Head, of metric.Histogram) {
	for i := range r.Histograms {
		if d := &r.Histograms[i]; d.Rank == rank && d.Head == h && slices.Equal(d.Bounds, of.Bounds) {
			if d.Total()+d.NaN+of.Total()+of.NaN > metric.MostCount {
				r.warn("histogram", rank, h, "its processes counted more than 2^53 values, so some are left out")
				return
			}
			d.Merge(&of)
			return
		}
	}
	r.Histograms = append(r.Histograms, Histogram{rank, h, of.Clone()})
}

// checkNumbers returns an error if counters, gauges or histograms of a file are not valid.
func checkNumbers(r *Result, ranks map[int]bool) error {
	type identity struct {
		kind string
		rank int
		head metric.Head
		of   string
	}
	seen := map[identity]bool{}
	check := func(kind string, i, rank int, h metric.Head, of string, err error) error {
		id := identity{kind, rank, h, of}
		switch unit := metric.CheckUnit(h.Unit); {
		case err != nil:
		case unit != nil:
			err = unit
		case !ranks[rank]:
			err = errUnknownRank
		case seen[id]:
			err = errors.New("another one has the same rank, type, name and unit")
		}
		if seen[id] = true; err != nil {
			return fmt.Errorf("%s %d (rank %d, %s): %w", kind, i, rank, metric.Title(h), err)
		}
		return nil
	}
	for i, c := range r.Counters {
		err := metric.CheckCount(c.Value)
		if err != nil {
			err = fmt.Errorf("value %w", err)
		}
		if err := check("counter", i, c.Rank, c.Head, "", err); err != nil {
			return err
		}
	}
	for i, g := range r.Gauges {
		if err := check("gauge", i, g.Rank, g.Head, "", nil); err != nil {
			return err
		}
	}
	for i, h := range r.Histograms {
		if err := check("histogram", i, h.Rank, h.Head, fmt.Sprint(h.Bounds), h.Check()); err != nil {
			return err
		}
	}
	return nil
}
