// Basics that clang lacks without a CUDA toolkit: attributes, positions in the grid, sweeps over elements, sums
// over warps and blocks, exponential and logarithm. The compiler contracts and reorders nothing (-ffp-contract=off,
// no fast math). An fma is used only where the source has one, so formulas round like the vector instructions of
// comm/vec. Denormals are kept.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define KERNEL extern "C" __global__ void
#define INLINE static __device__ inline __attribute__((always_inline))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef float float4 __attribute__((ext_vector_type(4)));
typedef u16 half4 __attribute__((ext_vector_type(4))); // bits of four 16-bit floats

INLINE u32 thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
INLINE u32 thread_y() { return __nvvm_read_ptx_sreg_tid_y(); }
INLINE u32 threads_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
INLINE u32 threads_y() { return __nvvm_read_ptx_sreg_ntid_y(); }
INLINE u32 block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
INLINE u32 block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
INLINE u32 block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
INLINE u32 blocks_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
INLINE u32 blocks_z() { return __nvvm_read_ptx_sreg_nctaid_z(); }
INLINE void barrier() { __syncthreads(); }

// Number of this thread, and number of all threads, in a grid of one dimension.
INLINE u64 grid_thread() { return (u64)block_x() * threads_x() + thread_x(); }
INLINE u64 grid_threads() { return (u64)blocks_x() * threads_x(); }

INLINE float as_float(u32 bits) { return __builtin_bit_cast(float, bits); }
INLINE u32 as_bits(float v) { return __builtin_bit_cast(u32, v); }
INLINE double as_double(u64 bits) { return __builtin_bit_cast(double, bits); }
INLINE u64 as_bits(double v) { return __builtin_bit_cast(u64, v); }

INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
INLINE float4 fma(float4 a, float4 b, float4 c) {
	return float4{fma(a.x, b.x, c.x), fma(a.y, b.y, c.y), fma(a.z, b.z, c.z), fma(a.w, b.w, c.w)};
}
INLINE float root(float x) { return __builtin_sqrtf(x); }
INLINE float4 root(float4 x) { return float4{root(x.x), root(x.y), root(x.z), root(x.w)}; }

// One and Quad are positions in arrays: of one element, and of four elements that begin 16-byte aligned.
struct One { u64 i; };
struct Quad { u64 i; };
INLINE float load(const float *x, One at) { return x[at.i]; }
INLINE float4 load(const float *x, Quad at) { return *(const float4 *)(x + at.i); }
INLINE void store(float *x, One at, float v) { x[at.i] = v; }
INLINE void store(float *x, Quad at, float4 v) { *(float4 *)(x + at.i) = v; }

// all returns v for each element of a position.
INLINE float all(float v, One) { return v; }
INLINE float4 all(float v, Quad) { return float4{v, v, v, v}; }

// each calls body for all n elements, divided among the threads of the grid. From element head on, it processes
// quads fours; the other elements it processes one by one.
template <class Body> INLINE void each(u64 n, u64 head, u64 quads, Body body) {
	for (u64 q = grid_thread(); q < quads; q += grid_threads()) body(Quad{head + 4 * q});
	for (u64 r = grid_thread(); r < n - 4 * quads; r += grid_threads()) body(One{r < head ? r : r + 4 * quads});
}

INLINE float shuffle(float v, u32 mask) { return __nvvm_shfl_sync_bfly_f32(0xffffffff, v, mask, 31); }
INLINE double shuffle(double v, u32 mask) {
	u64 bits = as_bits(v);
	u32 low = __nvvm_shfl_sync_bfly_i32(0xffffffff, (u32)bits, mask, 31);
	u32 high = __nvvm_shfl_sync_bfly_i32(0xffffffff, (u32)(bits >> 32), mask, 31);
	return as_double((u64)high << 32 | low);
}

// warp_total combines the values of a warp's lanes in a tree of fixed shape. Each lane gets the result.
template <class T, class Op> INLINE T warp_total(T v, Op op) {
	for (u32 mask = 16; mask > 0; mask /= 2) v = op(v, shuffle(v, mask));
	return v;
}

#define WARPS 8 // most warps of a block per row

