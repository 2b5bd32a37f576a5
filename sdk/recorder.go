package sdk

import (
	"fmt"
	"slices"
	"sync"

	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/quote"
)

// Recorder holds the values that one process records in a pass. The metrics are series of
// durations, counters, gauges and histograms, each with a type and a name. A part gets its metrics
// once, at set-up, and keeps them. All methods of Recorder and of its metrics are safe for
// concurrent use. A type or name has 1 to 100 letters, digits and signs, but no comma.
//
// A wrong declaration, such as the same type and name with two units, ends the run; see Err. A part
// can still use a metric that was declared wrongly, but its values are lost.
type Recorder struct {
	mu      sync.Mutex
	metrics []recorded             // in the order of declaration
	named   map[[2]string]recorded // by type and name
	err     error
}

// recorded is a *Series, *Counter, *Gauge or *Histogram.
type recorded interface {
	declaration() *declared
	reset() // clears the values and keeps the storage; the caller holds the lock
}

// declared is the declaration of a metric, together with its lock.
type declared struct {
	metric.Head
	kind   string
	bounds []float64 // for a histogram
	mu     sync.Mutex
}

func (d *declared) declaration() *declared { return d }

// title describes the complete declaration in words, for errors.
func (d *declared) title() string {
	title := d.kind + " " + metric.Title(d.Head)
	if d.Unit != "" {
		title += " in " + quote.Word(d.Unit)
	}
	if n := len(d.bounds); n > 0 {
		title += fmt.Sprintf(" with %d bounds from %g to %g", n, d.bounds[0], d.bounds[n-1])
	}
	return title
}

// check returns an error if the declaration is invalid.
func (d *declared) check() error {
	if d.kind == kindSeries {
		return metric.CheckNames(d.Type, d.Name)
	}
	if err := metric.CheckHead(d.Head); err != nil || d.kind != kindHistogram {
		return err
	}
	return metric.CheckBounds(d.bounds)
}

const (
	kindSeries    = "series"
	kindCounter   = "counter"
	kindGauge     = "gauge"
	kindHistogram = "histogram"
)

// Series returns the series with this type and name. The first call creates the series.
func (r *Recorder) Series(typ, name string) *Series {
	return find(r, &Series{declared: declared{kind: kindSeries, Head: metric.Head{Type: typ, Name: name}}})
}

// Counter returns the counter with this type and name. The first call creates the counter. unit is
// a short word, such as 1, B, rows or steps.
func (r *Recorder) Counter(typ, name, unit string) *Counter {
	head := metric.Head{Type: typ, Name: name, Unit: unit}
	return find(r, &Counter{declared: declared{kind: kindCounter, Head: head}, recorder: r})
}

// Gauge returns the gauge with this type and name. The first call creates the gauge. unit is a
// short word, such as 1, % or steps.
func (r *Recorder) Gauge(typ, name, unit string) *Gauge {
	return find(r, &Gauge{declared: declared{kind: kindGauge, Head: metric.Head{Type: typ, Name: name, Unit: unit}}})
}

// Histogram returns the histogram with this type and name. The first call creates the histogram.
// bounds must ascend. Each bound is the inclusive upper end of a bucket; the last bucket holds all
// greater values. unit is a short word, such as 1, B or steps.
func (r *Recorder) Histogram(typ, name, unit string, bounds ...float64) *Histogram {
	of := metric.NewHistogram(bounds)
	head := metric.Head{Type: typ, Name: name, Unit: unit}
	return find(r, &Histogram{declared: declared{kind: kindHistogram, Head: head, bounds: of.Bounds}, of: of})
}

// find returns the existing metric with the same declaration as made. If there is none, find adds
// and returns made.
func find[M recorded](r *Recorder, made M) M {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := made.declaration()
	named := [2]string{d.Type, d.Name}
	if m, known := r.named[named]; known {
		before := m.declaration()
		if same, ok := m.(M); ok && before.Unit == d.Unit && slices.Equal(before.bounds, d.bounds) {
			return same
		}
		r.wrong(fmt.Errorf("it records %s, and also %s: give one of them another name", before.title(), d.title()))
		return made
	}
	if err := d.check(); err != nil {
		r.wrong(fmt.Errorf("it records %s %s: %w", d.kind, metric.Title(d.Head), err))
		return made
	}
	made.reset() // allocates its first storage
	r.metrics = append(r.metrics, made)
	if r.named == nil {
		r.named = map[[2]string]recorded{}
	}
	r.named[named] = made
	return made
}

// wrong stores err if it is the first error. The caller holds r.mu.
func (r *Recorder) wrong(err error) {
	if r.err == nil {
		r.err = err
	}
}

// blame is like wrong, for a caller that does not hold r.mu.
func (r *Recorder) blame(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong(err)
}

// Err returns the first error in a declaration or a recorded value, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Recorded is a snapshot of a Recorder. Each list is in the order in which the metrics were
// declared.
type Recorded struct {
	Series     []Snapshot
	Counters   []Count
	Gauges     []Observations
	Histograms []Distribution
}

// All returns a consistent snapshot of all metrics while other goroutines continue to record. The
// snapshot shares memory with the metrics. The snapshot may be read without a lock until the next
// Reset.
func (r *Recorder) All() Recorded {
	all := r.list()
	for _, m := range all {
		m.declaration().mu.Lock()
	}
	var out Recorded
	for _, m := range all {
		switch m := m.(type) {
		case *Series:
			out.Series = append(out.Series, m.snapshot())
		case *Counter:
			out.Counters = append(out.Counters, m.snapshot())
		case *Gauge:
			out.Gauges = append(out.Gauges, m.snapshot())
		case *Histogram:
			out.Histograms = append(out.Histograms, m.snapshot())
		}
		m.declaration().mu.Unlock()
	}
	return out
}

func (r *Recorder) list() []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.metrics)
}

// Reset clears all recorded values and keeps the storage.
func (r *Recorder) Reset() {
	for _, m := range r.list() {
		m.declaration().mu.Lock()
		m.reset()
		m.declaration().mu.Unlock()
	}
}
