// Casts between float32 and 16-bit floats, which are stored as their bits.
#include "device.h"

INLINE u16 load16(const u16 *x, One at) { return x[at.i]; }
INLINE half4 load16(const u16 *x, Quad at) { return *(const half4 *)(x + at.i); }
INLINE void store16(u16 *x, One at, u16 v) { x[at.i] = v; }
INLINE void store16(u16 *x, Quad at, half4 v) { *(half4 *)(x + at.i) = v; }

// CAST turns a conversion of single elements into one of four elements as well.
#define CAST(name, to4, from4) \
	INLINE to4 name(from4 v) { return to4{name(v.x), name(v.y), name(v.z), name(v.w)}; }

INLINE u16 float16(float v) {
	u16 bits;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
	return bits;
}
INLINE float from16(u16 bits) {
	float v;
	asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
	return v;
}
INLINE u16 bfloat16(float v) {
	u32 bits = as_bits(v);
	if (v != v) return (u16)(bits >> 16 | 0x40); // a quiet NaN; the bits cut off may be its only mantissa bits
	return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
INLINE float from_b16(u16 bits) { return as_float((u32)bits << 16); }
CAST(float16, half4, float4)
CAST(from16, float4, half4)
CAST(bfloat16, half4, float4)
CAST(from_b16, float4, half4)

KERNEL to_float16(const float *wide, u16 *narrow, u64 n, u64 head, u64 quads) {
	each(n, head, quads, [=](auto at) { store16(narrow, at, float16(load(wide, at))); });
}
KERNEL from_float16(float *wide, const u16 *narrow, u64 n, u64 head, u64 quads) {
	each(n, head, quads, [=](auto at) { store(wide, at, from16(load16(narrow, at))); });
}
KERNEL to_bfloat16(const float *wide, u16 *narrow, u64 n, u64 head, u64 quads) {
	each(n, head, quads, [=](auto at) { store16(narrow, at, bfloat16(load(wide, at))); });
}
KERNEL from_bfloat16(float *wide, const u16 *narrow, u64 n, u64 head, u64 quads) {
	each(n, head, quads, [=](auto at) { store(wide, at, from_b16(load16(narrow, at))); });
}
