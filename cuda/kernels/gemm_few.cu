// C[m,n] = op(A) op(B) for few rows. Reading B takes most of the time, so B is read once for every 16 rows. Element
// (i, p) of op(A) is a[i ai + p ap], and element (i, j) of C is c[i ci + j cj]. A product of few columns is then a
// transposed product of few rows. In that case, the bias belongs to i, otherwise to j.
#include "device.h"
#include "gemm.h"

#define ROWS 16

// spread adds up 4 MASK sums over the lanes of a warp. Each step halves the number of sums per lane and doubles the
// number of lanes that each sum includes. In the end, lane l has sums 2l and 2l+1.
template <u32 MASK> INLINE void spread(float (&sums)[4 * ROWS], u32 lane) {
#pragma unroll
	for (u32 v = 0; v < 2 * MASK; v++) {
		float low = sums[v], high = sums[v + 2 * MASK];
		sums[v] = (lane & MASK ? high : low) + shuffle(lane & MASK ? low : high, MASK);
	}
	if constexpr (MASK > 1) spread<MASK / 2>(sums, lane);
}

// B is [n, k], because op(B) is its transpose. A block computes 4 columns of C. Each of its 4 warps processes a
// quarter of k in steps of 128, and each lane 4 neighbours. Lanes are added in a tree, warps in order.
KERNEL gemm_few_t(float *c, const float *a, const float *b, u32 m, u32 n, u32 k, u64 ci, u64 cj, u64 ai, u64 ap, u32 ldb,
                  const float *bias, u32 bias_of_i, u32 relu, u32 fours) {
	__shared__ float room[4][4 * ROWS];
	u32 column = 4 * block_x(), first = ROWS * block_y(), lane = thread_x() % 32, warp = thread_x() / 32;
	u32 rows = m - first < ROWS ? m - first : ROWS;
	bool fours_a = fours & 1, fours_b = fours & 2;
	a += first * ai;

	float sums[4 * ROWS] = {}; // [i][j]
	for (u32 p = 4 * thread_x(); p < k; p += 4 * 128) {
		float4 of_b[4];
#pragma unroll
		for (u32 j = 0; j < 4; j++) of_b[j] = column + j < n ? up_to_four(b + (u64)(column + j) * ldb + p, k - p, fours_b) : float4{0, 0, 0, 0};
#pragma unroll
		for (u32 i = 0; i < ROWS; i++) {
			if (i >= rows) continue;
			const float *x = a + i * ai + p * ap;
			float4 of_a = fours_a && k - p >= 4 ? *(const float4 *)x
			                                    : float4{x[0], k - p > 1 ? x[ap] : 0.f, k - p > 2 ? x[2 * ap] : 0.f, k - p > 3 ? x[3 * ap] : 0.f};
#pragma unroll
			for (u32 j = 0; j < 4; j++) {
				float &sum = sums[4 * i + j];
				sum = fma(of_a.x, of_b[j].x, sum);
				sum = fma(of_a.y, of_b[j].y, sum);
				sum = fma(of_a.z, of_b[j].z, sum);
				sum = fma(of_a.w, of_b[j].w, sum);
			}
		}
	}
	spread<16>(sums, lane);
	room[warp][2 * lane] = sums[0];
	room[warp][2 * lane + 1] = sums[1];
	barrier();
	u32 i = thread_x() / 4, j = column + thread_x() % 4;
	if (i >= rows || j >= n) return;
	float v = room[0][thread_x()];
	for (u32 w = 1; w < 4; w++) v += room[w][thread_x()];
	c[(first + i) * ci + j * cj] = finished(v, bias, bias_of_i ? first + i : j, relu);
}

#define COLUMNS 8
#define SLICES 32
#define CHUNK 128
#define STRIDE (ROWS + 4) // row length of op(A)' in shared memory; avoids bank conflicts

// B is [k, n]. A block computes 8 columns of C. Each of its threads has one column and a slice of k: every 32nd
// element. op(A) goes through shared memory, transposed. Slices are added in order.
KERNEL gemm_few_n(float *c, const float *a, const float *b, u32 m, u32 n, u32 k, u64 ci, u64 cj, u64 ai, u64 ap, u32 ldb,
                  const float *bias, u32 bias_of_i, u32 relu, u32) {
	__shared__ __attribute__((aligned(16))) float room[SLICES * COLUMNS * ROWS];
	u32 first = ROWS * block_y(), slice = thread_x() / COLUMNS, j = COLUMNS * block_x() + thread_x() % COLUMNS;
	u32 rows = m - first < ROWS ? m - first : ROWS;
	a += first * ai;

	float sums[ROWS] = {};
	for (u32 from = 0; from < k; from += CHUNK) {
		barrier(); // all threads have read the previous chunk
		for (u32 e = thread_x(); e < ROWS * CHUNK; e += SLICES * COLUMNS) {
			u32 i = ap == 1 ? e / CHUNK : e % ROWS, p = ap == 1 ? e % CHUNK : e / ROWS;
			room[p * STRIDE + i] = i < rows && from + p < k ? a[i * ai + (from + p) * ap] : 0.f;
		}
		barrier();
		for (u32 p = slice; j < n && p < CHUNK && from + p < k; p += SLICES) {
			float of_b = b[(u64)(from + p) * ldb + j];
			const float4 *of_a = (const float4 *)(room + p * STRIDE);
#pragma unroll
			for (u32 i = 0; i < ROWS / 4; i++) {
				sums[4 * i] = fma(of_a[i].x, of_b, sums[4 * i]);
				sums[4 * i + 1] = fma(of_a[i].y, of_b, sums[4 * i + 1]);
				sums[4 * i + 2] = fma(of_a[i].z, of_b, sums[4 * i + 2]);
				sums[4 * i + 3] = fma(of_a[i].w, of_b, sums[4 * i + 3]);
			}
		}
	}
	barrier();
#pragma unroll
	for (u32 i = 0; i < ROWS; i++) room[(i * SLICES + slice) * COLUMNS + thread_x() % COLUMNS] = sums[i];
	barrier();
	u32 i = thread_x() / COLUMNS;
	if (i >= rows || j >= n) return;
	float v = 0;
	for (u32 s = 0; s < SLICES; s++) v += room[(i * SLICES + s) * COLUMNS + thread_x() % COLUMNS];
	c[(first + i) * ci + j * cj] = finished(v, bias, bias_of_i ? first + i : j, relu);
}
