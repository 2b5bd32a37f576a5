// Kernels in compiler style: control flow, memories, calls, warps. Some are intentionally wrong.
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define CONSTANT __attribute__((constant))
typedef unsigned u32;
typedef unsigned long long u64;

DEVICE inline u32 tid() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE inline u32 bid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE inline u32 size() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE inline u32 index() { return bid() * size() + tid(); }

extern "C" {
DEVICE int counter = 5;
CONSTANT float table[4] = {1, 2, 4, 8};
DEVICE const int *pointer = &counter;
}

KERNEL axpy(float a, const float *x, float *y, u32 n) {
	u32 i = index();
	if (i < n) y[i] = __nvvm_fma_rn_f(a, x[i], y[i]);
}

// Loops of different lengths within a warp, with breaks, continues and branches.
KERNEL flow(const u32 *x, u32 *y, u32 n) {
	u32 i = index();
	if (i >= n) return;
	u32 v = x[i], sum = 0;
	for (u32 k = 0; k < (v & 15); k++) {
		if (((v >> k) & 3) == 1) continue;
		for (u32 m = 0; m < k; m++) {
			if ((v + m) % 7 == 3) break;
			sum += m * v;
		}
		if (sum > 1000000000u) {
			y[i] = sum ^ 1;
			return;
		}
		switch ((v + k) % 6) {
		case 0: sum += x[(i + 1) % n]; break;
		case 1: sum ^= v << 3; break;
		case 3: sum = sum * 5 + 1; break;
		case 4: sum -= k;
		}
	}
	do {
		sum = (sum >> 1) + (sum & 1 ? 77 : 0);
	} while (sum > 1000);
	y[i] = sum;
}

KERNEL reduce(float *out, const float *x, u32 n) {
	SHARED static float part[256];
	float s = 0;
	for (u32 i = tid(); i < n; i += size()) s += x[i];
	part[tid()] = s;
	__nvvm_bar_sync(0);
	for (u32 k = 128; k; k >>= 1) {
		if (tid() < k) part[tid()] += part[tid() + k];
		__nvvm_bar_sync(0);
	}
	if (tid() == 0) out[0] = part[0];
}

KERNEL warp_sum(float *out, const float *x) {
	float v = x[index()];
	for (int k = 16; k; k >>= 1) v += __nvvm_shfl_sync_down_f32(-1, v, k, 31);
	if ((tid() & 31) == 0) out[index() / 32] = v;
}

KERNEL votes(u32 *out, const u32 *x) {
	u32 v = x[index()];
	u32 ballot = __nvvm_vote_ballot_sync(-1, v & 1);
	u32 any = __nvvm_vote_any_sync(-1, (v & 7) == 0), all = __nvvm_vote_all_sync(-1, v != 0);
	u32 up = __nvvm_shfl_sync_up_i32(-1, v, 1, 0), other = __nvvm_shfl_sync_bfly_i32(-1, v, 5, 31), first = __nvvm_shfl_sync_idx_i32(-1, v, 3, 31);
	out[index()] = ballot + any * 2 + all * 4 + up * 3 + other * 5 + first * 7;
}

// An array indexed by variables is in local memory.
KERNEL local_memory(float *y, u32 n) {
	float a[16];
	for (u32 i = 0; i < 16; i++) a[i] = y[tid()] + i;
	for (u32 k = 0; k < n; k++) a[(k * 7 + tid()) & 15] += a[k & 15];
	float s = 0;
	for (u32 i = 0; i < 16; i++) s += a[i];
	y[tid()] = s;
}

DEVICE __attribute__((noinline)) float powers(float x, u32 n) {
	float s = 0;
	for (u32 i = 0; i < n; i++) {
		if (s > 1e6f) return -s;
		s = s * x + 1;
	}
	return s;
}
DEVICE __attribute__((noinline)) float twice(float x, u32 n) { return powers(x, n) + powers(x + 1, n / 2); }
KERNEL calls(float *y) {
	float x = y[tid()];
	y[tid()] = tid() % 3 == 0 ? twice(x, tid()) : powers(x, 5);
}

struct Parts {
	const float *x[4];
	int n;
	short scale;
};
KERNEL parts(Parts p, float *out) {
	float s = 0;
	for (int k = 0; k < p.n; k++) s += p.x[k][index()];
	out[index()] = s * p.scale * table[index() & 3];
}

KERNEL variables(int *out) {
	if (index() == 0) {
		out[0] = counter;
		counter += *pointer;
		out[1] = counter;
	}
}

KERNEL dynamic_shared(float *y) {
	extern SHARED float all[];
	all[tid()] = y[index()];
	__nvvm_bar_sync(0);
	y[index()] = all[size() - 1 - tid()];
}

