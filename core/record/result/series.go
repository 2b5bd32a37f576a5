package result

import (
	"iter"
	"slices"

	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk"
)

// Series holds the measurements of one metric of a rank in the order of recording. Start times are in ns on the core's
// CLOCK_MONOTONIC, even if the process used another clock.
type Series struct {
	Rank int
	Type string // such as forward_metric
	Name string // such as forward_pass

	measurements packed.List[packed.Measurement]
}

// NewSeries returns a series with these measurements.
func NewSeries(rank int, typ, name string, measurements ...sdk.Measurement) *Series {
	s := &Series{Rank: rank, Type: typ, Name: name}
	for _, m := range measurements {
		s.Add(m)
	}
	return s
}

// Add appends a measurement.
func (s *Series) Add(m sdk.Measurement) {
	s.measurements.Add(packed.Measurement{A: m.Key.A, B: m.Key.B, StartNS: m.StartNS, DurationNS: m.DurationNS})
}

// Append appends measurements without copying their bytes.
func (s *Series) Append(c packed.Chunk[packed.Measurement]) { s.measurements.Append(c) }

// Len returns the number of measurements.
func (s *Series) Len() int { return s.measurements.Len() }

// All decodes and yields the measurements.
func (s *Series) All() iter.Seq[sdk.Measurement] {
	return func(yield func(sdk.Measurement) bool) {
		for m := range s.measurements.All() {
			if !yield(sdk.Measurement{Key: sdk.Key{A: m.A, B: m.B}, StartNS: m.StartNS, DurationNS: m.DurationNS}) {
				return
			}
		}
	}
}

// Equal reports whether two series have the same rank, metric and measurements.
func (s *Series) Equal(o *Series) bool {
	return s.Rank == o.Rank && s.Type == o.Type && s.Name == o.Name &&
		slices.Equal(slices.Collect(s.All()), slices.Collect(o.All()))
}

// SeriesOf returns the series of a rank's metric. If the series does not exist, SeriesOf adds an empty series.
func (r *Result) SeriesOf(rank int, typ, name string) *Series {
	for _, s := range slices.Backward(r.Series) { // most calls are for the last one
		if s.Rank == rank && s.Type == typ && s.Name == name {
			return s
		}
	}
	s := NewSeries(rank, typ, name)
	r.Series = append(r.Series, s)
	return s
}

// seriesSet is a list of series with distinct heads and fast lookup.
type seriesSet struct {
	list   []*Series
	byHead map[seriesHead]*Series
}

// of returns the series with a head. If the series does not exist, of adds an empty series.
func (a *seriesSet) of(h seriesHead) *Series {
	s := a.byHead[h]
	if s == nil {
		s = NewSeries(h.Rank, h.Type, h.Name)
		a.add(s)
	}
	return s
}

// add adds a series, and reports whether its head is new.
func (a *seriesSet) add(s *Series) bool {
	h := seriesHead{s.Rank, s.Type, s.Name}
	if a.byHead[h] != nil {
		return false
	}
	if a.byHead == nil {
		a.byHead = map[seriesHead]*Series{}
	}
	a.byHead[h] = s
	a.list = append(a.list, s)
	return true
}
