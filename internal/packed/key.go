package packed

import "encoding/binary"

// mostBytes is the maximum size of a packed value.
const mostBytes = 1 + 7 + 4*binary.MaxVarintLen64

// The lowest two bits of a packed value say how its key differs from the previous key.
const (
	nextB  = 0 // A is the same, B is one more
	firstB = 1 // A increased by 1, B is 0
	nextA  = 2 // A increased by 1, same B
	anyKey = 3 // the differences of both numbers follow as varints
)

// keyAfter returns the relation of the key a, b to the previous key lastA, lastB.
func keyAfter(lastA, lastB, a, b int64) uint64 {
	switch a - lastA {
	case 0:
		if b == lastB+1 {
			return nextB
		}
	case 1:
		switch b {
		case 0:
			return firstB
		case lastB:
			return nextA
		}
	}
	return anyKey
}

// takeKey advances a and b to the next key. takeKey returns the rest of data, or nil if data ends too early.
func takeKey(key uint64, a, b *int64, data []byte) []byte {
	switch key {
	case nextB:
		*b++
	case firstB:
		*a, *b = *a+1, 0
	case nextA:
		*a++
	case anyKey:
		data = add(b, add(a, data))
	}
	return data
}

// first8 returns the first 8 bytes of data. Missing bytes are 0.
func first8(data []byte) (word uint64) {
	if len(data) >= 8 {
		return binary.LittleEndian.Uint64(data)
	}
	for i, b := range data {
		word |= uint64(b) << (8 * i)
	}
	return word
}

// add adds the varint at the start of data to x. add returns the rest of data, or nil if data ends too early.
func add(x *int64, data []byte) []byte {
	difference, n := binary.Varint(data)
	if n <= 0 {
		return nil
	}
	*x += difference
	return data[n:]
}
