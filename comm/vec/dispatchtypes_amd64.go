package vec

import (
	"golang.org/x/sys/cpu"

	"github.com/psbench/psbench/internal/simd"
)

// float16Level is the level for kernels that convert float16 values. AVX2 does not include F16C.
func float16Level() simd.Level {
	if !cpu.X86.HasF16C {
		return simd.Portable
	}
	return level
}

func widenBFloat16(dst []float32, src []uint16) {
	switch level {
	case simd.AVX512:
		widenBFloat16AVX512(dst, src)
	case simd.AVX2:
		widenBFloat16AVX2(dst, src)
	default:
		widenBFloat16Portable(dst, src)
	}
}

func addWidenedBFloat16(sum []float32, src []uint16) {
	switch level {
	case simd.AVX512:
		addWidenedBFloat16AVX512(sum, src)
	case simd.AVX2:
		addWidenedBFloat16AVX2(sum, src)
	default:
		addWidenedBFloat16Portable(sum, src)
	}
}

func narrowBFloat16(dst []uint16, a float32, src []float32) {
	switch level {
	case simd.AVX512:
		narrowBFloat16AVX512(dst, a, src)
	case simd.AVX2:
		narrowBFloat16AVX2(dst, a, src)
	default:
		narrowBFloat16Portable(dst, a, src)
	}
}

func addBFloat16(dst, src []uint16) {
	switch level {
	case simd.AVX512:
		addBFloat16AVX512(dst, src)
	case simd.AVX2:
		addBFloat16AVX2(dst, src)
	default:
		addBFloat16Portable(dst, src)
	}
}

func addBothBFloat16(a float32, x, y []uint16) {
	switch level {
	case simd.AVX512:
		addBothBFloat16AVX512(a, x, y)
	case simd.AVX2:
		addBothBFloat16AVX2(a, x, y)
	default:
		addBothBFloat16Portable(a, x, y)
	}
}

func scaleBFloat16(a float32, x []uint16) {
	switch level {
	case simd.AVX512:
		scaleBFloat16AVX512(a, x)
	case simd.AVX2:
		scaleBFloat16AVX2(a, x)
	default:
		scaleBFloat16Portable(a, x)
	}
}

func widenFloat16(dst []float32, src []uint16) {
	switch float16Level() {
	case simd.AVX512:
		widenFloat16AVX512(dst, src)
	case simd.AVX2:
		widenFloat16AVX2(dst, src)
	default:
		widenFloat16Portable(dst, src)
	}
}

func addWidenedFloat16(sum []float32, src []uint16) {
	switch float16Level() {
	case simd.AVX512:
		addWidenedFloat16AVX512(sum, src)
	case simd.AVX2:
		addWidenedFloat16AVX2(sum, src)
	default:
		addWidenedFloat16Portable(sum, src)
	}
}

func narrowFloat16(dst []uint16, a float32, src []float32) {
	switch float16Level() {
	case simd.AVX512:
		narrowFloat16AVX512(dst, a, src)
	case simd.AVX2:
		narrowFloat16AVX2(dst, a, src)
	default:
		narrowFloat16Portable(dst, a, src)
	}
}

func addFloat16(dst, src []uint16) {
	switch float16Level() {
	case simd.AVX512:
		addFloat16AVX512(dst, src)
	case simd.AVX2:
		addFloat16AVX2(dst, src)
	default:
		addFloat16Portable(dst, src)
	}
}

func addBothFloat16(a float32, x, y []uint16) {
	switch float16Level() {
	case simd.AVX512:
		addBothFloat16AVX512(a, x, y)
	case simd.AVX2:
		addBothFloat16AVX2(a, x, y)
	default:
		addBothFloat16Portable(a, x, y)
	}
}

func scaleFloat16(a float32, x []uint16) {
	switch float16Level() {
	case simd.AVX512:
		scaleFloat16AVX512(a, x)
	case simd.AVX2:
		scaleFloat16AVX2(a, x)
	default:
		scaleFloat16Portable(a, x)
	}
}

func addInt32(dst, src []int32) {
	switch level {
	case simd.AVX512:
		addInt32AVX512(dst, src)
	case simd.AVX2:
		addInt32AVX2(dst, src)
	default:
		addIntegersPortable(dst, src)
	}
}

func addInt64(dst, src []int64) {
	switch level {
	case simd.AVX512:
		addInt64AVX512(dst, src)
	case simd.AVX2:
		addInt64AVX2(dst, src)
	default:
		addIntegersPortable(dst, src)
	}
}
