// Package packed keeps what is recorded in few bytes: a measurement in 4 to 8, if the keys of
// its series count and its starts are less than 268 ms apart; an observation in 2 to 9.
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

func small(x int64) bool { return -most <= x && x <= most }

// packable is what a list holds: a Measurement or an Observation. Each is packed as it differs
// from the one before it.
type packable[T any] interface {
	// put writes the value, which follows last, to data, which has room for mostBytes. It gives
	// the number of bytes.
	put(data []byte, last *T) int
	// takeNext is what data begins with, which follows the value, and how many bytes it has.
	// These are 0 if data ends before it does.
	takeNext(data []byte) (T, int)
	// Plausible says whether the value's numbers are small enough to be reckoned with.
	Plausible() bool
}

// Chunk is some values that follow each other.
type Chunk[T packable[T]] struct {
	data  []byte
	count int
	from  T // what the first one differs from
}

// ChunkOf is the chunk whose Bytes these are; it keeps them. Bytes that no chunk has are an
// error that says what is wrong with which value.
func ChunkOf[T packable[T]](data []byte) (Chunk[T], error) {
	c := Chunk[T]{data: data}
	var v T
	for at := 0; at < len(data); c.count++ {
		var n int
		if v, n = v.takeNext(data[at:]); n == 0 {
			return Chunk[T]{}, fmt.Errorf("measurement %d is cut off", c.count)
		}
		if !v.Plausible() {
			return Chunk[T]{}, fmt.Errorf("measurement %d has a number beyond 2^61", c.count)
		}
		at += n
	}
	return c, nil
}

// Bytes are the values packed, as they were before a shift. They must not be written.
func (c Chunk[T]) Bytes() []byte { return c.data }

// Len is how many values there are.
func (c Chunk[T]) Len() int { return c.count }

// Shifted is the chunk with ns added to all starts; it shares the bytes.
func Shifted(c Chunk[Measurement], ns int64) Chunk[Measurement] {
	c.from.StartNS += ns
	return c
}

// All goes through the values.
func (c Chunk[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		v := c.from
		for data := c.data; len(data) > 0; {
			var n int
			if v, n = v.takeNext(data); !yield(v) {
				return
			}
			data = data[n:]
		}
	}
}

// List is a list of values. The zero List is empty.
type List[T packable[T]] struct {
	chunks []Chunk[T] // those before the last one are full
	last   T          // of the last chunk
	spare  [][]byte   // storage of chunks to come
}

// Add appends a value. It allocates nothing while there is storage.
func (l *List[T]) Add(v T) {
	if n := len(l.chunks); n == 0 || cap(l.chunks[n-1].data)-len(l.chunks[n-1].data) < mostBytes {
		l.begin()
	}
	c := &l.chunks[len(l.chunks)-1]
	end := len(c.data)
	c.data = c.data[:end+v.put(c.data[end:cap(c.data)], &l.last)]
	c.count++
	l.last = v
}

// begin begins a chunk.
func (l *List[T]) begin() {
	var storage []byte
	if n := len(l.spare); n > 0 {
		storage, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		storage = make([]byte, 0, chunkBytes)
	}
	var none T
	l.chunks, l.last = append(l.chunks, Chunk[T]{data: storage}), none
}

// Append appends the values of a chunk, whose bytes it shares.
func (l *List[T]) Append(c Chunk[T]) {
	c.data = slices.Clip(c.data) // what is added goes elsewhere
	l.chunks = append(l.chunks, c)
}

// Reset forgets all values and keeps their storage, and a little more, since as many
// others may take more bytes. The list must have no chunk that was appended.
func (l *List[T]) Reset() {
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
func (l *List[T]) Snapshot() List[T] {
	s := List[T]{chunks: slices.Clone(l.chunks)}
	if n := len(s.chunks); n > 0 {
		s.chunks[n-1].data = slices.Clip(s.chunks[n-1].data)
	}
	return s
}

// Chunks are the values in pieces of some ten kilobytes.
func (l *List[T]) Chunks() []Chunk[T] { return l.chunks }

// Len is how many values there are.
func (l *List[T]) Len() (n int) {
	for _, c := range l.chunks {
		n += c.count
	}
	return n
}

// All goes through the values.
func (l *List[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, c := range l.chunks {
			for v := range c.All() {
				if !yield(v) {
					return
				}
			}
		}
	}
}
