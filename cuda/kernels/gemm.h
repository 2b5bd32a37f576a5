// What the products of many rows and of few have in common.
#pragma once

// up_to_four loads the first left elements of four, at least one; the others are 0. fours says whether four
// begin 16-byte aligned.
INLINE float4 up_to_four(const float *x, u32 left, bool fours) {
	if (fours && left >= 4) return *(const float4 *)x;
	return float4{x[0], left > 1 ? x[1] : 0.f, left > 2 ? x[2] : 0.f, left > 3 ? x[3] : 0.f};
}

// finished is an element of a product with the bias of its column, unless that is null, and after a ReLU.
INLINE float finished(float v, const float *bias, u32 at, u32 relu) {
	if (bias) v += bias[at];
	return relu && v <= 0.f ? 0.f : v;
}