// row_total combines the values of the threads_x() threads of a row: one warp, or all of the block's warps.
// row_total needs room for this; room may be used once between barriers. The order is fixed.
template <class T, class Op> INLINE T row_total(T v, T *room, Op op) {
	v = warp_total(v, op);
	u32 warps = threads_x() / 32;
	if (warps == 1) return v;
	if (thread_x() % 32 == 0) room[thread_x() / 32] = v;
	barrier();
	v = room[0];
	for (u32 w = 1; w < warps; w++) v = op(v, room[w]);
	return v;
}

INLINE float larger(float a, float b) { return b > a ? b : a; }

// power returns 2^n, for n from -126 to 127 (from -1022 to 1023).
INLINE float power(int n, float) { return as_float((u32)(n + 127) << 23); }
INLINE double power(int n, double) { return as_double((u64)(n + 1023) << 52); }

// exponential returns exp x with the bits of comm/vec: the polynomial of expf in Moshier's Cephes library, at most
// 1.02 units in the last place off. NaN stays NaN; beyond the limits, the result is +Inf or 0.
INLINE float exponential(float x) {
	x = x > 89.f ? 89.f : x;
	x = x < -104.f ? -104.f : x;
	float n = __builtin_rintf(1.44269504088896341f * x);
	x = fma(-0.693359375f, n, x); // ln 2 in two parts, so that n times the first part is exact
	x = fma(2.12194440e-4f, n, x);
	float y = 1.9875691500e-4f;
	y = fma(y, x, 1.3981999507e-3f);
	y = fma(y, x, 8.3334519073e-3f);
	y = fma(y, x, 4.1665795894e-2f);
	y = fma(y, x, 1.6666665459e-1f);
	y = fma(y, x, 0.5f);
	y = fma(y, x * x, x) + 1.f;
	int whole = __nvvm_f2i_rn(n), half = whole >> 1;
	return y * power(half, 0.f) * power(whole - half, 0.f); // in two factors, because one would be out of range
}

// exponential returns exp x within about one unit in the last place: 13 terms of its series.
INLINE double exponential(double x) {
	x = x > 710. ? 710. : x;
	x = x < -746. ? -746. : x;
	double n = __builtin_rint(1.4426950408889634 * x);
	x = fma(-6.93147180369123816490e-01, n, x);
	x = fma(-1.90821492927058770002e-10, n, x);
	double y = 1. / 6227020800;
	y = fma(y, x, 1. / 479001600);
	y = fma(y, x, 1. / 39916800);
	y = fma(y, x, 1. / 3628800);
	y = fma(y, x, 1. / 362880);
	y = fma(y, x, 1. / 40320);
	y = fma(y, x, 1. / 5040);
	y = fma(y, x, 1. / 720);
	y = fma(y, x, 1. / 120);
	y = fma(y, x, 1. / 24);
	y = fma(y, x, 1. / 6);
	y = fma(y, x, 0.5);
	y = fma(y, x * x, x) + 1.;
	int whole = __nvvm_d2i_rn(n), half = whole >> 1;
	return y * power(half, 0.) * power(whole - half, 0.);
}

// logarithm returns ln x for x of at least 1, by FreeBSD's msun (e_log.c), with an error below one unit in the last
// place. +Inf and NaN stay.
INLINE double logarithm(double x) {
	if (!(x < __builtin_inf())) return x;
	u64 bits = as_bits(x);
	int k = (int)(bits >> 52) - 1023;
	double f = as_double((bits & 0xfffffffffffff) | 0x3ff0000000000000);
	if (f > 1.4142135623730951) f *= 0.5, k++;
	f -= 1.;
	double s = f / (2. + f), z = s * s, w = z * z;
	double t1 = w * fma(w, fma(w, 1.531383769920937332e-01, 2.222219843214978396e-01), 3.999999999940941908e-01);
	double t2 = z * fma(w, fma(w, fma(w, 1.479819860511658591e-01, 1.818357216161805012e-01), 2.857142874366239149e-01), 6.666666666666735130e-01);
	double square = 0.5 * f * f;
	return k * 6.93147180369123816490e-01 - ((square - (s * (square + t1 + t2) + k * 1.90821492927058770002e-10)) - f);
}

// logarithm1 returns ln(1+x) for x from 0 to 1, also if 1+x rounds to 1.
INLINE double logarithm1(double x) {
	double u = 1. + x;
	return u == 1. ? x : logarithm(u) * (x / (u - 1.));
}
