// Common code of the products of many rows and of few rows.
#pragma once

// up_to_four loads the first left elements of four, at least one; the others are 0. fours is true if groups of four
// begin 16-byte aligned.
INLINE float4 up_to_four(const float *x, u32 left, bool fours) {
	if (fours && left >= 4) return *(const float4 *)x;
	return float4{x[0], left > 1 ? x[1] : 0.f, left > 2 ? x[2] : 0.f, left > 3 ? x[3] : 0.f};
}

// finished returns an element of a product after adding its column's bias, unless bias is null, and an optional
// ReLU.
INLINE float finished(float v, const float *bias, u32 at, u32 relu) {
	if (bias) v += bias[at];
	return relu && v <= 0.f ? 0.f : v;
}
