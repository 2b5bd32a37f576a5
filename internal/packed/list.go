// Package packed stores recorded values in few bytes. A measurement takes 4 to 8 bytes if the keys of its series
// are consecutive and its starts are less than 268 ms apart. An observation takes 2 to 9 bytes.
package packed

import (
	"fmt"
	"iter"
	"slices"
)

// chunkBytes is the size of one allocation.
const chunkBytes = 16 << 10

// most limits keys and timestamps from other processes, so that no difference or sum of two of them overflows.
const most = 1 << 61

func small(x int64) bool { return -most <= x && x <= most }

// packable is the element type of a list: a Measurement or an Observation. Each element is packed as its difference
// from the previous one.
type packable[T any] interface {
	// put writes the value to data as its difference from last, the previous value. data has at least mostBytes. put
	// returns the number of bytes.
	put(data []byte, last *T) int
	// takeNext decodes the value at the start of data, which follows the receiver. takeNext returns the value and its
	// number of bytes, which is 0 if data ends too early.
	takeNext(data []byte) (T, int)
	// Plausible reports whether the value's numbers are small enough for arithmetic without overflow.
	Plausible() bool
}

// Chunk is a sequence of values.
type Chunk[T packable[T]] struct {
	data  []byte
	count int
	from  T // base of the first value's difference
}

// ChunkOf returns the chunk that was packed as these Bytes. The chunk keeps the slice. For invalid bytes, the error
// describes the first wrong value.
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

// Bytes returns the packed values, without the effect of a shift. The caller must not modify them.
func (c Chunk[T]) Bytes() []byte { return c.data }

// Len returns the number of values.
func (c Chunk[T]) Len() int { return c.count }

// Shifted returns the chunk with ns added to all starts. The result shares the bytes.
func Shifted(c Chunk[Measurement], ns int64) Chunk[Measurement] {
	c.from.StartNS += ns
	return c
}

// All iterates over the values.
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
	chunks []Chunk[T] // all but the last are full
	last   T          // last value of the last chunk
	spare  [][]byte   // memory for future chunks
}

// Add appends a value. Add allocates only if no memory is left.
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

// begin starts a new chunk.
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

// Append appends the values of a chunk and shares its bytes.
func (l *List[T]) Append(c Chunk[T]) {
	c.data = slices.Clip(c.data) // later values must not overwrite the shared bytes
	l.chunks = append(l.chunks, c)
}

// Reset removes all values but keeps their memory. Reset adds a little memory, because the same number of other
// values may need more bytes. The list must not contain an appended chunk.
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

// Snapshot returns the current content of the list; later Adds do not change the snapshot. The snapshot shares the
// memory, so it is valid until Reset.
func (l *List[T]) Snapshot() List[T] {
	s := List[T]{chunks: slices.Clone(l.chunks)}
	if n := len(s.chunks); n > 0 {
		s.chunks[n-1].data = slices.Clip(s.chunks[n-1].data)
	}
	return s
}

// Chunks returns the values in pieces of some ten kilobytes.
func (l *List[T]) Chunks() []Chunk[T] { return l.chunks }

// Len returns the number of values.
func (l *List[T]) Len() (n int) {
	for _, c := range l.chunks {
		n += c.count
	}
	return n
}

// All iterates over the values.
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
