// Runs a warp. Each instruction runs for all active lanes, in loops that the compiler can vectorize.
#include <math.h>
#include <string.h>
#ifdef __AVX512DQ__
#include <immintrin.h>
#endif

#include "interpret.h"

// The device has only one NaN.
static inline float canonical_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = x == x ? bits : 0x7fffffff;
    memcpy(&x, &bits, 4);
    return x;
}
static inline double canonical_double(double x) { return x; }
#define canonical(x) _Generic((x), float: canonical_float, double: canonical_double)(x)

#define LEAST(F, U, name, zeros, than)                                        \
    static inline F name(F x, F y) {                                          \
        U a, b, r;                                                            \
        memcpy(&a, &x, sizeof x), memcpy(&b, &y, sizeof y);                   \
        r = x != x ? b : y != y ? a : x == y ? (a zeros b) : x than y ? a : b; \
        memcpy(&x, &r, sizeof x);                                             \
        return canonical(x);                                                  \
    }
LEAST(float, uint32_t, least_float, |, <)
LEAST(float, uint32_t, greatest_float, &, >)
LEAST(double, uint64_t, least_double, |, <)
LEAST(double, uint64_t, greatest_double, &, >)
#define least(x, y) _Generic((x), float: least_float, double: least_double)(x, y)
#define greatest(x, y) _Generic((x), float: greatest_float, double: greatest_double)(x, y)
#define copy_sign(x, y) _Generic((x), float: __builtin_copysignf(y, x), double: __builtin_copysign(y, x))

static inline uint64_t reverse_bits(uint64_t x) {
    x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
    // For 32 bits, the table expects the reversed bits in the upper half; for 64 bits, it uses all of them.
    return __builtin_bswap64(x);
}

static inline uint64_t bit_field(uint64_t x, uint32_t at, uint32_t length, uint32_t bits, bool is_signed) {
    uint64_t field = at < bits ? x >> at : 0;
    uint32_t last = at + length - 1 < bits - 1 ? at + length - 1 : bits - 1;
    bool sign = is_signed && length && (x >> last & 1);
    if (length >= 64) length = 64;
    if (length < 64) field &= (1ull << length) - 1;
    uint32_t have = at < bits ? (bits - at < length ? bits - at : length) : 0;
    return sign ? field | (have < 64 ? ~0ull << have : 0) : field;
}

static inline uint32_t permute_bytes(uint32_t x, uint32_t y, uint32_t selector) {
    uint64_t both = (uint64_t)y << 32 | x;
    uint32_t result = 0;
    for (int n = 0; n < 4; n++) {
        uint32_t s = selector >> (4 * n) & 15, byte = both >> (8 * (s & 7)) & 255;
        if (s & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * n);
    }
    return result;
}

static uint32_t bits_of(const int32_t *p) {
#ifdef __AVX512DQ__
    return _mm512_movepi32_mask(_mm512_load_si512(p)) | (uint32_t)_mm512_movepi32_mask(_mm512_load_si512(p + 16)) << 16;
#else
    uint32_t mask = 0;
    for (int l = 0; l < LANES; l++) mask |= ((uint32_t)p[l] & 1) << l;
    return mask;
#endif
}

static void lanes_of(uint32_t mask, int32_t *lanes) {
    for (int l = 0; l < LANES; l++) lanes[l] = -(int32_t)(mask >> l & 1);
}

static uint32_t flush_float(uint32_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

// flushed returns the instruction with copied operands, in which subnormal values are zero.
static Instruction flushed(Warp *w, const Instruction *i) {
    Instruction copy = *i;
    const Operand sources[3] = {i->a, i->b, i->c};
    Operand *copies[3] = {&copy.a, &copy.b, &copy.c};
    for (int n = 0; n < 3; n++) {
        const uint32_t *from = slot(w, sources[n]);
        uint32_t *to = slot(w, 256 * n);
        for (int l = 0; l < LANES; l++) to[l] = flush_float(from[l]);
        *copies[n] = 256 * n;
    }
    return copy;
}

static void finish_float(Warp *w, const Instruction *i) {
    uint32_t *d = slot(w, i->d);
    for (int l = 0; l < LANES; l++) {
        if (!w->lanes[l]) continue;
        if (i->flags & FLAG_FTZ) d[l] = flush_float(d[l]);
        float value;
        memcpy(&value, &d[l], 4);
        if (i->flags & FLAG_SAT) value = value > 0 ? value < 1 ? value : 1 : 0, memcpy(&d[l], &value, 4);
    }
}

static void pack_run(Warp *w, const Instruction *i, uint32_t mask) {
    const Operand elements[4] = {i->d, i->e, i->more[0], i->more[1]};
    bool packs = i->op == OP_pack;
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        void *whole = slot(w, i->a);
        uint64_t bits = packs ? 0 : i->flags & FLAG_WIDE ? ((uint64_t *)whole)[l] : ((uint32_t *)whole)[l];
        uint64_t ones = i->size == 2 ? 0xffff : 0xffffffff;
        for (int n = 0; n < i->count; n++) {
            uint32_t *element = slot(w, elements[n]);
            if (packs) bits |= (element[l] & ones) << (8 * i->size * n);
            else element[l] = (uint32_t)(bits >> (8 * i->size * n) & ones);
        }
        if (packs && i->flags & FLAG_WIDE) ((uint64_t *)whole)[l] = bits;
        else if (packs) ((uint32_t *)whole)[l] = (uint32_t)bits;
    }
}

