package packed

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Observation is a number, finite or not, with a key that gives its position.
type Observation struct {
	A, B  int64 // the key
	Value float64
}

// Plausible reports whether the key of o is small enough for arithmetic without overflow.
func (o Observation) Plausible() bool { return small(o.A) && small(o.B) }

// A packed observation starts with a header:
//
//	bits 0-1  relation of the key to the previous key
//	bits 2-5  number of the value's bytes that follow: 0 to 8
//
// Next come the differences of the key if it is anyKey, and then the value's bytes: the highest bytes of the
// float64, up to the last byte that is not 0. Small whole numbers have one to three.

// put implements packable.
func (o Observation) put(data []byte, last *Observation) int {
	key, word := keyAfter(last.A, last.B, o.A, o.B), math.Float64bits(o.Value)
	width := 8 - bits.TrailingZeros64(word)/8
	data[0] = byte(key | uint64(width)<<2) // #nosec G115 -- at most 3 + 8*4
	n := 1
	if key == anyKey {
		n += binary.PutVarint(data[n:], o.A-last.A)
		n += binary.PutVarint(data[n:], o.B-last.B)
	}
	binary.BigEndian.PutUint64(data[n:], word)
	return n + width
}

// takeNext implements packable.
func (o Observation) takeNext(data []byte) (Observation, int) {
	header := uint64(data[0])
	width := int(header >> 2)
	rest := takeKey(header&3, &o.A, &o.B, data[1:])
	if rest == nil || width > 8 || len(rest) < width {
		return o, 0
	}
	var value [8]byte
	copy(value[:], rest[:width])
	o.Value = math.Float64frombits(binary.BigEndian.Uint64(value[:]))
	return o, len(data) - len(rest) + width
}
