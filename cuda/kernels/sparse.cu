// Rows of tables [any, width]. Each thread_y of a block processes a row, a bag, or a run of occurrences of one row.
// Each thread processes some columns and adds them in the order of the batch, as the CPU does.
#include "device.h"

// columns calls body with the positions of a row, divided among the row's threads. fours is true if rows begin
// 16-byte aligned.
template <class Body> INLINE void columns(u32 width, u32 fours, Body body) {
	if (fours) {
		for (u32 c = 4 * thread_x(); c < width; c += 4 * threads_x()) body(Quad{c});
	} else {
		for (u32 c = thread_x(); c < width; c += threads_x()) body(One{c});
	}
}

#define OVER(r, count) \
	for (u64 r = (u64)block_x() * threads_y() + thread_y(); r < count; r += (u64)blocks_x() * threads_y())

// y = the sums, or means, of bags of rows
KERNEL gather_bags(float *y, const float *table, const i64 *indices, const i64 *offsets, u32 bags, u32 width, u32 fours, u32 mean) {
	OVER(bag, bags) {
		i64 from = offsets[bag], to = offsets[bag + 1];
		columns(width, fours, [=](auto at) {
			auto v = all(0.f, at);
			for (i64 i = from; i < to; i++) v += load(table + indices[i] * width, at);
			if (mean && to > from) v *= 1.f / (float)(to - from);
			store(y + bag * width, at, v);
		});
	}
}

// run_row returns a run's row of dst: rows[run], or run if rows is null.
INLINE float *run_row(float *dst, const int *rows, u64 run, u32 width) { return dst + (rows ? (u64)rows[run] : run) * width; }

// dst = the sums of share times the rows of dy with the numbers in bags; share is 1, or 1 / length of the bag
KERNEL scatter_bags(float *dst, const float *dy, const int *rows, const int *starts, const int *bags, u32 runs, u32 width, u32 fours,
                    const i64 *offsets, u32 mean) {
	OVER(run, runs) {
		int from = starts[run], to = starts[run + 1];
		columns(width, fours, [=](auto at) {
			auto v = all(0.f, at);
			for (int i = from; i < to; i++) {
				i64 bag = bags[i];
				float share = mean ? 1.f / (float)(offsets[bag + 1] - offsets[bag]) : 1.f;
				v = fma(all(share, at), load(dy + bag * width, at), v);
			}
			store(run_row(dst, rows, run, width), at, v);
		});
	}
}

// dst = the sums of the rows of src with the numbers in order
KERNEL coalesce_rows(float *dst, const float *src, const int *rows, const int *starts, const int *order, u32 runs, u32 width, u32 fours) {
	OVER(run, runs) {
		int from = starts[run], to = starts[run + 1];
		columns(width, fours, [=](auto at) {
			auto v = load(src + (i64)order[from] * width, at);
			for (int i = from + 1; i < to; i++) v += load(src + (i64)order[i] * width, at);
			store(run_row(dst, rows, run, width), at, v);
		});
	}
}

// dst += a times each of the rows of src with the numbers in order
KERNEL scatter_runs(float *dst, const float *src, const int *rows, const int *starts, const int *order, u32 runs, u32 width, u32 fours, float a) {
	OVER(run, runs) {
		int from = starts[run], to = starts[run + 1];
		float *row = run_row(dst, rows, run, width);
		columns(width, fours, [=](auto at) {
			auto v = load(row, at);
			for (int i = from; i < to; i++) v = fma(all(a, at), load(src + (i64)order[i] * width, at), v);
			store(row, at, v);
		});
	}
}

// dst = rows of a table
KERNEL gather_rows(float *dst, const float *table, const i64 *rows, u32 count, u32 width, u32 fours) {
	OVER(r, count) {
		const float *row = table + rows[r] * width;
		columns(width, fours, [=](auto at) { store(dst + r * width, at, load(row, at)); });
	}
}

// rows of a table += a src; rows are distinct
KERNEL scatter_rows(const float *src, float *table, const int *rows, u32 count, u32 width, u32 fours, float a) {
	OVER(r, count) {
		float *row = table + (u64)rows[r] * width;
		columns(width, fours, [=](auto at) { store(row, at, fma(all(a, at), load(src + r * width, at), load(row, at))); });
	}
}

// dst = src; the rows of each begin a stride apart
KERNEL copy_columns(float *dst, const float *src, u64 dst_stride, u64 src_stride, u32 rows, u32 width) {
	for (u64 r = block_y() * threads_y() + thread_y(); r < rows; r += __nvvm_read_ptx_sreg_nctaid_y() * threads_y()) {
		for (u64 c = grid_thread(); c < width; c += grid_threads()) dst[r * dst_stride + c] = src[r * src_stride + c];
	}
}

// vector returns the i-th vector of a sample: first the dense one, then the rows of the tables.
INLINE const float *vector(const float *dense, const float *rows, u32 i, u32 dim) { return i == 0 ? dense : rows + (u64)(i - 1) * dim; }

// y = the dense vector, then the products of vectors (i, j), i > j, of a sample
KERNEL interaction(float *y, const float *dense, const float *rows, u32 tables, u32 dim, u64 stride) {
	u32 pairs = tables * (tables + 1) / 2;
	y += (u64)block_x() * (dim + pairs), dense += (u64)block_x() * dim, rows += block_x() * stride;
	for (u32 c = thread_x(); c < dim; c += threads_x()) y[c] = dense[c];
	for (u32 pair = thread_x(), i = 1, before = 0; pair < pairs; pair += threads_x()) {
		while (pair >= before + i) before += i++; // the pairs of i come after those of smaller i
		const float *u = vector(dense, rows, i, dim), *v = vector(dense, rows, pair - before, dim);
		float dot = 0;
		for (u32 d = 0; d < dim; d++) dot = fma(u[d], v[d], dot);
		y[dim + pair] = dot;
	}
}

// The gradient of vector i is the sum over j of the gradient of the product (i, j) times vector j.
KERNEL interaction_gradient(float *dense_gradient, float *rows_gradient, const float *dy, const float *dense, const float *rows,
                            u32 tables, u32 dim, u64 stride) {
	dy += (u64)block_x() * (dim + tables * (tables + 1) / 2), dense += (u64)block_x() * dim, rows += block_x() * stride;
	dense_gradient += (u64)block_x() * dim, rows_gradient += block_x() * stride;
	const float *products = dy + dim;
	for (u32 e = thread_x(); e < (tables + 1) * dim; e += threads_x()) {
		u32 i = e / dim, d = e % dim;
		float sum = 0;
		for (u32 j = 0; j <= tables; j++) {
			if (j == i) continue;
			u32 high = i > j ? i : j, low = i > j ? j : i;
			sum = fma(products[high * (high - 1) / 2 + low], vector(dense, rows, j, dim)[d], sum);
		}
		if (i == 0) dense_gradient[d] = sum + dy[d];
		else rows_gradient[(u64)(i - 1) * dim + d] = sum;
	}
}
