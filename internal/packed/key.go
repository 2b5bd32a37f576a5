package packed

import "encoding/binary"

// mostBytes bounds what a packed value takes.
const mostBytes = 1 + 7 + 4*binary.MaxVarintLen64

// How a key follows from the one before, in the lowest two bits of what is packed.
const (
	nextB  = 0 // of the same A
	firstB = 1 // 0, of the next A
	nextA  = 2 // with the same B
	anyKey = 3 // the differences of both numbers follow, as varints
)

// keyAfter is how the key a, b follows from lastA, lastB.
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

// takeKey makes the key a, b the one that follows. It gives what stands after it in data, nil
// if data ends before it does.
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
