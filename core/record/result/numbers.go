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

// Counter is a sum of the pass: what the parts of a rank counted.
type Counter struct {
	Rank int `json:"rank"`
	metric.Head
	Value int64 `json:"value"`
}

// Gauge is what the parts of a rank observed, in the order of recording.
type Gauge struct {
	Rank int
	metric.Head

	observations packed.List[packed.Observation]
}

// Histogram is how values that the parts of a rank saw were distributed.
type Histogram struct {
	Rank int `json:"rank"`
	metric.Head
	metric.Histogram
}

// Add appends an observation.
func (g *Gauge) Add(key sdk.Key, value float64) {
	g.observations.Add(packed.Observation{A: key.A, B: key.B, Value: value})
}

// Append appends observations, whose bytes it shares.
func (g *Gauge) Append(c packed.Chunk[packed.Observation]) { g.observations.Append(c) }

// Len is how many observations there are.
func (g *Gauge) Len() int { return g.observations.Len() }

// All goes through the observations, which are decoded on the way. They may be NaN or infinite;
// of a file all that are not finite are NaN.
func (g *Gauge) All() iter.Seq2[sdk.Key, float64] {
	return func(yield func(sdk.Key, float64) bool) {
		for o := range g.observations.All() {
			if !yield(sdk.Key{A: o.A, B: o.B}, o.Value) {
				return
			}
		}
	}
}

// Count adds what was counted in a process of a rank. The sum stays at 2^53, with a warning, as a
// file has no more.
func (r *Result) Count(rank int, h metric.Head, value int64) {
	for i := range r.Counters {
		if c := &r.Counters[i]; c.Rank == rank && c.Head == h {
			if c.Value += value; c.Value > metric.MostCount {
				c.Value = metric.MostCount
				r.warn("counter", rank, h, "its processes counted more than 2^53, which is what is noted")
			}
			return
		}
	}
	r.Counters = append(r.Counters, Counter{rank, h, value})
}

// warn adds a warning, once.
func (r *Result) warn(kind string, rank int, h metric.Head, text string) {
	text = fmt.Sprintf("%s %s of rank %d: %s", kind, metric.Title(h), rank, text)
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

// GaugeOf finds or makes the gauge of a rank.
func (r *Result) GaugeOf(rank int, h metric.Head) *Gauge {
	for _, g := range slices.Backward(r.Gauges) { // who adds to one goes on with it
		if g.Rank == rank && g.Head == h {
			return g
		}
	}
	g := &Gauge{Rank: rank, Head: h}
	r.Gauges = append(r.Gauges, g)
	return g
}

// Distribute adds how values were distributed in a process of a rank. What has other bounds
// stands by itself; what would make the sum of all counts more than 2^53 is left out, with a warning.
func (r *Result) Distribute(rank int, h metric.Head, of metric.Histogram) {
	for i := range r.Histograms {
		if d := &r.Histograms[i]; d.Rank == rank && d.Head == h && slices.Equal(d.Bounds, of.Bounds) {
			if d.Total()+d.NaN+of.Total()+of.NaN > metric.MostCount {
				r.warn("histogram", rank, h, "its processes counted more than 2^53 values, some of which are left out")
				return
			}
			d.Merge(&of)
			return
		}
	}
	r.Histograms = append(r.Histograms, Histogram{rank, h, of.Clone()})
}

// checkNumbers says what is wrong with the counters, gauges and histograms of a file.
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
			err = errors.New("there is another one of that rank, type, name and unit")
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
