// The instructions that compute each lane from the same lane of their operands: X(name, PTX name, type of d, types
// of a, b and c, value). In the value, x, y and z are the operands' values. Predicates are 0 or -1 in 32 bits;
// 16-bit values occupy 32 bits, zero-extended.
#pragma once

#define SHIFT(T, value, bits) (y >= (bits) ? (T)0 : (T)(value))

#define OPS_OF_INTEGERS(X, U, S, u, s, b)                                                     \
    X(add_##u, "add." #u, U, U, U, U, x + y)                                                  \
    X(sub_##u, "sub." #u, U, U, U, U, x - y)                                                  \
    X(mul_lo_##u, "mul.lo." #u, U, U, U, U, x * y)                                            \
    X(mad_lo_##u, "mad.lo." #u, U, U, U, U, x * y + z)                                        \
    X(div_##u, "div." #u, U, U, U, U, y ? x / (y ? y : 1) : ~(U)0)                             \
    X(rem_##u, "rem." #u, U, U, U, U, y ? x % (y ? y : 1) : x)                                 \
    X(div_##s, "div." #s, S, S, S, S, !y ? -1 : y == -1 ? (S)(0 - (U)x) : x / (!y ? 1 : y))   \
    X(rem_##s, "rem." #s, S, S, S, S, !y ? x : y == -1 ? 0 : x % (!y ? 1 : y))                 \
    X(min_##u, "min." #u, U, U, U, U, x < y ? x : y)                                          \
    X(max_##u, "max." #u, U, U, U, U, x > y ? x : y)                                          \
    X(min_##s, "min." #s, S, S, S, S, x < y ? x : y)                                          \
    X(max_##s, "max." #s, S, S, S, S, x > y ? x : y)                                          \
    X(neg_##s, "neg." #s, U, U, U, U, 0 - x)                                                  \
    X(abs_##s, "abs." #s, U, S, U, U, x < 0 ? 0 - (U)x : (U)x)                                \
    X(and_##b, "and." #b, U, U, U, U, x & y)                                                  \
    X(or_##b, "or." #b, U, U, U, U, x | y)                                                    \
    X(xor_##b, "xor." #b, U, U, U, U, x ^ y)                                                  \
    X(not_##b, "not." #b, U, U, U, U, ~x)                                                     \
    X(cnot_##b, "cnot." #b, U, U, U, U, x == 0)                                               \
    X(shl_##b, "shl." #b, U, U, uint32_t, U, SHIFT(U, x << (y & (8 * sizeof(U) - 1)), 8 * sizeof(U)))          \
    X(shr_##u, "shr." #u, U, U, uint32_t, U, SHIFT(U, x >> (y & (8 * sizeof(U) - 1)), 8 * sizeof(U)))          \
    X(shr_##s, "shr." #s, S, S, uint32_t, S, x >> (y >= 8 * sizeof(S) ? 8 * sizeof(S) - 1 : y))               \
    X(selp_##b, "selp." #b, U, U, U, int32_t, z ? x : y)                                      \
    X(slct_##b, "slct." #b ".s32", U, U, U, int32_t, z >= 0 ? x : y)                          \
    X(mov_##b, "mov." #b, U, U, U, U, x)                                                      \
    X(popc_##b, "popc." #b, uint32_t, U, U, U, __builtin_popcountll(x))                       \
    X(clz_##b, "clz." #b, uint32_t, U, U, U, x ? (uint32_t)__builtin_clzll(x) - (64 - 8 * sizeof(U)) : 8 * sizeof(U))  \
    X(brev_##b, "brev." #b, U, U, U, U, (U)(reverse_bits(x) >> (64 - 8 * sizeof(U))))         \
    X(bfind_##u, "bfind." #u, uint32_t, U, U, U, x ? 63u - __builtin_clzll(x) : ~0u)          \
    X(bfind_##s, "bfind." #s, uint32_t, S, S, S, (x ^ (x >> (8 * sizeof(S) - 1))) ? 63u - __builtin_clzll((U)(x ^ (x >> (8 * sizeof(S) - 1)))) : ~0u) \
    X(bfe_##u, "bfe." #u, U, U, uint32_t, uint32_t, (U)bit_field(x, y & 255, z & 255, 8 * sizeof(U), false))   \
    X(bfe_##s, "bfe." #s, S, S, uint32_t, uint32_t, (S)bit_field((U)x, y & 255, z & 255, 8 * sizeof(U), true))

#define OPS_OF_SHORTS(X)                                                                      \
    X(add_16, "add.u16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(x + y))           \
    X(sub_16, "sub.u16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(x - y))           \
    X(mul_16, "mul.lo.u16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(x * y))        \
    X(mad_16, "mad.lo.u16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(x * y + z))    \
    X(mul_hi_u16, "mul.hi.u16", uint32_t, uint32_t, uint32_t, uint32_t, ((x & 0xffff) * (y & 0xffff)) >> 16)   \
    X(mul_hi_s16, "mul.hi.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(((int16_t)x * (int16_t)y) >> 16)) \
    X(mul_wide_u16, "mul.wide.u16", uint32_t, uint32_t, uint32_t, uint32_t, (x & 0xffff) * (y & 0xffff))       \
    X(mul_wide_s16, "mul.wide.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((int16_t)x * (int16_t)y)) \
    X(mad_wide_u16, "mad.wide.u16", uint32_t, uint32_t, uint32_t, uint32_t, (x & 0xffff) * (y & 0xffff) + z)   \
    X(mad_wide_s16, "mad.wide.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((int16_t)x * (int16_t)y) + z) \
    X(div_u16, "div.u16", uint32_t, uint32_t, uint32_t, uint32_t, (y & 0xffff) ? (x & 0xffff) / ((y & 0xffff) ? (y & 0xffff) : 1) : 0xffff) \
    X(rem_u16, "rem.u16", uint32_t, uint32_t, uint32_t, uint32_t, (y & 0xffff) ? (x & 0xffff) % ((y & 0xffff) ? (y & 0xffff) : 1) : (x & 0xffff)) \
    X(div_s16, "div.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)((int16_t)y ? (int16_t)x / ((int16_t)y ? (int16_t)y : 1) : -1)) \
    X(rem_s16, "rem.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)((int16_t)y ? (int16_t)x % ((int16_t)y ? (int16_t)y : 1) : (int16_t)x)) \
    X(min_u16, "min.u16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)((uint16_t)x < (uint16_t)y ? x : y)) \
    X(max_u16, "max.u16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)((uint16_t)x > (uint16_t)y ? x : y)) \
    X(min_s16, "min.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)((int16_t)x < (int16_t)y ? x : y)) \
    X(max_s16, "max.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)((int16_t)x > (int16_t)y ? x : y)) \
    X(neg_s16, "neg.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(0 - x))          \
    X(abs_s16, "abs.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)((int16_t)x < 0 ? 0 - x : x))      \
    X(and_b16, "and.b16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(x & y))          \
    X(or_b16, "or.b16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(x | y))            \
    X(xor_b16, "xor.b16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(x ^ y))          \
    X(not_b16, "not.b16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)~x)               \
    X(shl_b16, "shl.b16", uint32_t, uint32_t, uint32_t, uint32_t, y > 15 ? 0 : (uint16_t)(x << (y & 15)))      \
    X(shr_u16, "shr.u16", uint32_t, uint32_t, uint32_t, uint32_t, y > 15 ? 0 : (uint16_t)x >> (y & 15))        \
    X(shr_s16, "shr.s16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)((int16_t)x >> (y > 15 ? 15 : y))) \
    X(selp_b16, "selp.b16", uint32_t, uint32_t, uint32_t, int32_t, (uint16_t)(z ? x : y))     \
    X(mov_b16, "mov.b16", uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)x)

#define OPS_OF_MIXED(X)                                                                       \
    X(mul_hi_u32, "mul.hi.u32", uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(((uint64_t)x * y) >> 32))   \
    X(mul_hi_s32, "mul.hi.s32", int32_t, int32_t, int32_t, int32_t, (int32_t)(((int64_t)x * y) >> 32))         \
    X(mul_hi_u64, "mul.hi.u64", uint64_t, uint64_t, uint64_t, uint64_t, (uint64_t)(((unsigned __int128)x * y) >> 64)) \
    X(mul_hi_s64, "mul.hi.s64", int64_t, int64_t, int64_t, int64_t, (int64_t)(((__int128)x * y) >> 64))        \
    X(mad_hi_u32, "mad.hi.u32", uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(((uint64_t)x * y) >> 32) + z) \
    X(mad_hi_s32, "mad.hi.s32", uint32_t, int32_t, int32_t, uint32_t, (uint32_t)(((int64_t)x * y) >> 32) + z)  \
    X(mul_wide_u32, "mul.wide.u32", uint64_t, uint32_t, uint32_t, uint32_t, (uint64_t)x * y)  \
    X(mul_wide_s32, "mul.wide.s32", int64_t, int32_t, int32_t, int32_t, (int64_t)x * y)       \
    X(mad_wide_u32, "mad.wide.u32", uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)x * y + z)               \
    X(mad_wide_s32, "mad.wide.s32", uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)x * y) + z)      \
    X(mul24_lo_u32, "mul24.lo.u32", uint32_t, uint32_t, uint32_t, uint32_t, (x & 0xffffff) * (y & 0xffffff))   \
    X(sad_u32, "sad.u32", uint32_t, uint32_t, uint32_t, uint32_t, z + (x < y ? y - x : x - y))                 \
    X(sad_s32, "sad.s32", uint32_t, int32_t, int32_t, uint32_t, z + (x < y ? (uint32_t)y - (uint32_t)x : (uint32_t)x - (uint32_t)y)) \
    X(shf_l_wrap, "shf.l.wrap.b32", uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(((((uint64_t)y << 32) | x) << (z & 31)) >> 32)) \
    X(shf_r_wrap, "shf.r.wrap.b32", uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((((uint64_t)y << 32) | x) >> (z & 31))) \
    X(shf_l_clamp, "shf.l.clamp.b32", uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(((((uint64_t)y << 32) | x) << (z > 32 ? 32 : z)) >> 32)) \
    X(shf_r_clamp, "shf.r.clamp.b32", uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((((uint64_t)y << 32) | x) >> (z > 32 ? 32 : z))) \
    X(prmt, "prmt.b32", uint32_t, uint32_t, uint32_t, uint32_t, permute_bytes(x, y, z))       \
    X(and_pred, "and.pred", int32_t, int32_t, int32_t, int32_t, x & y)                        \
    X(or_pred, "or.pred", int32_t, int32_t, int32_t, int32_t, x | y)                          \
    X(xor_pred, "xor.pred", int32_t, int32_t, int32_t, int32_t, x ^ y)                        \
    X(not_pred, "not.pred", int32_t, int32_t, int32_t, int32_t, ~x)                           \
    X(mov_pred, "mov.pred", int32_t, int32_t, int32_t, int32_t, x ? -1 : 0)

#define OPS_OF_FLOATS(X, F, f)                                                                \
    X(add_##f, "add." #f, F, F, F, F, canonical(x + y))                                       \
    X(sub_##f, "sub." #f, F, F, F, F, canonical(x - y))                                       \
    X(mul_##f, "mul." #f, F, F, F, F, canonical(x * y))                                       \
    X(div_rn_##f, "div.rn." #f, F, F, F, F, canonical(x / y))                                 \
    X(rcp_rn_##f, "rcp.rn." #f, F, F, F, F, canonical(1 / x))                                 \
    X(min_##f, "min." #f, F, F, F, F, least(x, y))                                            \
    X(max_##f, "max." #f, F, F, F, F, greatest(x, y))                                         \
    X(copysign_##f, "copysign." #f, F, F, F, F, copy_sign(x, y))

#define OPS_OF_FLOATS_ALONE(X)                                                                \
    X(fma_f32, "fma.rn.f32", float, float, float, float, canonical(__builtin_fmaf(x, y, z)))  \
    X(fma_f64, "fma.rn.f64", double, double, double, double, canonical(__builtin_fma(x, y, z))) \
    X(sqrt_f32, "sqrt.rn.f32", float, float, float, float, canonical(__builtin_sqrtf(x)))     \
    X(sqrt_f64, "sqrt.rn.f64", double, double, double, double, canonical(__builtin_sqrt(x)))  \
    X(neg_f32, "neg.f32", uint32_t, uint32_t, uint32_t, uint32_t, x ^ 0x80000000u)            \
    X(abs_f32, "abs.f32", uint32_t, uint32_t, uint32_t, uint32_t, x & 0x7fffffffu)            \
    X(neg_f64, "neg.f64", uint64_t, uint64_t, uint64_t, uint64_t, x ^ (1ull << 63))           \
    X(abs_f64, "abs.f64", uint64_t, uint64_t, uint64_t, uint64_t, x & ~(1ull << 63))          \
    X(slct_f32, "slct.b32.f32", uint32_t, uint32_t, uint32_t, float, z >= 0 ? x : y)          \
    X(slct_f64, "slct.b64.f32", uint64_t, uint64_t, uint64_t, float, z >= 0 ? x : y)

// Instructions that the device approximates have a random error here, within the bound of the PTX manual
// (approximate.c).
#define OPS_APPROXIMATE(X)                                                                    \
    X(ex2_approx, "ex2.approx.f32", float, float, float, float, approximate_ex2(x))           \
    X(lg2_approx, "lg2.approx.f32", float, float, float, float, approximate_lg2(x))           \
    X(sin_approx, "sin.approx.f32", float, float, float, float, approximate_sin(x))           \
    X(cos_approx, "cos.approx.f32", float, float, float, float, approximate_cos(x))           \
    X(tanh_approx, "tanh.approx.f32", float, float, float, float, approximate_tanh(x))        \
    X(rcp_approx, "rcp.approx.f32", float, float, float, float, approximate_quotient(1, x, 1)) \
    X(div_approx, "div.approx.f32", float, float, float, float, approximate_quotient(x, y, 2)) \
    X(div_full, "div.full.f32", float, float, float, float, approximate_quotient(x, y, 2))    \
    X(sqrt_approx, "sqrt.approx.f32", float, float, float, float, approximate_sqrt(x))        \
    X(rsqrt_approx, "rsqrt.approx.f32", float, float, float, float, approximate_rsqrt(x))     \
    X(rsqrt_approx_f64, "rsqrt.approx.f64", double, double, double, double, 1 / __builtin_sqrt(x))

#define COMPARES_OF_INTEGERS(X, T, t, CAST)                                                   \
    X(setp_eq_##t, "setp.eq." #t, int32_t, T, T, T, -(CAST x == CAST y))                      \
    X(setp_ne_##t, "setp.ne." #t, int32_t, T, T, T, -(CAST x != CAST y))                      \
    X(setp_lt_##t, "setp.lt." #t, int32_t, T, T, T, -(CAST x < CAST y))                       \
    X(setp_le_##t, "setp.le." #t, int32_t, T, T, T, -(CAST x <= CAST y))                      \
    X(setp_gt_##t, "setp.gt." #t, int32_t, T, T, T, -(CAST x > CAST y))                       \
    X(setp_ge_##t, "setp.ge." #t, int32_t, T, T, T, -(CAST x >= CAST y))

#define COMPARES_OF_FLOATS(X, T, t)                                                           \
    X(setp_eq_##t, "setp.eq." #t, int32_t, T, T, T, -(x == y))                                \
    X(setp_ne_##t, "setp.ne." #t, int32_t, T, T, T, -(x < y || x > y))                        \
    X(setp_lt_##t, "setp.lt." #t, int32_t, T, T, T, -(x < y))                                 \
    X(setp_le_##t, "setp.le." #t, int32_t, T, T, T, -(x <= y))                                \
    X(setp_gt_##t, "setp.gt." #t, int32_t, T, T, T, -(x > y))                                 \
    X(setp_ge_##t, "setp.ge." #t, int32_t, T, T, T, -(x >= y))                                \
    X(setp_equ_##t, "setp.equ." #t, int32_t, T, T, T, -!(x < y || x > y))                     \
    X(setp_neu_##t, "setp.neu." #t, int32_t, T, T, T, -(x != y))                              \
    X(setp_ltu_##t, "setp.ltu." #t, int32_t, T, T, T, -!(x >= y))                             \
    X(setp_leu_##t, "setp.leu." #t, int32_t, T, T, T, -!(x > y))                              \
    X(setp_gtu_##t, "setp.gtu." #t, int32_t, T, T, T, -!(x <= y))                             \
    X(setp_geu_##t, "setp.geu." #t, int32_t, T, T, T, -!(x < y))                              \
    X(setp_num_##t, "setp.num." #t, int32_t, T, T, T, -(x == x && y == y))                    \
    X(setp_nan_##t, "setp.nan." #t, int32_t, T, T, T, -(x != x || y != y))

#define LANE_OPS(X)                                                                           \
    OPS_OF_INTEGERS(X, uint32_t, int32_t, u32, s32, b32)                                      \
    OPS_OF_INTEGERS(X, uint64_t, int64_t, u64, s64, b64)                                      \
    OPS_OF_SHORTS(X)                                                                          \
    OPS_OF_MIXED(X)                                                                           \
    OPS_OF_FLOATS(X, float, f32)                                                              \
    OPS_OF_FLOATS(X, double, f64)                                                             \
    OPS_OF_FLOATS_ALONE(X)                                                                    \
    OPS_APPROXIMATE(X)                                                                        \
    COMPARES_OF_INTEGERS(X, uint32_t, u16, (uint16_t))                                        \
    COMPARES_OF_INTEGERS(X, uint32_t, s16, (int16_t))                                         \
    COMPARES_OF_INTEGERS(X, uint32_t, u32, )                                                  \
    COMPARES_OF_INTEGERS(X, int32_t, s32, )                                                   \
    COMPARES_OF_INTEGERS(X, uint64_t, u64, )                                                  \
    COMPARES_OF_INTEGERS(X, int64_t, s64, )                                                   \
    COMPARES_OF_FLOATS(X, float, f32)                                                         \
    COMPARES_OF_FLOATS(X, double, f64)

// The other instructions. The interpreter has separate code for each.
enum {
#define X(name, ...) OP_##name,
    LANE_OPS(X)
#undef X
    OP_bfi, OP_bfi_64, OP_convert, OP_pack, OP_unpack, OP_load, OP_store, OP_atomic, OP_prefetch,
    OP_branch, OP_call, OP_return, OP_exit, OP_trap, OP_barrier, OP_warp_barrier, OP_fence, OP_shuffle, OP_vote, OP_activemask,
    OP_match, OP_to_shared, OP_to_local, OP_from_shared, OP_from_local, OP_clock, OP_nothing, OP_lop3,
};

// Kinds of atomic instructions (field compare of the instruction).
enum { ATOMIC_ADD, ATOMIC_MIN, ATOMIC_MAX, ATOMIC_INC, ATOMIC_DEC, ATOMIC_EXCH, ATOMIC_CAS, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR };
enum { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };
enum { VOTE_ANY, VOTE_ALL, VOTE_UNI, VOTE_BALLOT };
enum { SPECIAL_TID_X, SPECIAL_TID_Y, SPECIAL_TID_Z, SPECIAL_NTID_X, SPECIAL_NTID_Y, SPECIAL_NTID_Z, SPECIAL_CTAID_X,
       SPECIAL_CTAID_Y, SPECIAL_CTAID_Z, SPECIAL_NCTAID_X, SPECIAL_NCTAID_Y, SPECIAL_NCTAID_Z, SPECIAL_LANEID,
       SPECIAL_WARPID, SPECIAL_NWARPID, SPECIAL_SMID, SPECIAL_NSMID, SPECIAL_LANEMASK_EQ, SPECIAL_LANEMASK_LT,
       SPECIAL_LANEMASK_LE, SPECIAL_LANEMASK_GT, SPECIAL_LANEMASK_GE, SPECIAL_COUNT };
