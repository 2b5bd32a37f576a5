// Elementwise kernels. Arrays with the same alignment relative to 16 bytes are processed four elements at a time.
#include "device.h"

// y = a x + y
KERNEL axpy(float *y, const float *x, u64 n, u64 head, u64 quads, float a) {
	each(n, head, quads, [=](auto at) { store(y, at, fma(all(a, at), load(x, at), load(y, at))); });
}

// x = a x
KERNEL scale(float *x, u64 n, u64 head, u64 quads, float a) {
	each(n, head, quads, [=](auto at) { store(x, at, a * load(x, at)); });
}

// x = a
KERNEL fill(float *x, u64 n, u64 head, u64 quads, float a) {
	each(n, head, quads, [=](auto at) { store(x, at, all(a, at)); });
}

#define SUM_CASE(k, p) if (parts > k) v += load(p, at);

// dst = a (p0 + p1 + ... ), for 1 to 16 arrays, added in their order. dst may be one of them.
KERNEL sum(float *dst, const float *p0, const float *p1, const float *p2, const float *p3, const float *p4, const float *p5,
           const float *p6, const float *p7, const float *p8, const float *p9, const float *p10, const float *p11,
           const float *p12, const float *p13, const float *p14, const float *p15, u64 n, u64 head, u64 quads, u32 parts, float a) {
	each(n, head, quads, [=](auto at) {
		auto v = load(p0, at);
		SUM_CASE(1, p1) SUM_CASE(2, p2) SUM_CASE(3, p3) SUM_CASE(4, p4) SUM_CASE(5, p5)
		SUM_CASE(6, p6) SUM_CASE(7, p7) SUM_CASE(8, p8) SUM_CASE(9, p9) SUM_CASE(10, p10)
		SUM_CASE(11, p11) SUM_CASE(12, p12) SUM_CASE(13, p13) SUM_CASE(14, p14) SUM_CASE(15, p15)
		store(dst, at, v * a);
	});
}

INLINE float rectified(float v) { return v <= 0.f ? 0.f : v; }
INLINE float4 rectified(float4 v) { return float4{rectified(v.x), rectified(v.y), rectified(v.z), rectified(v.w)}; }

// Negative elements and -0 become 0; NaN stays NaN.
KERNEL relu(float *x, u64 n, u64 head, u64 quads) {
	each(n, head, quads, [=](auto at) { store(x, at, rectified(load(x, at))); });
}

INLINE float kept(float g, float y) { return y == 0.f ? 0.f : g; }
INLINE float4 kept(float4 g, float4 y) { return float4{kept(g.x, y.x), kept(g.y, y.y), kept(g.z, y.z), kept(g.w, y.w)}; }

// The gradient becomes 0 where y is 0.
KERNEL relu_gradient(float *gradient, const float *y, u64 n, u64 head, u64 quads) {
	each(n, head, quads, [=](auto at) { store(gradient, at, kept(load(gradient, at), load(y, at))); });
}
