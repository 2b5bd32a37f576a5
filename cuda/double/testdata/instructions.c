// Tests each instruction that computes lane by lane against C. The program runs each on all lanes of a warp, and on
// only some lanes; the other lanes must keep their values. The PTX is written here.
#include <fenv.h>

#include "check.h"

enum { COUNT = 4096 - 13, THREADS = 128 };

typedef uint64_t Bits;
typedef Bits (*Reference)(Bits, Bits, Bits);
typedef struct {
    const char *name, *operands;       // operand widths: of d, then of the sources: p, h, w, d
    Reference reference;
    char result;                       // f, d: a float, with all NaNs equal; a: approximate
} Row;

static float f(Bits b) { float x; uint32_t w = (uint32_t)b; memcpy(&x, &w, 4); return x; }
static double d(Bits b) { double x; memcpy(&x, &b, 8); return x; }
static Bits bf(float x) { uint32_t w; memcpy(&w, &x, 4); return x != x ? 0x7fffffff : w; }
static Bits bd(double x) { Bits b; memcpy(&b, &x, 8); return b; }

#define REF(name, value) static Bits name(Bits a, Bits b, Bits c) { (void)a, (void)b, (void)c; return (Bits)(value); }
#define I(b) ((int32_t)(b))
#define U(b) ((uint32_t)(b))
#define L(b) ((int64_t)(b))
#define H(b) ((uint16_t)(b))
#define S(b) ((int16_t)(b))

REF(add, a + b) REF(sub, a - b) REF(mul, a * b) REF(mad, a * b + c) REF(and, a & b) REF(or, a | b) REF(xor, a ^ b) REF(not, ~a) REF(neg, 0 - a)
REF(mov, a) REF(selp, c & 1 ? a : b)
REF(div_u32, U(b) ? U(a) / U(b) : ~0u) REF(rem_u32, U(b) ? U(a) % U(b) : U(a))
REF(div_u64, b ? a / b : ~0ull) REF(rem_u64, b ? a % b : a)
REF(div_s32, I(b) ? (I(b) == -1 ? 0 - U(a) : U(I(a) / I(b))) : ~0u) REF(rem_s32, I(b) && I(b) != -1 ? I(a) % I(b) : I(b) ? 0 : I(a))
REF(div_s64, b ? (L(b) == -1 ? 0 - a : (Bits)(L(a) / L(b))) : ~0ull) REF(rem_s64, b && L(b) != -1 ? L(a) % L(b) : b ? 0 : L(a))
REF(div_u16, H(b) ? H(a) / H(b) : 0xffff) REF(rem_u16, H(b) ? H(a) % H(b) : H(a))
REF(min_u32, U(a) < U(b) ? a : b) REF(max_u32, U(a) < U(b) ? b : a) REF(min_s32, I(a) < I(b) ? a : b) REF(max_s32, I(a) < I(b) ? b : a)
REF(min_u64, a < b ? a : b) REF(max_u64, a < b ? b : a) REF(min_s64, L(a) < L(b) ? a : b) REF(max_s64, L(a) < L(b) ? b : a)
REF(min_u16, H(a) < H(b) ? a : b) REF(max_s16, S(a) < S(b) ? b : a) REF(min_s16, S(a) < S(b) ? a : b) REF(max_u16, H(a) < H(b) ? b : a)
REF(abs_s32, I(a) < 0 ? 0 - U(a) : U(a)) REF(abs_s64, L(a) < 0 ? 0 - a : a) REF(abs_s16, S(a) < 0 ? 0 - a : a)
REF(mul_hi_u32, (Bits)U(a) * U(b) >> 32) REF(mul_hi_s32, ((int64_t)I(a) * I(b)) >> 32)
REF(mul_hi_u64, ((unsigned __int128)a * b) >> 64) REF(mul_hi_s64, ((__int128)L(a) * L(b)) >> 64)
REF(mul_hi_u16, (U(H(a)) * H(b)) >> 16) REF(mul_hi_s16, (S(a) * S(b)) >> 16)
REF(wide_u32, (Bits)U(a) * U(b)) REF(wide_s32, (int64_t)I(a) * I(b)) REF(wide_u16, (uint32_t)H(a) * H(b)) REF(wide_s16, S(a) * S(b))
REF(mad_wide_u32, (Bits)U(a) * U(b) + c) REF(mad_wide_s32, (Bits)((int64_t)I(a) * I(b)) + c)
REF(mad_hi_u32, ((Bits)U(a) * U(b) >> 32) + c) REF(mad_hi_s32, (Bits)(((int64_t)I(a) * I(b)) >> 32) + c)
REF(mul24, (a & 0xffffff) * (b & 0xffffff))
REF(sad_u32, c + (U(a) < U(b) ? b - a : a - b)) REF(sad_s32, c + (I(a) < I(b) ? b - a : a - b))
REF(shl_32, U(b) < 32 ? U(a) << U(b) : 0) REF(shl_64, U(b) < 64 ? a << U(b) : 0) REF(shl_16, U(b) < 16 ? H(a) << U(b) : 0)
REF(shr_u32, U(b) < 32 ? U(a) >> U(b) : 0) REF(shr_s32, I(a) >> (U(b) < 32 ? U(b) : 31)) REF(shr_u64, U(b) < 64 ? a >> U(b) : 0)
REF(shr_s64, L(a) >> (U(b) < 64 ? U(b) : 63)) REF(shr_u16, U(b) < 16 ? H(a) >> U(b) : 0) REF(shr_s16, S(a) >> (U(b) < 16 ? U(b) : 15))
REF(slct, I(c) >= 0 ? a : b) REF(slct_f, f(c) >= 0 ? a : b) REF(cnot, U(a) == 0) REF(cnot_64, a == 0)

