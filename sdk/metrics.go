package sdk

import (
	"slices"
	"strconv"
	"sync"

	"github.com/psbench/psbench/internal/packed"
)

// Key names one measurement within its series: {batch},{bucket} or
// {epoch},{index}, as the series documents.
type Key struct{ A, B int64 }

func (k Key) String() string {
	return strconv.FormatInt(k.A, 10) + "," + strconv.FormatInt(k.B, 10)
}

// Measurement is one recorded start/end pair, in ns of comm.Now.
type Measurement struct {
	Key        Key
	StartNS    int64
	DurationNS int64
}

// Recorder holds the series of one process. Its methods are safe for
// concurrent use.
type Recorder struct {
	mu     sync.Mutex
	series []*Series
}

// Series is all measurements of one metric type and name. Each takes 4 to 8 bytes, and up to
// 12 where seconds lie between two.
type Series struct {
	Type, Name string

	mu           sync.Mutex
	measurements packed.List
}

// Series finds or makes the series of a metric type and name. Call it at
// set-up and keep the result.
func (r *Recorder) Series(typ, name string) *Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.series {
		if s.Type == typ && s.Name == name {
			return s
		}
	}
	s := &Series{Type: typ, Name: name}
	s.measurements.Reset() // for its first storage
	r.series = append(r.series, s)
	return s
}

// Snapshot is what a series held at some moment.
type Snapshot struct {
	Type, Name   string
	measurements packed.List
}

// Each calls f with the measurements in the order in which they were recorded.
func (s *Snapshot) Each(f func(Measurement)) { each(&s.measurements, f) }

func each(l *packed.List, f func(Measurement)) {
	for m := range l.All() {
		f(Measurement{Key{m.A, m.B}, m.StartNS, m.DurationNS})
	}
}

// Chunks are the measurements as they go to the core.
func (s *Snapshot) Chunks() []packed.Chunk { return s.measurements.Chunks() }

// All is what all series hold at one moment, in the order in which they were made, though
// others go on recording: what is recorded is not written again until a Reset, so that it
// may be read without a lock until then.
func (r *Recorder) All() []Snapshot {
	all := r.list()
	for _, s := range all {
		s.mu.Lock()
	}
	out := make([]Snapshot, len(all))
	for i, s := range all {
		out[i] = Snapshot{s.Type, s.Name, s.measurements.Snapshot()}
		s.mu.Unlock()
	}
	return out
}

func (r *Recorder) list() []*Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.series)
}

// Reset forgets all measurements and keeps their storage.
func (r *Recorder) Reset() {
	for _, s := range r.list() {
		s.reset()
	}
}

// Record notes one measurement with start and end in ns of comm.Now. A pass that needs as
// much storage as the one before it allocates none.
func (s *Series) Record(key Key, startNS, endNS int64) {
	s.mu.Lock()
	s.measurements.Add(packed.Measurement{A: key.A, B: key.B, StartNS: startNS, DurationNS: endNS - startNS})
	s.mu.Unlock()
}

// Observe records a finished operation; it makes Series a comm.Observer.
func (s *Series) Observe(a, b, startNS, endNS int64) { s.Record(Key{a, b}, startNS, endNS) }

// Each calls f with the measurements in the order in which they were recorded.
func (s *Series) Each(f func(Measurement)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	each(&s.measurements, f)
}

func (s *Series) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.measurements.Reset()
}
