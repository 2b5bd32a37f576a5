// Layers and criteria, row by row of matrices [rows, columns]. One warp, or a whole block, processes a row. A row's
// sums use float64 in a fixed order.
#include "device.h"

#define OVER_ROW(c) for (u32 c = thread_x(); c < columns; c += threads_x())

// this_row returns the row of this thread. If a thread has no row, no thread of its warp has one.
INLINE u32 this_row() { return block_x() * threads_y() + thread_y(); }

// y += bias, by column
KERNEL add_bias(float *y, const float *bias, u32 rows, u32 columns) {
	for (u32 c = grid_thread(); c < columns; c += grid_threads()) {
		float b = bias[c];
		for (u64 r = block_y() * threads_y() + thread_y(); r < rows; r += __nvvm_read_ptx_sreg_nctaid_y() * threads_y()) y[r * columns + c] += b;
	}
}

// dst = the sums of columns. Each thread_y adds a slice of the rows; a block has 32 columns.
KERNEL column_sum(float *dst, const float *dy, u32 rows, u32 columns) {
	__shared__ float room[8][32];
	u32 slice = (rows + threads_y() - 1) / threads_y(), first = thread_y() * slice;
	u32 end = first + slice < rows ? first + slice : rows, c = 32 * block_x() + thread_x();
	float v = 0;
	for (u64 r = first; r < end && c < columns; r++) v += dy[r * columns + c];
	if (threads_y() > 1) {
		room[thread_y()][thread_x()] = v;
		barrier();
	}
	if (thread_y() > 0 || c >= columns) return;
	for (u32 s = 1; s < threads_y(); s++) v += room[s][thread_x()];
	dst[c] = v;
}

// row_top returns the largest element of a row, -Inf if all are NaN.
INLINE float row_top(const float *x, u32 columns, float *room) {
	float top = -__builtin_inff();
	OVER_ROW(c) top = larger(top, x[c]);
	return row_total(top, room, larger);
}

INLINE double plus(double a, double b) { return a + b; }

// row_exponentials returns Σ exp(x - top) of a row.
INLINE double row_exponentials(const float *x, u32 columns, float top, double *room) {
	double sum = 0;
	OVER_ROW(c) sum += exponential(x[c] - top);
	return row_total(sum, room, plus);
}

// x = softmax(x)
KERNEL softmax(float *x, u32 rows, u32 columns) {
	__shared__ float tops[WARPS];
	__shared__ double sums[WARPS];
	if (this_row() >= rows) return;
	x += (u64)this_row() * columns;
	float top = row_top(x, columns, tops);
	double sum = 0;
	OVER_ROW(c) {
		float e = exponential(x[c] - top);
		sum += e;
		x[c] = e;
	}
	float inverse = 1.f / (float)row_total(sum, sums, plus);
	OVER_ROW(c) x[c] *= inverse;
}

// dx = y (dy - Σ y dy)
KERNEL softmax_gradient(float *dx, const float *dy, const float *y, u32 rows, u32 columns) {
	__shared__ double sums[WARPS];
	if (this_row() >= rows) return;
	u64 at = (u64)this_row() * columns;
	dx += at, dy += at, y += at;
	double sum = 0;
	OVER_ROW(c) sum = fma((double)y[c], (double)dy[c], sum);
	float dot = row_total(sum, sums, plus);
	OVER_ROW(c) dx[c] = y[c] * (dy[c] - dot);
}

// x = x - log Σ exp x
KERNEL log_softmax(float *x, u32 rows, u32 columns) {
	__shared__ float tops[WARPS];
	__shared__ double sums[WARPS];
	if (this_row() >= rows) return;
	x += (u64)this_row() * columns;
	float top = row_top(x, columns, tops);
	double all_of_it = top + logarithm(row_exponentials(x, columns, top, sums));
	OVER_ROW(c) x[c] = x[c] - all_of_it;
}

// dx = dy - exp(y) Σ dy
KERNEL log_softmax_gradient(float *dx, const float *dy, const float *y, u32 rows, u32 columns) {
	__shared__ double sums[WARPS];
	if (this_row() >= rows) return;
	u64 at = (u64)this_row() * columns;
	dx += at, dy += at, y += at;
	double sum = 0;
	OVER_ROW(c) sum += dy[c];
	sum = row_total(sum, sums, plus);
	// if the sum is infinite, bits that a float32 would lose matter
	OVER_ROW(c) dx[c] = dy[c] - exponential((double)y[c]) * sum;
}

// Criteria write losses by row and the gradient of output. Either may be null.

// factor is 1 / rows.
KERNEL cross_entropy(float *losses, float *gradient, const float *output, const i64 *targets, u32 rows, u32 columns, float factor) {
	__shared__ float tops[WARPS];
	__shared__ double sums[WARPS];
	u32 row = this_row();
	if (row >= rows) return;
	const float *x = output + (u64)row * columns;
	u32 target = targets[row];
	float top = row_top(x, columns, tops);
	double sum = row_exponentials(x, columns, top, sums);
	if (losses && thread_x() == 0) losses[row] = top + logarithm(sum) - x[target];
	if (!gradient) return;
	gradient += (u64)row * columns;
	float inverse = 1.f / (float)sum;
	OVER_ROW(c) {
		float g = exponential(x[c] - top) * inverse * factor;
		gradient[c] = c == target ? g - factor : g;
	}
}

// factor is -1 / rows.
KERNEL nll(float *losses, float *gradient, const float *output, const i64 *targets, u32 rows, u32 columns, float factor) {
	u32 row = this_row();
	if (row >= rows) return;
	u64 at = (u64)row * columns;
	u32 target = targets[row];
	if (losses && thread_x() == 0) losses[row] = -output[at + target];
	if (!gradient) return;
	OVER_ROW(c) gradient[at + c] = c == target ? factor : 0.f;
}

