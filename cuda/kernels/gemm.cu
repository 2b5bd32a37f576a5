// C[m,n] = op(A) op(B) for row-major matrices with many rows. A block computes a tile of 64 by 64 of C; each of its
// 128 threads computes 8 by 4 elements. Tiles of A and B, 16 deep, go through shared memory, and the next tiles are
// loaded meanwhile. One thread adds up each element of C in the order of k, so its error is at most k roundings of
// float32. If there are few tiles, k is cut into parts, which gemm_parts adds in order.
#include "device.h"
#include "gemm.h"

#define TILE 64
#define DEPTH 16
#define THREADS 128
#define STRIDE (TILE + 4) // row length of a tile in shared memory; avoids bank conflicts

// A piece that this thread loads: 4 elements that are neighbours in memory, at element outer of a tile and depth p.
struct Piece { u32 outer, p; };

// ALONG is true if neighbours in memory have neighbouring k.
template <bool ALONG> INLINE Piece piece(u32 h) {
	u32 e = thread_x() + THREADS * h;
	return ALONG ? Piece{e / 4, e % 4 * 4} : Piece{e % 16 * 4, e / 16};
}

// fetch loads this thread's pieces of a tile of op(X) that begins at depth p and at row (for B: column) outer.
// Elements beyond the ends are 0.
template <bool ALONG> INLINE void fetch(float4 (&piece_of)[2], const float *x, u32 ld, u32 outer, u32 outer_end, u32 p, u32 p_end, bool fours) {
#pragma unroll
	for (u32 h = 0; h < 2; h++) {
		Piece at = piece<ALONG>(h);
		u32 o = outer + at.outer, q = p + at.p;
		bool inside = o < outer_end && q < p_end;
		u64 from = ALONG ? (u64)o * ld + q : (u64)q * ld + o;
		u32 left = ALONG ? p_end - q : outer_end - o;
		piece_of[h] = inside ? up_to_four(x + from, left, fours) : float4{0, 0, 0, 0};
	}
}

// stage writes the pieces to shared memory, [DEPTH][STRIDE].
template <bool ALONG> INLINE void stage(float *tile, float4 (&piece_of)[2]) {
#pragma unroll
	for (u32 h = 0; h < 2; h++) {
		Piece at = piece<ALONG>(h);
		float4 v = piece_of[h];
		if (ALONG) {
			float *to = tile + at.p * STRIDE + at.outer;
			to[0] = v.x, to[STRIDE] = v.y, to[2 * STRIDE] = v.z, to[3 * STRIDE] = v.w;
		} else {
			*(float4 *)(tile + at.p * STRIDE + at.outer) = v;
		}
	}
}

INLINE void load4(float *to, const float *from) {
	float4 v = *(const float4 *)from;
	to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

template <bool ALONG_A, bool ALONG_B>
INLINE void product(float *c, const float *a, const float *b, u32 m, u32 n, u32 k, u32 ldc, u32 lda, u32 ldb,
                    u32 depth, u64 part, const float *bias, u32 relu, u32 fours) {
	__shared__ __attribute__((aligned(16))) float tiles[2][2][DEPTH * STRIDE]; // two tiles each of A and B
	u32 across = (n + TILE - 1) / TILE;
	u32 row = block_x() / across * TILE, column = block_x() % across * TILE;
	u32 p = block_z() * depth, end = p + depth < k ? p + depth : k;
	bool fours_a = fours & 1, fours_b = fours & 2, fours_c = fours & 4;
	u32 ty = thread_x() / 16 * 4, tx = thread_x() % 16 * 4;

	float sums[8][4] = {}; // rows ty to ty+3 and 32 below them
	float4 piece_a[2], piece_b[2];
	fetch<ALONG_A>(piece_a, a, lda, row, m, p, end, fours_a);
	fetch<ALONG_B>(piece_b, b, ldb, column, n, p, end, fours_b);
	stage<ALONG_A>(tiles[0][0], piece_a);
	stage<ALONG_B>(tiles[0][1], piece_b);
	barrier();
	for (u32 now = 0; p < end; now ^= 1, p += DEPTH) {
		bool more = p + DEPTH < end;
		if (more) {
			fetch<ALONG_A>(piece_a, a, lda, row, m, p + DEPTH, end, fours_a);
			fetch<ALONG_B>(piece_b, b, ldb, column, n, p + DEPTH, end, fours_b);
		}
#pragma unroll
		for (u32 d = 0; d < DEPTH; d++) {
			float of_a[8], of_b[4];
			load4(of_a, tiles[now][0] + d * STRIDE + ty);
			load4(of_a + 4, tiles[now][0] + d * STRIDE + ty + 32);
			load4(of_b, tiles[now][1] + d * STRIDE + tx);
#pragma unroll
			for (u32 i = 0; i < 8; i++) {
#pragma unroll
				for (u32 j = 0; j < 4; j++) sums[i][j] = fma(of_a[i], of_b[j], sums[i][j]);
			}
		}
		if (more) { // all threads have read the other tiles before the last barrier
			stage<ALONG_A>(tiles[now ^ 1][0], piece_a);
			stage<ALONG_B>(tiles[now ^ 1][1], piece_b);
			barrier();
		}
	}

	c += block_z() * part;
	u32 at = column + tx;
#pragma unroll
	for (u32 i = 0; i < 8; i++) {
		u32 to = row + ty + i % 4 + i / 4 * 32;
		if (to >= m) continue;
		float *out = c + (u64)to * ldc + at;
		float v[4];
#pragma unroll
		for (u32 j = 0; j < 4; j++) v[j] = at + j < n ? finished(sums[i][j], bias, at + j, relu) : 0.f;
		if (fours_c && at + 4 <= n) {
			*(float4 *)out = float4{v[0], v[1], v[2], v[3]};
			continue;
		}
#pragma unroll
		for (u32 j = 0; j < 4; j++) {
			if (at + j < n) out[j] = v[j];
		}
	}
}

// The letters t and n say whether A and B are transposed. depth is the length of a part of k, a multiple of 4. part
// is the distance in c between the results of two parts. bias may be null.
#define GEMM(name, along_a, along_b)                                                                                          \
	KERNEL name(float *c, const float *a, const float *b, u32 m, u32 n, u32 k, u32 ldc, u32 lda, u32 ldb,                     \
	            u32 depth, u64 part, const float *bias, u32 relu, u32 fours) {                                                \
		product<along_a, along_b>(c, a, b, m, n, k, ldc, lda, ldb, depth, part, bias, relu, fours);                           \
	}
GEMM(gemm_nn, true, false)
GEMM(gemm_nt, true, true)
GEMM(gemm_tn, false, false)
GEMM(gemm_tt, false, true)

// c[m,n] = the sum of count parts [m,n] in order, + bias, and an optional ReLU.
KERNEL gemm_parts(float *c, const float *parts, u32 count, u32 m, u32 n, u32 ldc, const float *bias, u32 relu) {
	u64 elements = (u64)m * n;
	for (u64 e = grid_thread(); e < elements; e += grid_threads()) {
		float v = parts[e];
		for (u32 part = 1; part < count; part++) v += parts[part * elements + e];
		c[e / n * ldc + e % n] = finished(v, bias, e % n, relu);
	}
}