static Bits popc(Bits a, int bits) { Bits n = 0; for (int k = 0; k < bits; k++) n += a >> k & 1; return n; }
static Bits clz(Bits a, int bits) { Bits n = 0; for (int k = bits - 1; k >= 0 && !(a >> k & 1); k--) n++; return n; }
static Bits brev(Bits a, int bits) { Bits r = 0; for (int k = 0; k < bits; k++) r |= (a >> k & 1) << (bits - 1 - k); return r; }
static Bits bfind(Bits a, int bits, bool is_signed) {
    bool sign = is_signed && a >> (bits - 1) & 1;
    for (int k = bits - 1; k >= 0; k--)
        if ((a >> k & 1) != sign) return (Bits)k;
    return 0xffffffff;
}
static Bits bfe(Bits a, Bits b, Bits c, int bits, bool is_signed) {    // as defined in the manual
    int pos = b & 255, len = c & 255, msb = bits - 1;
    int at = pos + len - 1 < msb ? pos + len - 1 : msb;
    bool sign = is_signed && len && (a >> at & 1);
    Bits r = 0;
    for (int i = 0; i <= msb; i++) r |= (Bits)(i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
    return r;
}
static Bits prmt(Bits a, Bits b, Bits c) {
    uint8_t bytes[8], r[4];
    for (int k = 0; k < 4; k++) bytes[k] = (uint8_t)(a >> 8 * k), bytes[4 + k] = (uint8_t)(b >> 8 * k);
    for (int k = 0; k < 4; k++) {
        int s = c >> 4 * k & 15;
        r[k] = s & 8 ? (bytes[s & 7] & 128 ? 255 : 0) : bytes[s & 7];
    }
    return r[0] | r[1] << 8 | r[2] << 16 | (Bits)r[3] << 24;
}
REF(popc_32, popc(a, 32)) REF(popc_64, popc(a, 64)) REF(clz_32, clz(a, 32)) REF(clz_64, clz(a, 64)) REF(brev_32, brev(a, 32)) REF(brev_64, brev(a, 64))
REF(bfind_u32, bfind(a, 32, false)) REF(bfind_s32, bfind(a, 32, true)) REF(bfind_u64, bfind(a, 64, false)) REF(bfind_s64, bfind(a, 64, true))
REF(bfe_u32, bfe(a, b, c, 32, false)) REF(bfe_s32, bfe(a, b, c, 32, true)) REF(bfe_u64, bfe(a, b, c, 64, false)) REF(bfe_s64, bfe(a, b, c, 64, true))
REF(shf_l_wrap, (U(c) & 31) ? U(b) << (U(c) & 31) | U(a) >> (32 - (U(c) & 31)) : U(b))
REF(shf_r_wrap, (U(c) & 31) ? U(a) >> (U(c) & 31) | U(b) << (32 - (U(c) & 31)) : U(a))
REF(shf_l_clamp, U(c) >= 32 ? U(a) : U(c) ? U(b) << U(c) | U(a) >> (32 - U(c)) : U(b))
REF(shf_r_clamp, U(c) >= 32 ? U(b) : U(c) ? U(a) >> U(c) | U(b) << (32 - U(c)) : U(a))

REF(add_f32, bf(f(a) + f(b))) REF(sub_f32, bf(f(a) - f(b))) REF(mul_f32, bf(f(a) * f(b))) REF(div_f32, bf(f(a) / f(b)))
REF(fma_f32, bf(fmaf(f(a), f(b), f(c)))) REF(sqrt_f32, bf(sqrtf(f(a)))) REF(rcp_f32, bf(1 / f(a)))
REF(add_f64, bd(d(a) + d(b))) REF(sub_f64, bd(d(a) - d(b))) REF(mul_f64, bd(d(a) * d(b))) REF(div_f64, bd(d(a) / d(b)))
REF(fma_f64, bd(fma(d(a), d(b), d(c)))) REF(sqrt_f64, bd(sqrt(d(a)))) REF(rcp_f64, bd(1 / d(a)))
REF(neg_f32, a ^ 0x80000000) REF(abs_f32, a & 0x7fffffff) REF(neg_f64, a ^ 1ull << 63) REF(abs_f64, a & ~(1ull << 63))
REF(copysign_f32, (a & 0x80000000) | (b & 0x7fffffff)) REF(copysign_f64, (a & 1ull << 63) | (b & ~(1ull << 63)))
static bool below(double x, double y) { return x < y || (x == y && signbit(x) > signbit(y)); }
REF(min_f32, isnan(f(a)) ? bf(f(b)) : isnan(f(b)) ? bf(f(a)) : below(f(a), f(b)) ? a : b)
REF(max_f32, isnan(f(a)) ? bf(f(b)) : isnan(f(b)) ? bf(f(a)) : below(f(a), f(b)) ? b : a)
REF(min_f64, isnan(d(a)) ? b : isnan(d(b)) ? a : below(d(a), d(b)) ? a : b)
REF(max_f64, isnan(d(a)) ? b : isnan(d(b)) ? a : below(d(a), d(b)) ? b : a)
static float flush(Bits a) { float x = f(a); return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }
REF(add_ftz, bf(flush(bf(flush(a) + flush(b))))) REF(mul_ftz, bf(flush(bf(flush(a) * flush(b))))) REF(fma_ftz, bf(flush(bf(fmaf(flush(a), flush(b), flush(c))))))
static float clamp(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
REF(add_sat, bf(clamp(f(a) + f(b)))) REF(fma_sat, bf(clamp(fmaf(f(a), f(b), f(c)))))

#define COMPARES(T, name, get)                                                                                              \
    REF(eq_##name, get(T, a) == get(T, b)) REF(ne_##name, get(T, a) != get(T, b)) REF(lt_##name, get(T, a) < get(T, b))      \
    REF(le_##name, get(T, a) <= get(T, b)) REF(gt_##name, get(T, a) > get(T, b)) REF(ge_##name, get(T, a) >= get(T, b))
#define CAST(T, x) ((T)(x))
#define FLOAT(T, x) f(x)
#define DOUBLE(T, x) d(x)
COMPARES(uint16_t, u16, CAST) COMPARES(int16_t, s16, CAST) COMPARES(uint32_t, u32, CAST) COMPARES(int32_t, s32, CAST)
COMPARES(uint64_t, u64, CAST) COMPARES(int64_t, s64, CAST)
#define FLOAT_COMPARES(name, get)                                                                                           \
    REF(eq_##name, get(, a) == get(, b)) REF(ne_##name, !isunordered(get(, a), get(, b)) && get(, a) != get(, b))            \
    REF(lt_##name, isless(get(, a), get(, b))) REF(le_##name, islessequal(get(, a), get(, b)))                               \
    REF(gt_##name, isgreater(get(, a), get(, b))) REF(ge_##name, isgreaterequal(get(, a), get(, b)))                         \
    REF(equ_##name, isunordered(get(, a), get(, b)) || get(, a) == get(, b)) REF(neu_##name, get(, a) != get(, b))           \
    REF(ltu_##name, !isgreaterequal(get(, a), get(, b))) REF(leu_##name, !isgreater(get(, a), get(, b)))                     \
    REF(gtu_##name, !islessequal(get(, a), get(, b))) REF(geu_##name, !isless(get(, a), get(, b)))                           \
    REF(num_##name, !isunordered(get(, a), get(, b))) REF(nan_##name, isunordered(get(, a), get(, b)))
FLOAT_COMPARES(f32, FLOAT) FLOAT_COMPARES(f64, DOUBLE)
REF(lt_and, (I(a) < I(b)) & c) REF(ge_or, (U(a) >= U(b)) | (c & 1)) REF(eq_xor, (f(a) == f(b)) ^ (c & 1))
REF(and_pred, a & b & 1) REF(or_pred, (a | b) & 1) REF(xor_pred, (a ^ b) & 1) REF(not_pred, ~a & 1)

#define INTEGER_COMPARES(name, w)                                                                                           \
    {"setp.eq." #name, "p" w w, eq_##name, 0}, {"setp.ne." #name, "p" w w, ne_##name, 0}, {"setp.lt." #name, "p" w w, lt_##name, 0}, \
    {"setp.le." #name, "p" w w, le_##name, 0}, {"setp.gt." #name, "p" w w, gt_##name, 0}, {"setp.ge." #name, "p" w w, ge_##name, 0}
#define UNORDERED_COMPARES(name, w)                                                                                         \
    {"setp.equ." #name, "p" w w, equ_##name, 0}, {"setp.neu." #name, "p" w w, neu_##name, 0}, {"setp.ltu." #name, "p" w w, ltu_##name, 0}, \
    {"setp.leu." #name, "p" w w, leu_##name, 0}, {"setp.gtu." #name, "p" w w, gtu_##name, 0}, {"setp.geu." #name, "p" w w, geu_##name, 0}, \
    {"setp.num." #name, "p" w w, num_##name, 0}, {"setp.nan." #name, "p" w w, nan_##name, 0}

static const Row rows[] = {
    {"add.u32", "www", add, 0}, {"add.s32", "www", add, 0}, {"sub.s32", "www", sub, 0}, {"mul.lo.s32", "www", mul, 0}, {"mad.lo.u32", "wwww", mad, 0},
    {"add.u64", "ddd", add, 0}, {"sub.s64", "ddd", sub, 0}, {"mul.lo.u64", "ddd", mul, 0}, {"mad.lo.s64", "dddd", mad, 0},
    {"add.u16", "hhh", add, 0}, {"sub.s16", "hhh", sub, 0}, {"mul.lo.s16", "hhh", mul, 0}, {"mad.lo.u16", "hhhh", mad, 0},
    {"div.u32", "www", div_u32, 0}, {"rem.u32", "www", rem_u32, 0}, {"div.s32", "www", div_s32, 0}, {"rem.s32", "www", rem_s32, 0},
    {"div.u64", "ddd", div_u64, 0}, {"rem.u64", "ddd", rem_u64, 0}, {"div.s64", "ddd", div_s64, 0}, {"rem.s64", "ddd", rem_s64, 0},
    {"div.u16", "hhh", div_u16, 0}, {"rem.u16", "hhh", rem_u16, 0},
    {"min.u32", "www", min_u32, 0}, {"max.u32", "www", max_u32, 0}, {"min.s32", "www", min_s32, 0}, {"max.s32", "www", max_s32, 0},
    {"min.u64", "ddd", min_u64, 0}, {"max.u64", "ddd", max_u64, 0}, {"min.s64", "ddd", min_s64, 0}, {"max.s64", "ddd", max_s64, 0},
    {"min.u16", "hhh", min_u16, 0}, {"max.u16", "hhh", max_u16, 0}, {"min.s16", "hhh", min_s16, 0}, {"max.s16", "hhh", max_s16, 0},
    {"neg.s32", "ww", neg, 0}, {"neg.s64", "dd", neg, 0}, {"neg.s16", "hh", neg, 0}, {"abs.s32", "ww", abs_s32, 0}, {"abs.s64", "dd", abs_s64, 0}, {"abs.s16", "hh", abs_s16, 0},
    {"and.b32", "www", and, 0}, {"or.b32", "www", or, 0}, {"xor.b32", "www", xor, 0}, {"not.b32", "ww", not, 0}, {"cnot.b32", "ww", cnot, 0}, {"cnot.b64", "dd", cnot_64, 0},
    {"and.b64", "ddd", and, 0}, {"or.b64", "ddd", or, 0}, {"xor.b64", "ddd", xor, 0}, {"not.b64", "dd", not, 0},
    {"and.b16", "hhh", and, 0}, {"or.b16", "hhh", or, 0}, {"xor.b16", "hhh", xor, 0}, {"not.b16", "hh", not, 0},
    {"shl.b32", "www", shl_32, 0}, {"shl.b64", "ddw", shl_64, 0}, {"shl.b16", "hhw", shl_16, 0}, {"shr.u32", "www", shr_u32, 0}, {"shr.s32", "www", shr_s32, 0},
    {"shr.b32", "www", shr_u32, 0}, {"shr.u64", "ddw", shr_u64, 0}, {"shr.s64", "ddw", shr_s64, 0}, {"shr.u16", "hhw", shr_u16, 0}, {"shr.s16", "hhw", shr_s16, 0},
    {"mov.u32", "ww", mov, 0}, {"mov.b64", "dd", mov, 0}, {"mov.u16", "hh", mov, 0}, {"mov.f32", "ww", mov, 0}, {"mov.pred", "pp", and_pred, 'm'},
    {"selp.b32", "wwwp", selp, 0}, {"selp.f64", "dddp", selp, 0}, {"selp.u16", "hhhp", selp, 0}, {"slct.b32.s32", "wwww", slct, 0}, {"slct.f64.s32", "dddw", slct, 0},
    {"slct.f32.f32", "wwww", slct_f, 0},
    {"mul.hi.u32", "www", mul_hi_u32, 0}, {"mul.hi.s32", "www", mul_hi_s32, 0}, {"mul.hi.u64", "ddd", mul_hi_u64, 0}, {"mul.hi.s64", "ddd", mul_hi_s64, 0},
    {"mul.hi.u16", "hhh", mul_hi_u16, 0}, {"mul.hi.s16", "hhh", mul_hi_s16, 0}, {"mad.hi.u32", "wwww", mad_hi_u32, 0}, {"mad.hi.s32", "wwww", mad_hi_s32, 0},
    {"mul.wide.u32", "dww", wide_u32, 0}, {"mul.wide.s32", "dww", wide_s32, 0}, {"mul.wide.u16", "whh", wide_u16, 0}, {"mul.wide.s16", "whh", wide_s16, 0},
    {"mad.wide.u32", "dwwd", mad_wide_u32, 0}, {"mad.wide.s32", "dwwd", mad_wide_s32, 0}, {"mul24.lo.u32", "www", mul24, 0}, {"sad.u32", "wwww", sad_u32, 0}, {"sad.s32", "wwww", sad_s32, 0},
    {"popc.b32", "ww", popc_32, 0}, {"popc.b64", "wd", popc_64, 0}, {"clz.b32", "ww", clz_32, 0}, {"clz.b64", "wd", clz_64, 0}, {"brev.b32", "ww", brev_32, 0}, {"brev.b64", "dd", brev_64, 0},
    {"bfind.u32", "ww", bfind_u32, 0}, {"bfind.s32", "ww", bfind_s32, 0}, {"bfind.u64", "wd", bfind_u64, 0}, {"bfind.s64", "wd", bfind_s64, 0},
    {"bfe.u32", "wwww", bfe_u32, 0}, {"bfe.s32", "wwww", bfe_s32, 0}, {"bfe.u64", "ddww", bfe_u64, 0}, {"bfe.s64", "ddww", bfe_s64, 0}, {"prmt.b32", "wwww", prmt, 0},
    {"shf.l.wrap.b32", "wwww", shf_l_wrap, 0}, {"shf.r.wrap.b32", "wwww", shf_r_wrap, 0}, {"shf.l.clamp.b32", "wwww", shf_l_clamp, 0}, {"shf.r.clamp.b32", "wwww", shf_r_clamp, 0},
    {"add.f32", "www", add_f32, 'f'}, {"add.rn.f32", "www", add_f32, 'f'}, {"sub.f32", "www", sub_f32, 'f'}, {"mul.rn.f32", "www", mul_f32, 'f'}, {"div.rn.f32", "www", div_f32, 'f'},
    {"fma.rn.f32", "wwww", fma_f32, 'f'}, {"sqrt.rn.f32", "ww", sqrt_f32, 'f'}, {"rcp.rn.f32", "ww", rcp_f32, 'f'}, {"min.f32", "www", min_f32, 'f'}, {"max.f32", "www", max_f32, 'f'},
    {"add.f64", "ddd", add_f64, 'd'}, {"sub.rn.f64", "ddd", sub_f64, 'd'}, {"mul.f64", "ddd", mul_f64, 'd'}, {"div.rn.f64", "ddd", div_f64, 'd'}, {"fma.rn.f64", "dddd", fma_f64, 'd'},
    {"sqrt.rn.f64", "dd", sqrt_f64, 'd'}, {"rcp.rn.f64", "dd", rcp_f64, 'd'}, {"min.f64", "ddd", min_f64, 'd'}, {"max.f64", "ddd", max_f64, 'd'},
    {"neg.f32", "ww", neg_f32, 0}, {"abs.f32", "ww", abs_f32, 0}, {"neg.f64", "dd", neg_f64, 0}, {"abs.f64", "dd", abs_f64, 0}, {"copysign.f32", "www", copysign_f32, 0}, {"copysign.f64", "ddd", copysign_f64, 0},
    {"add.ftz.f32", "www", add_ftz, 'f'}, {"mul.rn.ftz.f32", "www", mul_ftz, 'f'}, {"fma.rn.ftz.f32", "wwww", fma_ftz, 'f'}, {"add.sat.f32", "www", add_sat, 'f'}, {"fma.rn.sat.f32", "wwww", fma_sat, 'f'},
    INTEGER_COMPARES(u16, "h"), INTEGER_COMPARES(s16, "h"), INTEGER_COMPARES(u32, "w"), INTEGER_COMPARES(s32, "w"), INTEGER_COMPARES(u64, "d"), INTEGER_COMPARES(s64, "d"),
    INTEGER_COMPARES(f32, "w"), INTEGER_COMPARES(f64, "d"), UNORDERED_COMPARES(f32, "w"), UNORDERED_COMPARES(f64, "d"),
    {"setp.eq.b32", "pww", eq_u32, 0}, {"setp.lo.u32", "pww", lt_u32, 0}, {"setp.hs.u64", "pdd", ge_u64, 0},
    {"setp.lt.and.s32", "pwwp", lt_and, 0}, {"setp.ge.or.u32", "pwwp", ge_or, 0}, {"setp.eq.xor.f32", "pwwp", eq_xor, 0},
    {"and.pred", "ppp", and_pred, 0}, {"or.pred", "ppp", or_pred, 0}, {"xor.pred", "ppp", xor_pred, 0}, {"not.pred", "pp", not_pred, 0},
};

static Bits operand(void) {
    static const float floats[] = {0, -0.f, 1, -1, 0.5f, 2.5f, -1.5f, 0x1p-149f, -0x1p-140f, 0x1p-126f, 0x1.fffffep127f, 1e-20f, 65504, 3, 1e9f, -3e9f, INFINITY, -INFINITY, NAN};
    Bits random = random_bits();
    int n = (int)(random_bits() % 19);
    switch (random_bits() % 6) {
    case 0: return random;
    case 1: return random % 70;
    case 2: return bf(floats[n]) | (random & 1 ? random << 32 : 0);
    case 3: return bd(floats[n]);
    case 4: return (Bits[]){0, 1, ~0ull, 1ull << 63, 0x7fffffff, 0x80000000, 0x8000, 0x7fff, ~0ull >> 1}[random % 9];
    default: return random & 1 ? bf((float)((double)(int32_t)random / 65536)) : bd((double)L(random) / 1e15);
    }
}

static const char *reg(char width) { return width == 'p' ? "%p" : width == 'h' ? "%h" : width == 'w' ? "%r" : "%x"; }
static Bits narrow(char width, Bits b) { return width == 'p' ? b & 1 : width == 'h' ? b & 0xffff : width == 'w' ? b & 0xffffffff : b; }

static int head(char *ptx) {
    return sprintf(ptx, ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .u32 m)\n{\n"
                        ".reg .pred %%p<8>; .reg .b16 %%h<8>; .reg .b32 %%r<16>; .reg .b64 %%x<24>;\n"
                        "mov.u32 %%r9, %%ctaid.x;\nmov.u32 %%r10, %%ntid.x;\nmov.u32 %%r11, %%tid.x;\nmad.lo.s32 %%r9, %%r9, %%r10, %%r11;\nld.param.u32 %%r12, [n];\n"
                        "setp.ge.u32 %%p6, %%r9, %%r12;\n@%%p6 bra end;\nmul.wide.u32 %%x9, %%r9, 8;\n");
}

// source writes a program that reads the operands, runs one instruction on lanes whose index has none of the bits
// of m, and writes the result.
static void source(char *ptx, const char *name, const char *operands, char result) {
    char *at = ptx + head(ptx);
    int count = (int)strlen(operands) - 1;
    for (int k = 0; k < count; k++) {
        char width = operands[k + 1];
        at += sprintf(at, "ld.param.u64 %%x10, [%c];\nadd.s64 %%x10, %%x10, %%x9;\n", 'a' + k);
        if (width == 'p') at += sprintf(at, "ld.global.u32 %%r8, [%%x10];\nand.b32 %%r8, %%r8, 1;\nsetp.ne.s32 %%p%d, %%r8, 0;\n", k + 1);
        else at += sprintf(at, "ld.global.%s %s%d, [%%x10];\n", width == 'h' ? "u16" : width == 'w' ? "u32" : "u64", reg(width), k + 1);
    }
    char to = operands[0];
    if (to == 'p') at += sprintf(at, "setp.eq.u32 %%p0, 0, 0;\n");
    else at += sprintf(at, "mov.%s %s0, 23130;\n", to == 'h' ? "u16" : to == 'w' ? "u32" : "u64", reg(to));
    at += sprintf(at, "ld.param.u32 %%r13, [m];\nand.b32 %%r13, %%r13, %%r9;\nsetp.ne.s32 %%p7, %%r13, 0;\n@%%p7 bra done;\n%s %s0", name, reg(to));
    for (int k = 0; k < count; k++) at += sprintf(at, ", %s%d", reg(operands[k + 1]), k + 1);
    at += sprintf(at, ";\ndone:\nld.param.u64 %%x10, [d];\nadd.s64 %%x10, %%x10, %%x9;\n");
    if (to == 'p') at += sprintf(at, "selp.u64 %%x11, 1, 0, %%p0;\n");
    else at += sprintf(at, to == 'd' ? "mov.b64 %%x11, %%x0;\n" : "cvt.u64.%s %%x11, %s0;\n", to == 'h' ? "u16" : "u32", reg(to));
    sprintf(at, "st.global.u64 [%%x10], %%x11;\nend:\nret;\n}\n");
    (void)result;
}

static Bits host[4][COUNT];
static Pointer memory[4];

static void run(const char *ptx, unsigned mask) {
    void *module;
    TRUE(cuModuleLoadData(&module, ptx) == 0, "%s", ptx);
    OK(LAUNCH(function(module, "k"), (COUNT + THREADS - 1) / THREADS, THREADS, NULL, &memory[3], &memory[0], &memory[1], &memory[2], ARGUMENT(COUNT), &mask));
    OK(cuMemcpyDtoH_v2(host[3], memory[3], sizeof host[3]));
    OK(cuModuleUnload(module));
}

static void test(const Row *row) {
    char ptx[8192];
    source(ptx, row->name, row->operands, row->result);
    for (unsigned mask = 0; mask < 2; mask++) {
        run(ptx, mask * 5);
        for (int n = 0; n < COUNT; n++) {
            Bits o[3];
            for (int k = 0; k < 3; k++) o[k] = k + 1 < (int)strlen(row->operands) ? narrow(row->operands[k + 1], host[k][n]) : 0;
            Bits want = row->result == 'm' ? o[0] : row->reference(o[0], o[1], o[2]);
            if (mask && n & 5) want = row->operands[0] == 'p' ? 1 : 23130;
            want = narrow(row->operands[0], want);
            bool same = host[3][n] == want || (row->result == 'd' && isnan(d(want)) && isnan(d(host[3][n])));
            TRUE(same, "%s of %#llx, %#llx, %#llx is %#llx, want %#llx", row->name, (unsigned long long)o[0], (unsigned long long)o[1],
                 (unsigned long long)o[2], (unsigned long long)host[3][n], (unsigned long long)want);
        }
    }
}

// Approximate instructions have an error, and it stays within their bound.
static void approximate(const char *name, const char *operands, double (*exact)(double, double), double bound, bool absolute) {
    char ptx[8192];
    source(ptx, name, operands, 'f');
    for (int n = 0; n < COUNT; n++)
        for (int k = 0; k < 2; k++) host[k][n] = bf((float)(0.51 + 1.4 * (double)(random_bits() >> 11) / (1ull << 53)));
    for (int k = 0; k < 2; k++) OK(cuMemcpyHtoD_v2(memory[k], host[k], sizeof host[k]));
    run(ptx, 0);
    int errs = 0;
    for (int n = 0; n < COUNT; n++) {
        double want = exact(f(host[0][n]), f(host[1][n])), got = f(host[3][n]), error = fabs(got - want) / (absolute ? 1 : fabs(want));
        TRUE(error <= bound, "%s of %g, %g is %.9g, want %.9g", name, f(host[0][n]), f(host[1][n]), got, want);
        errs += got != (float)want;
    }
    TRUE(errs > COUNT / 20, "%s errs %d times of %d", name, errs, COUNT);
}
static double ex2(double x, double y) { (void)y; return exp2(x); }
static double lg2(double x, double y) { (void)y; return log2(x); }
static double sine(double x, double y) { (void)y; return sin(x); }
static double cosine(double x, double y) { (void)y; return cos(x); }
static double reciprocal(double x, double y) { (void)y; return 1 / x; }
static double quotient(double x, double y) { return x / y; }
static double root(double x, double y) { (void)y; return sqrt(x); }
static double inverse_root(double x, double y) { (void)y; return 1 / sqrt(x); }

// Conversions, compared with the rounding of the host's own unit.
static const char *types[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64"};
static const int bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8};

static long double number(int type, Bits b) {
    if (type < 8) {
        int bits = 8 * bytes[type];
        Bits low = bits == 64 ? b : b & ((1ull << bits) - 1);
        return type & 1 ? (long double)((int64_t)(low << (64 - bits)) >> (64 - bits)) : (long double)low;
    }
    if (type == 9) return f(b);
    if (type == 10) return d(b);
    int e = b >> 10 & 31, m = b & 1023;
    long double x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpl(1024 + m, e - 25) : ldexpl(m, -24);
    return b & 0x8000 ? -x : x;
}

static Bits to_half(long double x) {
    if (isnan(x)) return 0x7fff;
    Bits sign = signbit(x) ? 0x8000 : 0;
    x = fabsl(x);
    if (x >= 65520) return sign | 0x7c00;
    int e = x < 0x1p-14L ? -14 : ilogbl(x);
    Bits m = (Bits)rintl(ldexpl(x, 10 - e));
    return sign | (x < 0x1p-14L ? m : (Bits)(e + 14) * 1024 + m);
}

static void convert(int to, int from, const char *round, int mode) {
    char name[64], ptx[8192], operands[3] = {bytes[to] == 8 ? 'd' : bytes[to] == 4 ? 'w' : 'h', bytes[from] == 8 ? 'd' : bytes[from] == 4 ? 'w' : 'h', 0};
    sprintf(name, "cvt%s.%s.%s", round, types[to], types[from]);
    source(ptx, name, operands, 0);
    run(ptx, 0);
    fesetround(mode);
    for (int n = 0; n < COUNT; n++) {
        volatile long double x = number(from, host[0][n]);
        Bits want;
        if (to >= 8 && from >= 8 && round[0] && round[3]) x = rintl(x);
        if (to == 9) want = bf((float)x);
        else if (to == 10) want = bd((double)x);
        else if (to == 8) want = to_half(x);
        else if (from < 8) want = (Bits)(from & 1 ? (Bits)(int64_t)x : (Bits)x);
        else {
            long double low = to & 1 ? -ldexpl(1, 8 * bytes[to] - 1) : 0, high = ldexpl(1, 8 * bytes[to] - (to & 1)) - 1;
            long double r = isnan(x) ? 0 : rintl(x);
            r = r < low ? low : r > high ? high : r;
            want = r < 0 ? (Bits)(int64_t)r : (Bits)r;
        }
        if (to < 8 && bytes[to] == 1) want = to & 1 ? (Bits)(int64_t)(int8_t)want : (uint8_t)want;
        want = narrow(operands[0], want);
        bool same = host[3][n] == want || (to == 10 && isnan(d(want)) && isnan(d(host[3][n])));
        TRUE(same, "%s of %#llx is %#llx, want %#llx", name, (unsigned long long)host[0][n], (unsigned long long)host[3][n], (unsigned long long)want);
    }
    fesetround(FE_TONEAREST);
}

int main(void) {
    begin();
    for (int k = 0; k < 4; k++) memory[k] = device(sizeof host[k]);
    for (int k = 0; k < 3; k++) {
        for (int n = 0; n < COUNT; n++) host[k][n] = operand();
        OK(cuMemcpyHtoD_v2(memory[k], host[k], sizeof host[k]));
    }
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) test(&rows[n]);
    static const struct { const char *integer, *value; int mode; } rounds[] = {
        {".rni", ".rn", FE_TONEAREST}, {".rzi", ".rz", FE_TOWARDZERO}, {".rmi", ".rm", FE_DOWNWARD}, {".rpi", ".rp", FE_UPWARD}};
    for (int to = 0; to < 11; to++)
        for (int from = 0; from < 11; from++) {
            bool exact = (to < 8 && from < 8) || (to >= 8 && from >= 8 && bytes[to] > bytes[from]);
            if (exact) convert(to, from, "", FE_TONEAREST);
            for (int r = 0; r < 4; r++) {
                if (to < 8 && from >= 8) convert(to, from, rounds[r].integer, rounds[r].mode);
                if (to >= 8 && to == from && to != 8) convert(to, from, rounds[r].integer, rounds[r].mode);
                if (to >= 9 && (from < 8 || bytes[to] < bytes[from])) convert(to, from, rounds[r].value, rounds[r].mode);
            }
            if (to == 8 && from != 8) convert(to, from, ".rn", FE_TONEAREST);
        }
    approximate("ex2.approx.f32", "ww", ex2, 0x1p-22, false);
    approximate("ex2.approx.ftz.f32", "ww", ex2, 0x1p-22, false);
    approximate("lg2.approx.f32", "ww", lg2, 0x1p-22, true);
    approximate("sin.approx.f32", "ww", sine, 0x1p-20, true);
    approximate("cos.approx.f32", "ww", cosine, 0x1p-20, true);
    approximate("rcp.approx.f32", "ww", reciprocal, 0x1p-23, false);
    approximate("div.approx.f32", "www", quotient, 0x1p-22, false);
    approximate("div.full.f32", "www", quotient, 0x1p-22, false);
    approximate("sqrt.approx.f32", "ww", root, 0x1p-23, false);
    approximate("rsqrt.approx.f32", "ww", inverse_root, 0x1p-22, false);
    for (int k = 0; k < 4; k++) OK(cuMemFree_v2(memory[k]));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    printf("ok\n");
    return 0;
}