// together reports whether all lanes named by a warp-wide instruction are active. If not, it reports a fault.
static bool together(Launch *launch, Warp *w, const Instruction *i, uint32_t mask) {
    const uint32_t *members = slot(w, i->more[0]);
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        if (!(members[l] >> l & 1)) return fault(launch, w, l, CUDA_ERROR_LAUNCH_FAILED, "its mask %#x is without the lane itself", members[l]), false;
        if (members[l] & w->live & ~mask)
            return fault(launch, w, l, CUDA_ERROR_LAUNCH_FAILED, "its mask %#x names lanes that do not come here with it (%#x do): divergence", members[l], mask), false;
    }
    return true;
}

static void shuffle_run(Warp *w, const Instruction *i, uint32_t mask) {
    const uint32_t *x = slot(w, i->a), *y = slot(w, i->b), *z = slot(w, i->c), *members = slot(w, i->more[0]);
    uint32_t result[LANES], valid[LANES];
    for (int l = 0; l < LANES; l++) {
        int segment = z[l] >> 8 & 31, lowest = l & segment, highest = lowest | (z[l] & 31 & ~segment), by = y[l] & 31, from;
        switch (i->compare) {
        case SHUFFLE_UP: from = l - by, valid[l] = from >= highest; break;
        case SHUFFLE_DOWN: from = l + by, valid[l] = from <= highest; break;
        case SHUFFLE_BFLY: from = l ^ by, valid[l] = from <= highest; break;
        default: from = lowest | (by & ~segment), valid[l] = from <= highest;
        }
        if (!valid[l]) from = l;
        // Values from inactive lanes are undefined.
        result[l] = (mask & members[l]) >> from & 1 ? x[from] : NAN_PATTERN | 0xdead;
    }
    uint32_t *d = slot(w, i->d);
    for (int l = 0; l < LANES; l++)
        if (mask >> l & 1) d[l] = result[l];
    if (i->e == NO_OPERAND) return;
    d = slot(w, i->e);
    for (int l = 0; l < LANES; l++)
        if (mask >> l & 1) d[l] = -valid[l];
}

static void vote_run(Warp *w, const Instruction *i, uint32_t mask) {
    uint32_t yes = bits_of(slot(w, i->a)) ^ (i->flags & FLAG_SIGNED ? ~0u : 0);
    const uint32_t *members = slot(w, i->more[0]);
    uint32_t *d = slot(w, i->d);
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t all = members[l] & mask, who = yes & all;
        d[l] = i->compare == VOTE_BALLOT ? who : -(uint32_t)(i->compare == VOTE_ANY ? who != 0 : i->compare == VOTE_ALL ? who == all : who == 0 || who == all);
    }
}

static uint64_t insert_bits(uint64_t field, uint64_t into, uint32_t at, uint32_t length, uint32_t bits) {
    at &= 255, length &= 255;
    if (at >= bits || !length) return into;
    if (length > bits - at) length = bits - at;
    uint64_t ones = (length >= 64 ? ~0ull : (1ull << length) - 1) << at;
    return (into & ~ones) | (field << at & ones);
}

