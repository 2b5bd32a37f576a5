package vec

import "math"

// finiteBlock is how many values AllFinite looks at before it may stop.
const finiteBlock = 4096

// AllFinite says whether x has no NaN and no infinite value.
func AllFinite(x []float32) bool {
	const exponent, one = 0x7f800000, 1 << 23
	for len(x) > 0 {
		block := x[:min(len(x), finiteBlock)]
		x = x[len(block):]
		// One added to an exponent of all ones, which no finite value has, carries into the
		// sign.
		carried := uint32(0)
		for _, v := range block {
			carried |= math.Float32bits(v)&exponent + one
		}
		if carried>>31 != 0 {
			return false
		}
	}
	return true
}
