// Conversions between types, as by the instruction cvt.
#include <math.h>
#include <string.h>

#include "interpret.h"

// value_of returns a value of any type exactly: long double has 64 bits of mantissa.
static long double value_of(Type type, uint64_t bits) {
    float f;
    double d;
    _Float16 h;
    uint32_t low = (uint32_t)bits;
    uint16_t short_bits = (uint16_t)bits;
    switch (type) {
    case T_U8: return (uint8_t)bits;
    case T_S8: return (int8_t)bits;
    case T_U16: return (uint16_t)bits;
    case T_S16: return (int16_t)bits;
    case T_U32: return (uint32_t)bits;
    case T_S32: return (int32_t)bits;
    case T_S64: return (int64_t)bits;
    case T_F16: memcpy(&h, &short_bits, 2); return h;
    case T_F32: memcpy(&f, &low, 4); return f;
    case T_F64: memcpy(&d, &bits, 8); return d;
    default: return bits;
    }
}

static bool is_float(Type type) { return type == T_F16 || type == T_F32 || type == T_F64; }

static void range_of(Type type, long double *least, long double *greatest) {
    static const int bits[] = {8, 8, 16, 16, 32, 32, 64, 64};
    bool is_signed = type & 1;
    *greatest = ldexpl(1, bits[type] - is_signed) - 1;
    *least = is_signed ? -ldexpl(1, bits[type] - 1) : 0;
}

static uint64_t integer_of(Type type, long double x) {
    long double least, greatest;
    range_of(type, &least, &greatest);
    if (x < least) x = least;
    if (x > greatest) x = greatest;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static long double to_integral(int round, long double x) {
    switch (round) {
    case ROUND_RZ: case ROUND_RZI: return truncl(x);
    case ROUND_RM: case ROUND_RMI: return floorl(x);
    case ROUND_RP: case ROUND_RPI: return ceill(x);
    default: return rintl(x);
    }
}

// directed checks whether the nearest value is on the wrong side for the rounding mode, and returns the direction
// to correct.
static int directed(int round, long double nearest, long double x) {
    bool down = round == ROUND_RM || (round == ROUND_RZ && x > 0), up = round == ROUND_RP || (round == ROUND_RZ && x < 0);
    return down && nearest > x ? -1 : up && nearest < x ? 1 : 0;
}

static uint64_t float_of(Type type, int round, long double x) {
    uint64_t bits = 0;
    if (type == T_F64) {
        double d = (double)x;
        int way = directed(round, d, x);
        if (way) d = nextafter(d, way * INFINITY);
        memcpy(&bits, &d, 8);
    } else if (type == T_F32) {
        float f = (float)x;
        int way = directed(round, f, x);
        if (way) f = nextafterf(f, way * INFINITY);
        memcpy(&bits, &f, 4);
        if (x != x) bits = 0x7fffffff;
    } else {
        _Float16 h = (_Float16)x;
        uint16_t s;
        memcpy(&s, &h, 2);
        int way = directed(round, h, x);
        if (way) s = h == 0 ? (way < 0 ? 0x8001 : 1) : (way > 0) == !(s >> 15) ? s + 1 : s - 1;
        bits = x != x ? 0x7fff : s;
    }
    return bits;
}

static float flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static uint64_t convert(const Instruction *i, uint64_t bits) {
    Type to = i->to, from = i->from;
    if (!is_float(to) && !is_float(from) && !(i->flags & FLAG_SAT)) {
        if (from == T_S8) bits = (uint64_t)(int8_t)bits;
        if (from == T_U8) bits = (uint8_t)bits;
        if (from == T_S16) bits = (uint64_t)(int16_t)bits;
        if (from == T_U16) bits = (uint16_t)bits;
        if (from == T_S32) bits = (uint64_t)(int32_t)bits;
        if (from == T_U32) bits = (uint32_t)bits;
        if (to == T_S8) bits = (uint64_t)(int8_t)bits;
        if (to == T_U8) bits = (uint8_t)bits;
        if (to == T_S16) bits = (uint64_t)(int16_t)bits;
        if (to == T_U16) bits = (uint16_t)bits;
        return bits;
    }
    long double x = value_of(from, bits);
    if (i->flags & FLAG_FTZ && from == T_F32) x = flush((float)x);
    if (!is_float(to)) {
        if (is_float(from)) x = x != x ? 0 : to_integral(i->round, x);
        return integer_of(to, x);
    }
    if (is_float(from) && i->round >= ROUND_RNI) x = to_integral(i->round, x);
    if (i->flags & FLAG_SAT) x = x > 0 ? (x < 1 ? x : 1) : 0;
    uint64_t result = float_of(to, i->round, x);
    if (i->flags & FLAG_FTZ && to == T_F32) {
        float f;
        memcpy(&f, &result, 4);
        f = flush(f);
        memcpy(&result, &f, 4);
    }
    return result;
}

#define PAIR(to, from) ((to) * 16 + (from))
#define DIRECT(TO, FROM)                                                      \
    {                                                                         \
        TO *d = slot(w, i->d);                                                \
        const FROM *a = slot(w, i->a);                                        \
        for (int l = 0; l < LANES; l++) d[l] = (TO)a[l];                      \
        return;                                                               \
    }

void convert_run(Warp *w, const Instruction *i, uint32_t mask) {
    if (mask == ~0u && !(i->flags & (FLAG_SAT | FLAG_FTZ)))
        switch (PAIR(i->to, i->from)) {
        case PAIR(T_S64, T_S32): DIRECT(int64_t, int32_t)
        case PAIR(T_U64, T_U32): DIRECT(uint64_t, uint32_t)
        case PAIR(T_U32, T_U64):
        case PAIR(T_U32, T_S64):
        case PAIR(T_S32, T_S64): DIRECT(uint32_t, uint64_t)
        case PAIR(T_F32, T_S32): if (i->round == ROUND_RN) DIRECT(float, int32_t) break;
        case PAIR(T_F32, T_U32): if (i->round == ROUND_RN) DIRECT(float, uint32_t) break;
        }
    const void *a = slot(w, i->a);
    void *d = slot(w, i->d);
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint64_t bits = convert(i, i->flags & FLAG_SOURCE_WIDE ? ((const uint64_t *)a)[l] : ((const uint32_t *)a)[l]);
        if (i->flags & FLAG_WIDE) ((uint64_t *)d)[l] = bits;
        else ((uint32_t *)d)[l] = (uint32_t)bits;
    }
}