static void insert_run(Warp *w, const Instruction *i, uint32_t mask) {
    const uint32_t *z = slot(w, i->c), *m = slot(w, i->more[0]);
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        if (i->op == OP_bfi_64) {
            ((uint64_t *)slot(w, i->d))[l] = insert_bits(((uint64_t *)slot(w, i->a))[l], ((uint64_t *)slot(w, i->b))[l], z[l], m[l], 64);
            continue;
        }
        uint32_t x = ((uint32_t *)slot(w, i->a))[l], y = ((uint32_t *)slot(w, i->b))[l], r = 0;
        if (i->op == OP_bfi) r = (uint32_t)insert_bits(x, y, z[l], m[l], 32);
        else
            for (int bit = 0; bit < 32; bit++) r |= (m[l] >> ((x >> bit & 1) << 2 | (y >> bit & 1) << 1 | (z[l] >> bit & 1)) & 1) << bit;
        ((uint32_t *)slot(w, i->d))[l] = r;
    }
}

// leave_lanes removes lanes from the entries of a frame (of all frames if frame is 0).
static void leave_lanes(Warp *w, uint32_t lanes, int frame) {
    for (int n = w->top; n >= 0 && w->stack[n].frame >= frame; n--) w->stack[n].mask &= ~lanes;
}

// branch sends lanes of the top entry to the target. branch returns false if the stack is full.
static bool branch(Launch *launch, Warp *w, const Instruction *i, int pc, uint32_t mask, uint32_t taken) {
    Entry *top = &w->stack[w->top];
    if (taken == mask || !taken) {
        top->pc = taken ? i->target : pc + 1;
        return true;
    }
    Entry sides[2] = {{i->target, i->join, taken, top->frame}, {pc + 1, i->join, mask & ~taken, top->frame}};
    bool swap = launch_random(launch) >> 40 & 1;
    if (i->join == top->join) w->top--;
    else top->pc = i->join < 0 ? pc : i->join;
    // If the join is the end of the program, no entry remains below.
    if (i->join < 0 && top->join >= 0) w->top--;
    if (w->top + 2 >= STACK) return false;
    for (int n = 0; n < 2; n++)
        if (sides[n ^ swap].pc != i->join || i->join < 0) w->stack[++w->top] = sides[n ^ swap];
    return true;
}

#define LANE_LOOP(D, A, B, C, store)                                  \
    _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++) {            \
        A x = a[l];                                                   \
        B y = b[l];                                                   \
        C z = c[l];                                                   \
        (void)x, (void)y, (void)z;                                    \
        store;                                                        \
    }

