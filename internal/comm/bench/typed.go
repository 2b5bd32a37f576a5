package bench

import (
	"fmt"
	"math/bits"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
)

// Narrow makes values so small that the sum over so many ranks is exact in elements of type t.
func (v *Values) Narrow(t tensor.Type, ranks int) {
	// Values lie from -2^(10-shift) to 2^(10-shift)-1.
	v.shift = min(10, max(0, bits.Len(uint(ranks-1))+10-exactBits(t))) // #nosec G115 -- a count
}

// exactBits is the n up to which t has all whole numbers from -2^n to 2^n.
func exactBits(t tensor.Type) int {
	switch t {
	case tensor.Float16:
		return 11
	case tensor.BFloat16:
		return 8
	case tensor.Int8, tensor.Uint8:
		return 7 // they are not summed
	case tensor.Int32:
		return 31
	}
	return 24
}

func (v *Values) small(key, place uint64) int32 { return valueOf(key, place) >> v.shift }

// fillTyped is fillValues for elements of the bucket's type.
func (v *Values) fillTyped(b *tensor.Bucket, key uint64) {
	place := uint64(0)
	for i := range b.Elements {
		setElement(b, i, encode(b.Type, float32(v.small(key, place)), v.small(key, place)))
		place += stride
	}
}

// findTyped is find for a part of a bucket of another type than float32.
func (v *Values) findTyped(b *tensor.Bucket, p Part) (where, how string) {
	for i := p.From; i < p.To; i++ {
		sum, place := int32(0), uint64(p.Source+i-p.From)*stride // #nosec G115 -- an index
		for _, key := range v.keys {
			sum += v.small(key, place)
		}
		value := float32(sum)
		if v.mean {
			value *= 1 / float32(len(v.keys))
		}
		if got, want := elementOf(b, i), encode(b.Type, value, sum); got != want {
			return fmt.Sprintf("element %d", i), fmt.Sprintf("has the bits %#x instead of %#x, of %v", got, want, value)
		}
	}
	return "", ""
}

// encode returns the bits of a value as an element of type t; whole is the value of an integer.
func encode(t tensor.Type, value float32, whole int32) uint64 {
	switch t {
	case tensor.Float16:
		return uint64(vec.ToFloat16(value))
	case tensor.BFloat16:
		return uint64(vec.ToBFloat16(value))
	}
	return uint64(whole) & (1<<(8*t.Bytes()) - 1) // #nosec G115 -- bits
}

// elementOf returns the bits of element i.
func elementOf(b *tensor.Bucket, i int) (element uint64) {
	bytes := b.Type.Bytes()
	for k, x := range tensor.As[uint8](b.Gradient.Values)[i*bytes : (i+1)*bytes] {
		element |= uint64(x) << (8 * k)
	}
	return element
}

func setElement(b *tensor.Bucket, i int, element uint64) {
	bytes := b.Type.Bytes()
	for k := range bytes {
		tensor.As[uint8](b.Gradient.Values)[i*bytes+k] = uint8(element >> (8 * k)) // #nosec G115 -- a byte
	}
}