// factor is 2 / elements.
KERNEL mse(float *losses, float *gradient, const float *output, const i64 *targets, u32 rows, u32 columns, float factor) {
	__shared__ double sums[WARPS];
	u32 row = this_row();
	if (row >= rows) return;
	u64 at = (u64)row * columns;
	double sum = 0, exact = targets[row];
	float target = targets[row];
	OVER_ROW(c) {
		float v = output[at + c];
		double d = v - exact;
		sum += d * d;
		if (gradient) gradient[at + c] = (v - target) * factor;
	}
	sum = row_total(sum, sums, plus);
	if (losses && thread_x() == 0) losses[row] = sum;
}

// factor is 1 / elements.
KERNEL l1(float *losses, float *gradient, const float *output, const i64 *targets, u32 rows, u32 columns, float factor) {
	__shared__ double sums[WARPS];
	u32 row = this_row();
	if (row >= rows) return;
	u64 at = (u64)row * columns;
	double sum = 0, exact = targets[row];
	float target = targets[row];
	OVER_ROW(c) {
		float v = output[at + c];
		double d = v - exact;
		sum += d < 0 ? -d : d;
		if (gradient) gradient[at + c] = v > target ? factor : v < target ? -factor : v - target; // 0, or NaN if v is NaN
	}
	sum = row_total(sum, sums, plus);
	if (losses && thread_x() == 0) losses[row] = sum;
}

// Each thread processes one sample. -sigmoid(-x) stays accurate where sigmoid(x) rounds to 1.
KERNEL bce(float *losses, float *gradient, const float *output, const i64 *targets, u32 rows, u32, float) {
	for (u64 r = grid_thread(); r < rows; r += grid_threads()) {
		double x = output[r], target = targets[r];
		double smaller = exponential(x < 0 ? x : -x); // NaN stays NaN
		if (losses) losses[r] = (x < 0 ? 0. : x) - x * target + logarithm1(smaller);
		if (!gradient) continue;
		double excess = targets[r] == 1 ? -1. / (1. + exponential(x)) : 1. / (1. + exponential(-x));
		gradient[r] = excess / rows;
	}
}

// The same criteria for targets that are numbers, one for each element of output.

// factor is 1 / rows. Targets are probabilities.
KERNEL cross_entropy_floats(float *losses, float *gradient, const float *output, const float *targets, u32 rows, u32 columns, float factor) {
	__shared__ float tops[WARPS];
	__shared__ double sums[WARPS], parts[WARPS], shares[WARPS];
	u32 row = this_row();
	if (row >= rows) return;
	const float *x = output + (u64)row * columns, *p = targets + (u64)row * columns;
	float top = row_top(x, columns, tops);
	double sum = row_exponentials(x, columns, top, sums), log_sum = top + logarithm(sum), loss = 0, share = 0;
	OVER_ROW(c) {
		loss += p[c] * (log_sum - x[c]);
		share += p[c];
	}
	loss = row_total(loss, parts, plus);
	if (losses && thread_x() == 0) losses[row] = loss;
	share = row_total(share, shares, plus);
	if (!gradient) return;
	gradient += (u64)row * columns;
	float inverse = (float)share / (float)sum;
	OVER_ROW(c) gradient[c] = (exponential(x[c] - top) * inverse - p[c]) * factor;
}

// factor is 2 / elements.
KERNEL mse_floats(float *losses, float *gradient, const float *output, const float *targets, u32 rows, u32 columns, float factor) {
	__shared__ double sums[WARPS];
	u32 row = this_row();
	if (row >= rows) return;
	u64 at = (u64)row * columns;
	double sum = 0;
	OVER_ROW(c) {
		float v = output[at + c], target = targets[at + c];
		double d = (double)v - target;
		sum += d * d;
		if (gradient) gradient[at + c] = (v - target) * factor;
	}
	sum = row_total(sum, sums, plus);
	if (losses && thread_x() == 0) losses[row] = sum;
}

// factor is 1 / elements.
KERNEL l1_floats(float *losses, float *gradient, const float *output, const float *targets, u32 rows, u32 columns, float factor) {
	__shared__ double sums[WARPS];
	u32 row = this_row();
	if (row >= rows) return;
	u64 at = (u64)row * columns;
	double sum = 0;
	OVER_ROW(c) {
		float v = output[at + c], target = targets[at + c];
		double d = (double)v - target;
		sum += d < 0 ? -d : d;
		if (gradient) gradient[at + c] = v > target ? factor : v < target ? -factor : v - target; // 0, or NaN if v is NaN
	}
	sum = row_total(sum, sums, plus);
	if (losses && thread_x() == 0) losses[row] = sum;
}

// Each thread processes one element; rows is the number of elements.
KERNEL bce_floats(float *losses, float *gradient, const float *output, const float *targets, u32 rows, u32, float) {
	for (u64 r = grid_thread(); r < rows; r += grid_threads()) {
		double x = output[r], target = targets[r];
		double smaller = exponential(x < 0 ? x : -x); // NaN stays NaN
		if (losses) losses[r] = (x < 0 ? 0. : x) - x * target + logarithm1(smaller);
		if (!gradient) continue;
		double excess = target == 1 ? -1. / (1. + exponential(x)) : 1. / (1. + exponential(-x)) - target;
		gradient[r] = excess / rows;
	}
}

// dst[0] = a Σ x, computed by one block
KERNEL total(float *dst, const float *x, u64 n, float a) {
	__shared__ double sums[WARPS];
	double sum = 0;
	for (u64 i = thread_x(); i < n; i += threads_x()) sum += x[i];
	sum = row_total(sum, sums, plus);
	if (thread_x() == 0) *dst = sum * a;
}
