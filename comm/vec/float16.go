package vec

import "math"

// The kernels of float16 elements, which are IEEE 754 binary16. They compute in float32 and round once, to the
// nearest even; denormal values stay. All levels give the same bits, but for the payload of values that are
// not numbers. A processor without F16C runs them at the level Portable.

// WidenFloat16 does dst[i] = src[i], which is exact.
func WidenFloat16(dst []float32, src []uint16) {
	n := steps(len(src))
	widenFloat16(dst[:n], src[:n])
	widenFloat16Portable(dst[n:len(src)], src[n:])
}

// AddWidenedFloat16 does sum[i] += src[i] in float32.
func AddWidenedFloat16(sum []float32, src []uint16) {
	n := steps(len(src))
	addWidenedFloat16(sum[:n], src[:n])
	addWidenedFloat16Portable(sum[n:len(src)], src[n:])
}

// NarrowFloat16 does dst[i] = src[i]*a, rounded to float16.
func NarrowFloat16(dst []uint16, a float32, src []float32) {
	n := steps(len(dst))
	narrowFloat16(dst[:n], a, src[:n])
	narrowFloat16Portable(dst[n:], a, src[n:len(dst)])
}

// AddFloat16 does dst[i] += src[i].
func AddFloat16(dst, src []uint16) {
	n := steps(len(dst))
	addFloat16(dst[:n], src[:n])
	addFloat16Portable(dst[n:], src[n:len(dst)])
}

// AddBothFloat16 does x[i] = y[i] = (x[i]+y[i])*a. It rounds to float16 once.
func AddBothFloat16(a float32, x, y []uint16) {
	n := steps(len(x))
	addBothFloat16(a, x[:n], y[:n])
	addBothFloat16Portable(a, x[n:], y[n:len(x)])
}

// ScaleFloat16 does x[i] *= a.
func ScaleFloat16(a float32, x []uint16) {
	n := steps(len(x))
	scaleFloat16(a, x[:n])
	scaleFloat16Portable(a, x[n:])
}

// FromFloat16 returns the value of a float16. A NaN becomes quiet.
func FromFloat16(h uint16) float32 {
	sign, magnitude := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case magnitude > 0x7c00: // NaN
		return math.Float32frombits(sign | 0x7fc00000 | magnitude<<13)
	case magnitude == 0x7c00: // infinite
		return math.Float32frombits(sign | 0x7f800000)
	case magnitude >= 0x0400: // normal: the biases of the exponents differ by 112
		return math.Float32frombits(sign | (magnitude+112<<10)<<13)
	}
	// Denormal values are multiples of 2^-24, which float32 holds exactly.
	return math.Float32frombits(sign | math.Float32bits(float32(magnitude)*0x1p-24))
}

// ToFloat16 rounds to the nearest float16, ties to even; above 65519.99 that is an infinity. A NaN stays one and
// becomes quiet.
func ToFloat16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, magnitude := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case magnitude > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(magnitude>>13&0x3ff)
	case magnitude >= 0x477ff000: // 65520, halfway from the largest float16 to the next power of two
		return sign | 0x7c00
	case magnitude >= 0x38800000: // at least 2^-14, the least normal one; a carry raises the exponent
		return sign | uint16((magnitude-112<<23+0xfff+magnitude>>13&1)>>13)
	}
	// The float32 sum with 0.5 has steps of 2^-24, so it rounds as a denormal float16 does.
	const half = 0x3f000000
	return sign | uint16(math.Float32bits(math.Float32frombits(magnitude)+0.5)-half) // #nosec G115 -- 10 bits
}

func widenFloat16Portable(dst []float32, src []uint16) {
	for i, h := range src {
		dst[i] = FromFloat16(h)
	}
}

func addWidenedFloat16Portable(sum []float32, src []uint16) {
	for i, h := range src {
		sum[i] += FromFloat16(h)
	}
}

func narrowFloat16Portable(dst []uint16, a float32, src []float32) {
	for i, x := range src {
		dst[i] = ToFloat16(x * a)
	}
}

func addFloat16Portable(dst, src []uint16) {
	for i, h := range src {
		dst[i] = ToFloat16(FromFloat16(dst[i]) + FromFloat16(h))
	}
}

func addBothFloat16Portable(a float32, x, y []uint16) {
	for i, h := range y {
		sum := ToFloat16(float32(FromFloat16(x[i])+FromFloat16(h)) * a)
		x[i], y[i] = sum, sum
	}
}

func scaleFloat16Portable(a float32, x []uint16) {
	for i, h := range x {
		x[i] = ToFloat16(FromFloat16(h) * a)
	}
}
