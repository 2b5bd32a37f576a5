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

// fillTyped is fillValues for elements of the bucket's type.
func (v *Values) fillTyped(b *tensor.Bucket, key uint64) {
	words, n := b.Gradient.Values, b.Elements
	switch b.Type {
	case tensor.Float16:
		fill(v, tensor.As[uint16](words)[:n], key, func(x int32) uint16 { return vec.ToFloat16(float32(x)) })
	case tensor.BFloat16:
		fill(v, tensor.As[uint16](words)[:n], key, func(x int32) uint16 { return vec.ToBFloat16(float32(x)) })
	case tensor.Int32:
		fill(v, tensor.As[int32](words)[:n], key, wrap[int32])
	case tensor.Int64:
		fill(v, tensor.As[int64](words)[:n], key, wrap[int64])
	case tensor.Int8:
		fill(v, tensor.As[int8](words)[:n], key, wrap[int8])
	default:
		fill(v, tensor.As[uint8](words)[:n], key, wrap[uint8])
	}
}

// wrap cuts x to the bits of T, as sums of integers do.
func wrap[T int32 | int64 | int8 | uint8](x int32) T { return T(x) }

func fill[T any](v *Values, elements []T, key uint64, of func(int32) T) {
	place := uint64(0)
	for i := range elements {
		elements[i] = of(valueOf(key, place) >> v.shift)
		place += stride
	}
}

// findTyped is find for a part of a bucket of another type than float32.
func (v *Values) findTyped(b *tensor.Bucket, p Part) (where, how string) {
	words, n, scale := b.Gradient.Values, b.Elements, float32(1)
	if v.mean {
		scale = 1 / float32(len(v.keys))
	}
	switch b.Type {
	case tensor.Float16:
		return find(v, tensor.As[uint16](words)[:n], p, func(x int32) uint16 {
			return vec.ToFloat16(float32(x) * scale)
		}, vec.FromFloat16)
	case tensor.BFloat16:
		return find(v, tensor.As[uint16](words)[:n], p, func(x int32) uint16 {
			return vec.ToBFloat16(float32(x) * scale)
		}, vec.FromBFloat16)
	case tensor.Int32:
		return find(v, tensor.As[int32](words)[:n], p, wrap[int32], itself)
	case tensor.Int64:
		return find(v, tensor.As[int64](words)[:n], p, wrap[int64], itself)
	case tensor.Int8:
		return find(v, tensor.As[int8](words)[:n], p, wrap[int8], itself)
	default:
		return find(v, tensor.As[uint8](words)[:n], p, wrap[uint8], itself)
	}
}

func itself[T any](x T) T { return x }

// find compares elements with the sums over the values of v's keys. The function of encodes a sum as an element. In
// errors, value decodes elements.
func find[T int8 | uint8 | uint16 | int32 | int64, N any](v *Values, elements []T, p Part, of func(int32) T,
	value func(T) N) (where, how string) {
	place := uint64(p.Source) * stride // #nosec G115 -- an index
	for i := p.From; i < p.To; i++ {
		sum := int32(0)
		for _, key := range v.keys {
			sum += valueOf(key, place) >> v.shift
		}
		if got, want := elements[i], of(sum); got != want {
			return fmt.Sprintf("element %d", i),
				fmt.Sprintf("is %v instead of %v (bits %#x and %#x)", value(got), value(want), got, want)
		}
		place += stride
	}
	return "", ""
}
