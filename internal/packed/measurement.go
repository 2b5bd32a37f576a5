// Package packed keeps measurements in few bytes: 4 to 8 for one of a series whose keys
// count and whose starts are less than 268 ms apart.
package packed

import (
	"encoding/binary"
	"math/bits"
)

// Measurement is a start and a duration, with the key that places it in its series.
type Measurement struct {
	A, B                int64 // the key
	StartNS, DurationNS int64
}

// A packed measurement says what differs from the one before it. It is a header,
//
//	bits 0-1  how the key follows from the one before
//	bits 2-4  half bytes of the difference of the starts, less 1, or escaped
//	bits 5-7  half bytes of the duration, less 1, or escaped
//
// then the difference and the duration in so many half bytes, the lowest first, up to a
// whole byte, and then as varints what is not said so: the differences of both numbers of
// the key if it is anyKey, that of the starts and the duration if they are escaped. So any
// values can be packed, and the usual ones with one store of 8 bytes.
const (
	nextB  = 0 // of the same A
	firstB = 1 // 0, of the next A
	nextA  = 2 // with the same B
	anyKey = 3

	escaped = 7 // negative, or more than 28 bits, 268 ms

	mostBytes = 1 + 7 + 4*binary.MaxVarintLen64 // of one measurement, rounded up
)

// put writes m, which follows last, to data, which has room for mostBytes. It gives the
// number of bytes.
func put(data []byte, last *Measurement, m Measurement) int {
	key := uint64(anyKey)
	switch m.A - last.A {
	case 0:
		if m.B == last.B+1 {
			key = nextB
		}
	case 1:
		switch m.B {
		case 0:
			key = firstB
		case last.B:
			key = nextA
		}
	}
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

// halves is how many half bytes x takes, less 1, or escaped.
func halves(x uint64) uint64 {
	return min(uint64(bits.Len64(x|1)-1)/4, escaped) // #nosec G115 -- x|1 has a bit at least
}

// take is the measurement that data begins with, which follows last, and how many bytes it
// has. These are 0 if data ends before it does.
func take(data []byte, last Measurement) (m Measurement, n int) {
	word := first8(data)
	key, start, duration := word&3, word>>2&7, word>>5&7
	m, width := last, uint64(8)
	if start != escaped {
		m.StartNS += field(word>>width, start)
		width += 4 * (start + 1)
	}
	if duration != escaped {
		m.DurationNS = field(word>>width, duration)
		width += 4 * (duration + 1)
	}
	if n = int(width+7) / 8; n > len(data) {
		return m, 0
	}
	rest := data[n:]
	switch key {
	case nextB:
		m.B++
	case firstB:
		m.A, m.B = m.A+1, 0
	case nextA:
		m.A++
	case anyKey:
		rest = add(&m.A, rest)
		rest = add(&m.B, rest)
	}
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

// field is what a number's half bytes, at the low end of word, are.
func field(word, halves uint64) int64 {
	return int64(word & (1<<(4*(halves+1)) - 1)) // #nosec G115 -- at most 28 bits
}

// first8 is the first 8 bytes of data; 0 stands for those that there are not.
func first8(data []byte) (word uint64) {
	if len(data) >= 8 {
		return binary.LittleEndian.Uint64(data)
	}
	for i, b := range data {
		word |= uint64(b) << (8 * i)
	}
	return word
}

// add adds the varint that data begins with to x. It gives what follows it, nil if data
// ends before it does.
func add(x *int64, data []byte) []byte {
	difference, n := binary.Varint(data)
	if n <= 0 {
		return nil
	}
	*x += difference
	return data[n:]
}
