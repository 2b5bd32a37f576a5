package packed

import (
	"fmt"
	"iter"
	"slices"
)

// chunkBytes are allocated at a time.
const chunkBytes = 16 << 10

// most bounds keys and stamps that come from elsewhere, so that no difference or sum of
// two of them overflows.
const most = 1 << 61

// Chunk is some measurements that follow each other.
type Chunk struct {
	data    []byte
	count   int
	startNS int64 // what the first start differs from
}

// ChunkOf is the chunk whose Bytes these are; it keeps them. Bytes that no chunk has are an
// error that says what is wrong with which measurement.
func ChunkOf(data []byte) (Chunk, error) {
	c := Chunk{data: data}
	var m Measurement
	for at := 0; at < len(data); c.count++ {
		var n int
		if m, n = take(data[at:], m); n == 0 {
			return Chunk{}, fmt.Errorf("measurement %d is cut off", c.count)
		}
		if !m.Plausible() {
			return Chunk{}, fmt.Errorf("measurement %d has a number beyond 2^61", c.count)
		}
		at += n
	}
	return c, nil
}

// Plausible says whether m is small enough to be reckoned with.
func (m Measurement) Plausible() bool {
	return small(m.A) && small(m.B) && small(m.StartNS) && small(m.DurationNS)
}

func small(x int64) bool { return -most <= x && x <= most }

// Bytes are the measurements packed, as they were before a shift. They must not be written.
func (c Chunk) Bytes() []byte { return c.data }

// Len is how many measurements there are.
func (c Chunk) Len() int { return c.count }

// Shifted is the chunk with ns added to all starts; it shares the bytes.
func (c Chunk) Shifted(ns int64) Chunk {
	c.startNS += ns
	return c
}

// All goes through the measurements.
func (c Chunk) All() iter.Seq[Measurement] {
	return func(yield func(Measurement) bool) {
		m := Measurement{StartNS: c.startNS}
		for data := c.data; len(data) > 0; {
			var n int
			if m, n = take(data, m); !yield(m) {
				return
			}
			data = data[n:]
		}
	}
}

// List is a list of measurements. The zero List is empty.
type List struct {
	chunks []Chunk     // those before the last one are full
	last   Measurement // of the last chunk
	spare  [][]byte    // storage of chunks to come
}

// Add appends a measurement. It allocates nothing while there is storage.
func (l *List) Add(m Measurement) {
	if n := len(l.chunks); n == 0 || cap(l.chunks[n-1].data)-len(l.chunks[n-1].data) < mostBytes {
		l.begin()
	}
	c := &l.chunks[len(l.chunks)-1]
	end := len(c.data)
	c.data = c.data[:end+put(c.data[end:cap(c.data)], &l.last, m)]
	c.count++
	l.last = m
}

// begin begins a chunk.
func (l *List) begin() {
	var storage []byte
	if n := len(l.spare); n > 0 {
		storage, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		storage = make([]byte, 0, chunkBytes)
	}
	l.chunks, l.last = append(l.chunks, Chunk{data: storage}), Measurement{}
}

// Append appends the measurements of a chunk, whose bytes it shares.
func (l *List) Append(c Chunk) {
	c.data = slices.Clip(c.data) // what is added goes elsewhere
	l.chunks = append(l.chunks, c)
}

// Reset forgets all measurements and keeps their storage, and a little more, since as many
// others may take more bytes. The list must have no chunk that was appended.
func (l *List) Reset() {
	chunks := 1 + len(l.chunks) + len(l.chunks)/16
	for _, c := range l.chunks {
		l.spare = append(l.spare, c.data[:0])
	}
	for len(l.spare) < chunks {
		l.spare = append(l.spare, make([]byte, 0, chunkBytes))
	}
	l.chunks = slices.Grow(l.chunks[:0], len(l.spare))
}

// Snapshot is what the list holds now, whatever is added to it. It shares the storage, so
// it is good until the Reset.
func (l *List) Snapshot() List {
	s := List{chunks: slices.Clone(l.chunks)}
	if n := len(s.chunks); n > 0 {
		s.chunks[n-1].data = slices.Clip(s.chunks[n-1].data)
	}
	return s
}

// Chunks are the measurements in pieces of some ten kilobytes.
func (l *List) Chunks() []Chunk { return l.chunks }

// Len is how many measurements there are.
func (l *List) Len() (n int) {
	for _, c := range l.chunks {
		n += c.count
	}
	return n
}

// All goes through the measurements.
func (l *List) All() iter.Seq[Measurement] {
	return func(yield func(Measurement) bool) {
		for _, c := range l.chunks {
			for m := range c.All() {
				if !yield(m) {
					return
				}
			}
		}
	}
}
