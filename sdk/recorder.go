package sdk

import (
	"fmt"
	"slices"
	"sync"

	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/quote"
)

// Recorder holds what one process records in a pass: series of durations, counters, gauges and
// histograms, each under a type and a name. They are found or made at set-up, and kept. All
// methods, also of what it gives, are safe for concurrent use. A type or name has 1 to 100 letters,
// digits and signs, but no comma.
//
// What was declared wrongly, such as the same type and name twice with different units, records
// nothing that counts, and ends the run with a sentence: see Err.
type Recorder struct {
	mu      sync.Mutex
	metrics []recorded             // in the order in which they were made
	named   map[[2]string]recorded // by type and name
	err     error
}

// recorded is a *Series, *Counter, *Gauge or *Histogram.
type recorded interface {
	declaration() *declared
	reset() // forgets all and keeps the storage; the lock is held
}

// declared is what something was declared with, and its lock.
type declared struct {
	metric.Head
	kind   string
	bounds []float64 // of a histogram
	mu     sync.Mutex
}

func (d *declared) declaration() *declared { return d }

// title is all of it, as errors say it.
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

// check says what is wrong with it.
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

// Series finds or makes the series of a metric type and name.
func (r *Recorder) Series(typ, name string) *Series {
	return find(r, &Series{declared: declared{kind: kindSeries, Head: metric.Head{Type: typ, Name: name}}})
}

// Counter finds or makes a counter. Unit is a short word for what it counts: 1, B, rows, steps.
func (r *Recorder) Counter(typ, name, unit string) *Counter {
	head := metric.Head{Type: typ, Name: name, Unit: unit}
	return find(r, &Counter{declared: declared{kind: kindCounter, Head: head}, recorder: r})
}

// Gauge finds or makes a gauge. Unit is a short word for what its numbers are in: 1, %, steps.
func (r *Recorder) Gauge(typ, name, unit string) *Gauge {
	return find(r, &Gauge{declared: declared{kind: kindGauge, Head: metric.Head{Type: typ, Name: name, Unit: unit}}})
}

// Histogram finds or makes a histogram, whose bounds ascend: a bucket for the values up to and
// including each of them, and one for those above all. Unit is a short word for what they are in.
func (r *Recorder) Histogram(typ, name, unit string, bounds ...float64) *Histogram {
	of := metric.NewHistogram(bounds)
	head := metric.Head{Type: typ, Name: name, Unit: unit}
	return find(r, &Histogram{declared: declared{kind: kindHistogram, Head: head, bounds: of.Bounds}, of: of})
}

// find is what was declared like made before, or made itself.
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
	made.reset() // for its first storage
	r.metrics = append(r.metrics, made)
	if r.named == nil {
		r.named = map[[2]string]recorded{}
	}
	r.named[named] = made
	return made
}

// wrong notes a mistake, the first of which counts; r.mu is held.
func (r *Recorder) wrong(err error) {
	if r.err == nil {
		r.err = err
	}
}

// blame is wrong for who does not hold r.mu.
func (r *Recorder) blame(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong(err)
}

// Err is what is wrong with what was declared or recorded, nil if nothing is.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Recorded is what a recorder held at some moment, in the order in which it was made.
type Recorded struct {
	Series     []Snapshot
	Counters   []Count
	Gauges     []Observations
	Histograms []Distribution
}

// All is what all hold at one moment, though others go on recording: what is recorded is not
// written again until a Reset, so that it may be read without a lock until then.
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

// Reset forgets all that was recorded and keeps the storage.
func (r *Recorder) Reset() {
	for _, m := range r.list() {
		m.declaration().mu.Lock()
		m.reset()
		m.declaration().mu.Unlock()
	}
}
