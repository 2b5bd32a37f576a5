package result

import (
	"iter"
	"slices"

	"github.com/psbench/psbench/sdk"
)

// Series is what a rank measured of one metric, in the order of recording. Starts are in
// ns of the core's CLOCK_MONOTONIC, whatever clock the process has.
type Series struct {
	Rank int
	Type string // e.g. "forward_metric"
	Name string // e.g. "forward_pass"

	measurements []sdk.Measurement
}

// NewSeries makes a series of these measurements.
func NewSeries(rank int, typ, name string, measurements ...sdk.Measurement) *Series {
	s := &Series{Rank: rank, Type: typ, Name: name}
	for _, m := range measurements {
		s.Add(m)
	}
	return s
}

// Add appends a measurement.
func (s *Series) Add(m sdk.Measurement) { s.measurements = append(s.measurements, m) }

// Len is how many measurements there are.
func (s *Series) Len() int { return len(s.measurements) }

// All goes through the measurements.
func (s *Series) All() iter.Seq[sdk.Measurement] { return slices.Values(s.measurements) }

// Equal says whether two series have the same measurements of the same metric and rank.
func (s *Series) Equal(o *Series) bool {
	return s.Rank == o.Rank && s.Type == o.Type && s.Name == o.Name && slices.Equal(s.measurements, o.measurements)
}

// SeriesOf finds or makes the series of a metric of a rank.
func (r *Result) SeriesOf(rank int, typ, name string) *Series {
	for _, s := range slices.Backward(r.Series) { // who adds to one goes on with it
		if s.Rank == rank && s.Type == typ && s.Name == name {
			return s
		}
	}
	s := NewSeries(rank, typ, name)
	r.Series = append(r.Series, s)
	return s
}
