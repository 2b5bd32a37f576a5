// Optimizer steps, with the formulas and roundings of comm/vec: one pass over parameters, gradients and state.
// Steps by rows have a gradient [count, width]; its row r belongs to row rows[r] of the parameters. rows are
// distinct.
#include "device.h"

// The steps at one position: at is the position in the parameters and their state, from that in the gradient.

// w -= lr (g + decay w)
template <class At> INLINE void sgd_step(float *w, const float *g, At at, float lr, float decay) {
	auto value = load(w, at), d = load(g, at);
	if (decay != 0.f) d = fma(all(decay, at), value, d);
	store(w, at, fma(all(-lr, at), d, value));
}

// d = g + decay w, v = mu v + d, w -= lr v, or lr (d + mu v)
template <class At> INLINE void momentum_step(float *w, const float *g, float *v, At at, float lr, float mu, float decay, u32 nesterov) {
	auto value = load(w, at), m = all(mu, at);
	auto d = fma(all(decay, at), value, load(g, at));
	auto velocity = fma(m, load(v, at), d);
	store(v, at, velocity);
	if (nesterov) velocity = fma(m, velocity, d);
	store(w, at, fma(all(-lr, at), velocity, value));
}

// Factors of an Adam step, as computed by vec.Adam.
struct Adam { float decay, keep1, take1, keep2, take2, root2, epsilon, step; };

template <class At> INLINE void adam_step(float *w, const float *g, float *m, float *v, At at, At from, Adam f) {
	auto value = load(w, at);
	auto d = fma(all(f.decay, at), value, load(g, from));
	auto first = fma(d, all(f.take1, at), f.keep1 * load(m, at));
	auto second = fma(d * d, all(f.take2, at), f.keep2 * load(v, at));
	store(m, at, first);
	store(v, at, second);
	store(w, at, value - f.step * first / fma(all(f.root2, at), root(second), all(f.epsilon, at)));
}

// d = g + decay w, s += d², w -= lr d / (√s + epsilon)
template <class At> INLINE void adagrad_step(float *w, const float *g, float *s, At at, At from, float lr, float epsilon, float decay) {
	auto value = load(w, at), d = load(g, from);
	if (decay != 0.f) d = fma(all(decay, at), value, d);
	auto sum = fma(d, d, load(s, at));
	store(s, at, sum);
	store(w, at, value - lr * d / (root(sum) + epsilon));
}

KERNEL sgd(float *w, const float *g, u64 n, u64 head, u64 quads, float lr, float decay) {
	each(n, head, quads, [=](auto at) { sgd_step(w, g, at, lr, decay); });
}

KERNEL momentum(float *w, const float *g, float *v, u64 n, u64 head, u64 quads, float lr, float mu, float decay, u32 nesterov) {
	each(n, head, quads, [=](auto at) { momentum_step(w, g, v, at, lr, mu, decay, nesterov); });
}

KERNEL adam(float *w, const float *g, float *m, float *v, u64 n, u64 head, u64 quads,
            float decay, float keep1, float take1, float keep2, float take2, float root2, float epsilon, float step) {
	Adam f{decay, keep1, take1, keep2, take2, root2, epsilon, step};
	each(n, head, quads, [=](auto at) { adam_step(w, g, m, v, at, at, f); });
}

KERNEL adagrad(float *w, const float *g, float *s, u64 n, u64 head, u64 quads, float lr, float epsilon, float decay) {
	each(n, head, quads, [=](auto at) { adagrad_step(w, g, s, at, at, lr, epsilon, decay); });
}

// The same steps for several parameters: block_y() is the parameter's index in a table.
struct Parameter { float *w; const float *g; float *s, *t; u64 n, head, quads; };

KERNEL sgd_group(const Parameter *table, float lr, float decay) {
	Parameter p = table[block_y()];
	each(p.n, p.head, p.quads, [=](auto at) { sgd_step(p.w, p.g, at, lr, decay); });
}

