package sdk

import (
	"strconv"

	"github.com/psbench/psbench/internal/packed"
)

// Key identifies one measurement within its series. A key is {batch},{bucket} or {epoch},{index},
// as the series documents.
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

// Series is the list of measurements with one metric type and name. Each measurement takes 4 to 8
// bytes, or up to 12 if it starts seconds after the previous one.
type Series struct {
	declared     // Type and Name
	measurements packed.List[packed.Measurement]
}

// Record adds one measurement with start and end in ns of comm.Now. Record reuses the storage of
// earlier passes, so it allocates only if a pass needs more.
func (s *Series) Record(key Key, startNS, endNS int64) {
	s.mu.Lock()
	s.measurements.Add(packed.Measurement{A: key.A, B: key.B, StartNS: startNS, DurationNS: endNS - startNS})
	s.mu.Unlock()
}

// Observe records a finished operation. Through Observe, Series implements comm.Observer.
func (s *Series) Observe(a, b, startNS, endNS int64) { s.Record(Key{a, b}, startNS, endNS) }

// Each calls f for each measurement, in the order of recording.
func (s *Series) Each(f func(Measurement)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	each(&s.measurements, f)
}

func each(l *packed.List[packed.Measurement], f func(Measurement)) {
	for m := range l.All() {
		f(Measurement{Key{m.A, m.B}, m.StartNS, m.DurationNS})
	}
}

func (s *Series) reset() { s.measurements.Reset() }

// Snapshot is a copy of a Series at one moment.
type Snapshot struct {
	Type, Name   string
	measurements packed.List[packed.Measurement]
}

func (s *Series) snapshot() Snapshot { return Snapshot{s.Type, s.Name, s.measurements.Snapshot()} }

// Each calls f for each measurement, in the order of recording.
func (s *Snapshot) Each(f func(Measurement)) { each(&s.measurements, f) }

// Chunks returns the measurements in the form that psbench sends to the core.
func (s *Snapshot) Chunks() []packed.Chunk[packed.Measurement] { return s.measurements.Chunks() }
