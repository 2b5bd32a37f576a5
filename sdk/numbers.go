package sdk

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
)

// Counter is a sum that only grows, such as bytes sent or rows dropped. Every pass starts at 0.
type Counter struct {
	declared           // Type, Name and Unit
	recorder *Recorder // stores the first error
	value    int64
}

// Add adds n, which must be at least 0. The sum must stay at most 2^53. If n breaks one of these
// rules, Add leaves the sum unchanged, and Recorder.Err reports the error.
func (c *Counter) Add(n int64) {
	if n < 0 {
		c.negative(n)
		return
	}
	c.mu.Lock()
	before := c.value
	fits := n <= metric.MostCount-before
	if fits {
		c.value += n
	}
	c.mu.Unlock()
	if !fits {
		c.beyond(n, before)
	}
}

func (c *Counter) negative(n int64) {
	c.recorder.blame(fmt.Errorf("it adds %d to %s: a counter cannot shrink, so use a gauge", n, c.title()))
}

func (c *Counter) beyond(n, before int64) {
	c.recorder.blame(fmt.Errorf("it adds %d to %s, which is %d: the sum must be at most 2^53", n, c.title(), before))
}

// Value returns the sum so far.
func (c *Counter) Value() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value
}

func (c *Counter) reset() { c.value = 0 }

// Count is a snapshot of a Counter.
type Count struct {
	metric.Head
	Value int64
}

func (c *Counter) snapshot() Count { return Count{c.Head, c.value} }

// Gauge is a list of observed numbers, each with a Key, such as the staleness of a push, the norm
// of a gradient or a ratio. Each number takes 2 to 9 bytes.
type Gauge struct {
	declared     // Type, Name and Unit
	observations packed.List[packed.Observation]
}

// Record adds one number, which may be NaN or infinite. Record reuses the storage of earlier
// passes, so it allocates only if a pass needs more.
func (g *Gauge) Record(key Key, value float64) {
	g.mu.Lock()
	g.observations.Add(packed.Observation{A: key.A, B: key.B, Value: value})
	g.mu.Unlock()
}

// Each calls f for each observation, in the order of recording.
func (g *Gauge) Each(f func(Key, float64)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	eachObservation(&g.observations, f)
}

func eachObservation(l *packed.List[packed.Observation], f func(Key, float64)) {
	for o := range l.All() {
		f(Key{o.A, o.B}, o.Value)
	}
}

func (g *Gauge) reset() { g.observations.Reset() }

// Observations is a snapshot of a Gauge.
type Observations struct {
	metric.Head
	observations packed.List[packed.Observation]
}

// Each calls f for each observation, in the order of recording.
func (o *Observations) Each(f func(Key, float64)) { eachObservation(&o.observations, f) }

// Chunks returns the observations in the form that psbench sends to the core.
func (o *Observations) Chunks() []packed.Chunk[packed.Observation] { return o.observations.Chunks() }

func (g *Gauge) snapshot() Observations {
	return Observations{g.Head, g.observations.Snapshot()}
}

// Histogram counts values in buckets. The memory of a Histogram does not grow with the number of
// values. Histogram does not store keys or the order of values.
type Histogram struct {
	declared // Type, Name and Unit
	of       metric.Histogram
}

// Record counts a value. NaN is counted separately and belongs to no bucket.
func (h *Histogram) Record(value float64) {
	bucket, nan := h.of.Bucket(value), math.IsNaN(value)
	h.mu.Lock()
	if nan {
		h.of.NaN++
	} else {
		h.of.Counts[bucket]++
	}
	h.mu.Unlock()
}

// Counts returns a copy of the counts of all buckets, in ascending order of bounds.
func (h *Histogram) Counts() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.of.Counts)
}

func (h *Histogram) reset() {
	clear(h.of.Counts)
	h.of.NaN = 0
}

// Distribution is a snapshot of a Histogram.
type Distribution struct {
	metric.Head
	metric.Histogram
}

func (h *Histogram) snapshot() Distribution { return Distribution{h.Head, h.of.Clone()} }
