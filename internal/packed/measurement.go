package packed

import (
	"encoding/binary"
	"math/bits"
)

// Measurement is a start and a duration, with a key that gives its position in a series.
type Measurement struct {
	A, B                int64 // the key
	StartNS, DurationNS int64
}

// Plausible reports whether m is small enough for arithmetic without overflow.
func (m Measurement) Plausible() bool {
	return small(m.A) && small(m.B) && small(m.StartNS) && small(m.DurationNS)
}

// A packed measurement holds the differences from the previous measurement. The encoding starts with a header:
//
//	bits 0-1  relation of the key to the previous key
//	bits 2-4  half bytes of the difference of the starts, less 1, or escaped
//	bits 5-7  half bytes of the duration, less 1, or escaped
//
// Next come the difference and the duration in so many half bytes, lowest first, padded to a whole byte. Values
// that do not fit follow as varints: the differences of both numbers of the key if it is anyKey, and the difference
// of the starts and the duration if they are escaped. So any values can be packed. Usual values need only one store
// of 8 bytes.
const escaped = 7 // negative, or more than 28 bits, 268 ms

// put implements packable.
func (m Measurement) put(data []byte, last *Measurement) int {
	key := keyAfter(last.A, last.B, m.A, m.B)
	difference, durationNS := uint64(m.StartNS-last.StartNS), uint64(m.DurationNS) // #nosec G115 -- their bits: what is negative is escaped
	start, duration := halves(difference), halves(durationNS)
	word, width := key|start<<2|duration<<5, uint64(8)
	if start != escaped {
		word |= difference << width
		width += 4 * (start + 1)
	}
	if duration != escaped {
		word |= durationNS << width
		width += 4 * (duration + 1)
	}
	binary.LittleEndian.PutUint64(data, word)
	n := int(width+7) / 8
	if key == anyKey {
		n += binary.PutVarint(data[n:], m.A-last.A)
		n += binary.PutVarint(data[n:], m.B-last.B)
	}
	if start == escaped {
		n += binary.PutVarint(data[n:], m.StartNS-last.StartNS)
	}
	if duration == escaped {
		n += binary.PutVarint(data[n:], m.DurationNS)
	}
	return n
}

// halves returns the number of half bytes of x, less 1, or escaped.
func halves(x uint64) uint64 {
	return min(uint64(bits.Len64(x|1)-1)/4, escaped) // #nosec G115 -- x|1 has a bit at least
}

// takeNext implements packable.
func (m Measurement) takeNext(data []byte) (Measurement, int) {
	word := first8(data)
	key, start, duration := word&3, word>>2&7, word>>5&7
	width := uint64(8)
	if start != escaped {
		m.StartNS += field(word>>width, start)
		width += 4 * (start + 1)
	}
	if duration != escaped {
		m.DurationNS = field(word>>width, duration)
		width += 4 * (duration + 1)
	}
	n := int(width+7) / 8
	if n > len(data) {
		return m, 0
	}
	rest := takeKey(key, &m.A, &m.B, data[n:])
	if start == escaped {
		rest = add(&m.StartNS, rest)
	}
	if duration == escaped {
		m.DurationNS = 0
		rest = add(&m.DurationNS, rest)
	}
	if rest == nil {
		return m, 0
	}
	return m, len(data) - len(rest)
}

// field returns the number in the half bytes at the low end of word.
func field(word, halves uint64) int64 {
	return int64(word & (1<<(4*(halves+1)) - 1)) // #nosec G115 -- at most 28 bits
}
