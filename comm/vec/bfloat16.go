package vec

import "math"

// The kernels of bfloat16 elements, which are the upper 16 bits of float32 values. They compute in
// float32 and round once, to the nearest even; denormal values stay. All levels give the same bits, but for
// the payload of values that are not numbers.

// WidenBFloat16 does dst[i] = src[i], which is exact.
func WidenBFloat16(dst []float32, src []uint16) {
	n := steps(len(src))
	widenBFloat16(dst[:n], src[:n])
	widenBFloat16Portable(dst[n:len(src)], src[n:])
}

// AddWidenedBFloat16 does sum[i] += src[i] in float32.
func AddWidenedBFloat16(sum []float32, src []uint16) {
	n := steps(len(src))
	addWidenedBFloat16(sum[:n], src[:n])
	addWidenedBFloat16Portable(sum[n:len(src)], src[n:])
}

// NarrowBFloat16 does dst[i] = src[i]*a, rounded to bfloat16.
func NarrowBFloat16(dst []uint16, a float32, src []float32) {
	n := steps(len(dst))
	narrowBFloat16(dst[:n], a, src[:n])
	narrowBFloat16Portable(dst[n:], a, src[n:len(dst)])
}

// AddBFloat16 does dst[i] += src[i].
func AddBFloat16(dst, src []uint16) {
	n := steps(len(dst))
	addBFloat16(dst[:n], src[:n])
	addBFloat16Portable(dst[n:], src[n:len(dst)])
}

// AddBothBFloat16 does x[i] = y[i] = (x[i]+y[i])*a. It rounds to bfloat16 once.
func AddBothBFloat16(a float32, x, y []uint16) {
	n := steps(len(x))
	addBothBFloat16(a, x[:n], y[:n])
	addBothBFloat16Portable(a, x[n:], y[n:len(x)])
}

// ScaleBFloat16 does x[i] *= a.
func ScaleBFloat16(a float32, x []uint16) {
	n := steps(len(x))
	scaleBFloat16(a, x[:n])
	scaleBFloat16Portable(a, x[n:])
}

// stepElements is how many elements the kernels of package asm take in each step.
const stepElements = 32

// steps rounds a number of elements down to whole steps.
func steps(elements int) int { return elements &^ (stepElements - 1) }

// FromBFloat16 returns the value of a bfloat16.
func FromBFloat16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBFloat16 rounds to the nearest bfloat16, ties to even. A NaN stays one and becomes quiet.
func ToBFloat16(x float32) uint16 {
	bits := math.Float32bits(x)
	if x != x { //nolint:gocritic // is NaN
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

func widenBFloat16Portable(dst []float32, src []uint16) {
	for i, h := range src {
		dst[i] = FromBFloat16(h)
	}
}

func addWidenedBFloat16Portable(sum []float32, src []uint16) {
	for i, h := range src {
		sum[i] += FromBFloat16(h)
	}
}

func narrowBFloat16Portable(dst []uint16, a float32, src []float32) {
	for i, x := range src {
		dst[i] = ToBFloat16(x * a)
	}
}

func addBFloat16Portable(dst, src []uint16) {
	for i, h := range src {
		dst[i] = ToBFloat16(FromBFloat16(dst[i]) + FromBFloat16(h))
	}
}

func addBothBFloat16Portable(a float32, x, y []uint16) {
	for i, h := range y {
		sum := ToBFloat16(float32(FromBFloat16(x[i])+FromBFloat16(h)) * a)
		x[i], y[i] = sum, sum
	}
}

func scaleBFloat16Portable(a float32, x []uint16) {
	for i, h := range x {
		x[i] = ToBFloat16(FromBFloat16(h) * a)
	}
}