KERNEL momentum_group(const Parameter *table, float lr, float mu, float decay, u32 nesterov) {
	Parameter p = table[block_y()];
	each(p.n, p.head, p.quads, [=](auto at) { momentum_step(p.w, p.g, p.s, at, lr, mu, decay, nesterov); });
}

KERNEL adam_group(const Parameter *table, float decay, float keep1, float take1, float keep2, float take2, float root2, float epsilon, float step) {
	Parameter p = table[block_y()];
	Adam f{decay, keep1, take1, keep2, take2, root2, epsilon, step};
	each(p.n, p.head, p.quads, [=](auto at) { adam_step(p.w, p.g, p.s, p.t, at, at, f); });
}

KERNEL adagrad_group(const Parameter *table, float lr, float epsilon, float decay) {
	Parameter p = table[block_y()];
	each(p.n, p.head, p.quads, [=](auto at) { adagrad_step(p.w, p.g, p.s, at, at, lr, epsilon, decay); });
}

// each_of_rows calls body with positions in the parameters and in the gradient. Each thread_y has its own rows.
// quads is true if all rows begin 16-byte aligned.
template <class Body> INLINE void each_of_rows(const int *rows, u32 count, u32 width, u32 quads, Body body) {
	for (u64 r = (u64)block_x() * threads_y() + thread_y(); r < count; r += (u64)blocks_x() * threads_y()) {
		u64 to = (u64)rows[r] * width, from = r * width;
		if (quads) {
			for (u32 c = 4 * thread_x(); c < width; c += 4 * threads_x()) body(Quad{to + c}, Quad{from + c});
		} else {
			for (u32 c = thread_x(); c < width; c += threads_x()) body(One{to + c}, One{from + c});
		}
	}
}

KERNEL adam_rows(float *w, const float *g, float *m, float *v, const int *rows, u32 count, u32 width, u32 quads,
                 float decay, float keep1, float take1, float keep2, float take2, float root2, float epsilon, float step) {
	Adam f{decay, keep1, take1, keep2, take2, root2, epsilon, step};
	each_of_rows(rows, count, width, quads, [=](auto at, auto from) { adam_step(w, g, m, v, at, from, f); });
}

KERNEL adagrad_rows(float *w, const float *g, float *s, const int *rows, u32 count, u32 width, u32 quads, float lr, float epsilon) {
	each_of_rows(rows, count, width, quads, [=](auto at, auto from) { adagrad_step(w, g, s, at, from, lr, epsilon, 0.f); });
}

// sums[row] += mean(g²) of a row, w -= lr / (√sum + epsilon) g. The squares are added in float64.
KERNEL rowwise_adagrad(float *w, const float *g, float *sums, const int *rows, u32 count, u32 width, u32 quads, float lr, float epsilon) {
	__shared__ double room[WARPS];
	for (u64 r = block_x(); r < count; r += blocks_x()) {
		const float *gradient = g + r * width;
		double squares = 0;
		for (u32 c = thread_x(); c < width; c += threads_x()) squares = fma((double)gradient[c], (double)gradient[c], squares);
		squares = row_total(squares, room, [](double a, double b) { return a + b; });
		float sum = sums[rows[r]] + (float)squares / (float)width;
		barrier(); // all threads have read the sum and room
		if (thread_x() == 0) sums[rows[r]] = sum;
		float a = -lr / (root(sum) + epsilon);
		if (a == 0.f) continue; // like an axpy by 0, which keeps values that are not finite
		float *value = w + (u64)rows[r] * width;
		if (quads) {
			for (u32 c = 4 * thread_x(); c < width; c += 4 * threads_x()) {
				store(value, Quad{c}, fma(all(a, Quad{c}), load(gradient, Quad{c}), load(value, Quad{c})));
			}
		} else {
			for (u32 c = thread_x(); c < width; c += threads_x()) value[c] = fma(a, gradient[c], value[c]);
		}
	}
}