KERNEL atomics(u32 *u, float *f, u64 *w) {
	__nvvm_atom_add_gen_i((int *)u, 3);
	__nvvm_atom_max_gen_ui(u + 1, index());
	__nvvm_atom_min_gen_i((int *)u + 2, -(int)index());
	__nvvm_atom_xor_gen_i((int *)u + 3, (int)index());
	__nvvm_atom_inc_gen_ui(u + 4, 9);
	u32 old = *(volatile u32 *)(u + 5), seen;
	do {
		seen = old;
		old = __nvvm_atom_cas_gen_i((int *)u + 5, (int)seen, (int)(seen + 2));
	} while (old != seen);
	__nvvm_atom_add_gen_f(f, 1);
	__nvvm_atom_add_gen_ll((long long *)w, 1ll << 33);
}

typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float2 __attribute__((ext_vector_type(2)));
KERNEL vectors(float4 *y, const float2 *x) {
	float2 a = x[2 * index()], b = x[2 * index() + 1];
	y[index()] = float4{b.y, b.x, a.y, a.x} * 2.0f;
}

KERNEL halves(__fp16 *h, const float *x, u32 n) {
	if (index() < n) h[index()] = (__fp16)x[index()];
}
KERNEL shape(u32 *out) {
	u32 x = bid() * size() + tid(), y = __nvvm_read_ptx_sreg_ctaid_y() * __nvvm_read_ptx_sreg_ntid_y() + __nvvm_read_ptx_sreg_tid_y();
	u32 z = __nvvm_read_ptx_sreg_ctaid_z() * __nvvm_read_ptx_sreg_ntid_z() + __nvvm_read_ptx_sreg_tid_z();
	u32 w = __nvvm_read_ptx_sreg_nctaid_x() * size(), h = __nvvm_read_ptx_sreg_nctaid_y() * __nvvm_read_ptx_sreg_ntid_y();
	out[(z * h + y) * w + x] = x + 100 * y + 10000 * z;
}

// The last block to finish adds up the results of all blocks. A fence and an atomic instruction order this.
KERNEL last_block(float *out, float *part, u32 *arrived) {
	SHARED static u32 last;
	if (tid() == 0) {
		part[bid()] = (float)bid();
		__nvvm_membar_gl();
		last = __nvvm_atom_add_gen_i((int *)arrived, 1) == (int)__nvvm_read_ptx_sreg_nctaid_x() - 1;
	}
	__nvvm_bar_sync(0);
	if (last && tid() == 0) {
		float s = 0;
		for (u32 k = 0; k < __nvvm_read_ptx_sreg_nctaid_x(); k++) s += part[k];
		out[0] = s;
	}
}

// The following kernels are wrong.
KERNEL reads_at(const float *x, float *out, long offset) { out[tid()] = x[(long)tid() + offset]; }
KERNEL writes_at(float *x, long offset) { x[(long)tid() + offset] = 1; }
KERNEL misaligned(char *x) { *(int *)(x + 2) = 1; }
KERNEL beyond_shared(float *out, u32 at) {
	SHARED static float s[32];
	s[tid()] = 1;
	__nvvm_bar_sync(0);
	out[tid()] = s[tid() + at];
}
KERNEL no_barrier(float *out) {
	SHARED static float s[256];
	s[tid()] = (float)tid();
	out[tid()] = s[tid() ^ 32];
}
KERNEL no_warp_barrier(float *out) {
	SHARED static float s[32];
	s[tid()] = (float)tid();
	out[tid()] = s[tid() ^ 1];
}
KERNEL warp_barrier(float *out) {
	SHARED static float s[32];
	s[tid()] = (float)tid();
	__nvvm_bar_warp_sync(-1);
	out[tid()] = s[tid() ^ 1];
}
KERNEL read_then_written(float *out) {
	SHARED static float s[64];
	s[tid()] = (float)tid();
	__nvvm_bar_sync(0);
	float v = s[(tid() + 32) & 63];
	s[tid()] = v;
	out[tid()] = v;
}
KERNEL blocks_in_conflict(float *x) { x[0] = (float)bid(); }
KERNEL blocks_read_and_write(float *x) { x[bid() + 64] = x[(bid() + 1) % 4]; if (tid() == 0) x[bid()] = 1; }
KERNEL no_atomic(u32 *x) { *x += 1; }
KERNEL divergent_barrier(float *x) {
	if (tid() < 16) __nvvm_bar_sync(0);
	x[tid()] = 1;
}
KERNEL two_barriers(float *x) {
	if (tid() < 32) {
		__nvvm_bar_sync(0);
		x[tid()] = 2;
	} else {
		x[tid()] = 1;
		__nvvm_bar_sync(0);
		x[tid()] += 3;
	}
}
KERNEL divergent_shuffle(int *x) {
	if (tid() < 16) x[tid()] = __nvvm_shfl_sync_idx_i32(-1, x[tid()], 0, 31);
}
KERNEL endless(volatile u32 *x) {
	while (*x == 0) {}
}
KERNEL traps() { __builtin_trap(); }
KERNEL slow(float *x, u32 n) {
	float v = x[index()];
	for (u32 k = 0; k < n; k++) v = v * 0.5f + 1;
	x[index()] = v;
}