void warp_run(Launch *launch, Warp *w, int64_t quantum) {
    const Instruction *code = launch->program->code;
    int64_t begun = quantum;
    while (quantum > 0) {
        while (w->top >= 0 && (!w->stack[w->top].mask || w->stack[w->top].pc == w->stack[w->top].join)) w->top--;
        if (w->top < 0) {
            w->state = WARP_DONE;
            break;
        }
        Entry *top = &w->stack[w->top];
        int pc = top->pc;
        uint32_t mask = top->mask;
        bool split = mask != ~0u, stay = true;
        if (split) lanes_of(mask, w->lanes);
        // Runs up to the next instruction that may change the set of active lanes.
        while (stay && quantum > 0) {
            const Instruction *i = &code[pc];
            w->at = i;
            quantum--;
            uint32_t doing = mask;
            bool full = !split;
            if (i->guard != NO_OPERAND) {
                uint32_t guard = bits_of(slot(w, i->guard));
                doing &= i->negate ? ~guard : guard;
                if (i->op == OP_branch) {
                    if (!branch(launch, w, i, pc, mask, doing)) fault(launch, w, __builtin_ctz(mask), CUDA_ERROR_LAUNCH_FAILED, "the double's stack of branches is full");
                    break;
                }
                if (!doing) {
                    top->pc = ++pc;
                    if (pc == top->join) break;
                    continue;
                }
                full = doing == ~0u;
                if (!full) lanes_of(doing, w->lanes);
            }
            launch->instructions += __builtin_popcount(doing);
            Instruction copy;
            if (i->flags & (FLAG_FTZ | FLAG_SAT) && i->op < OP_bfi) {
                if (full) lanes_of(doing, w->lanes);
                if (i->flags & FLAG_FTZ) copy = flushed(w, i), i = &copy;
                full = false;
            }
            const int32_t *lanes = w->lanes;
            switch (i->op) {
#define X(name, text, D, A, B, C, value)                                                                  \
    case OP_##name: {                                                                                     \
        D *d = slot(w, i->d);                                                                             \
        const A *a = slot(w, i->a);                                                                       \
        const B *b = slot(w, i->b);                                                                       \
        const C *c = slot(w, i->c);                                                                       \
        if (full) LANE_LOOP(D, A, B, C, d[l] = (D)(value))                                                \
        else LANE_LOOP(D, A, B, C, D v = (D)(value); d[l] = lanes[l] ? v : d[l])                          \
        break;                                                                                            \
    }
                LANE_OPS(X)
#undef X
            case OP_load:
            case OP_store:
            case OP_atomic:
                if (!access_run(launch, w, i, doing)) goto faulted;
                break;
            case OP_convert: convert_run(w, i, doing); break;
            case OP_pack:
            case OP_unpack: pack_run(w, i, doing); break;
            case OP_bfi:
            case OP_bfi_64:
            case OP_lop3: insert_run(w, i, doing); break;
            case OP_shuffle:
                if (!together(launch, w, i, doing)) goto faulted;
                shuffle_run(w, i, doing);
                break;
            case OP_vote:
                if (!together(launch, w, i, doing)) goto faulted;
                vote_run(w, i, doing);
                break;
            case OP_warp_barrier:
                if (!together(launch, w, i, doing)) goto faulted;
                break;
            case OP_activemask:
                for (int l = 0; l < LANES; l++)
                    if (doing >> l & 1) ((uint32_t *)slot(w, i->d))[l] = doing;
                break;
            case OP_to_shared:
            case OP_from_shared:
            case OP_to_local:
            case OP_from_local: {
                uint64_t window = space_base + (i->op == OP_to_shared || i->op == OP_from_shared ? SHARED_WINDOW : LOCAL_WINDOW);
                if (i->op == OP_to_shared || i->op == OP_to_local) window = -window;
                uint64_t *d = slot(w, i->d), *a = slot(w, i->a);
                for (int l = 0; l < LANES; l++)
                    if (doing >> l & 1) d[l] = a[l] + window;
                break;
            }
            case OP_clock:
                for (int l = 0; l < LANES; l++) {
                    if (!(doing >> l & 1)) continue;
                    if (i->size == 8) ((uint64_t *)slot(w, i->d))[l] = device_clock_ns();
                    else ((uint32_t *)slot(w, i->d))[l] = (uint32_t)device_clock_ns();
                }
                break;
            case OP_fence: launch->fenced = true; break;
            case OP_nothing: break;
            case OP_branch:
                pc = i->target - 1;
                break;
            case OP_call:
                top->pc = pc + 1;
                if (w->top + 1 >= STACK) {
                    fault(launch, w, __builtin_ctz(doing), CUDA_ERROR_LAUNCH_FAILED, "the double's stack of branches is full");
                    goto faulted;
                }
                w->stack[w->top + 1] = (Entry){i->target, -1, doing, top->frame + 1};
                w->top++;
                stay = false;
                continue;
            case OP_return:
                top->pc = pc + 1;
                leave_lanes(w, doing, top->frame);
                stay = false;
                continue;
            case OP_exit:
                top->pc = pc + 1;
                leave_lanes(w, doing, 0);
                w->live &= ~doing;
                stay = false;
                continue;
            case OP_trap:
                fault(launch, w, __builtin_ctz(doing), CUDA_ERROR_LAUNCH_FAILED, "it trapped");
                goto faulted;
            case OP_barrier:
                if (doing != w->live) {
                    fault(launch, w, __builtin_ctz(doing), CUDA_ERROR_LAUNCH_FAILED, "not all threads of the warp come to this barrier together (%#x of %#x): divergence", doing, w->live);
                    goto faulted;
                }
                top->pc = pc + 1;
                w->state = WARP_BARRIER;
                w->barrier = pc;
                goto out;
            default:
                fault(launch, w, __builtin_ctz(doing), CUDA_ERROR_ILLEGAL_INSTRUCTION, "the double lacks instruction %d", i->op);
                goto faulted;
            }
            if (i->flags & (FLAG_FTZ | FLAG_SAT) && i->op < OP_bfi) {
                lanes_of(doing, w->lanes);
                finish_float(w, i);
            }
            if (doing != mask || i->flags & (FLAG_FTZ | FLAG_SAT)) lanes_of(mask, w->lanes);
            top->pc = ++pc;
            if (pc == top->join) break;
        }
        if (w->state == WARP_FAULT) break;
    }
out:
    launch->steps -= begun - quantum;
    return;
faulted:
    w->state = WARP_FAULT;
    launch->steps -= begun - quantum;
}
