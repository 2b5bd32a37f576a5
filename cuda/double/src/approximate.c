// The instructions that a device approximates. The result is the exact value plus a random error within the bound
// of the PTX manual. The error depends only on the seed and the operands, because a device also gives the same
// result for the same operands.
#include <math.h>
#include <string.h>

#include "interpret.h"

// unit returns a number in [-1, 1].
static double unit(int op, float x, float y) {
    uint32_t bits[2];
    memcpy(&bits[0], &x, 4);
    memcpy(&bits[1], &y, 4);
    uint64_t h = random_hash(((uint64_t)bits[0] << 32 | bits[1]) + (uint64_t)op * 0x9e3779b97f4a7c15ull);
    return (double)(int64_t)(h >> 11) / (1ull << 52) - 1;
}

// relative errs by at most bound, including the rounding to float.
static float relative(double exact, double bound, int op, float x, float y) {
    if (!isfinite(exact) || exact == 0) return (float)exact;
    return (float)(exact * (1 + (bound - 0x1p-24) * unit(op, x, y)));
}

static float absolute(double exact, double bound, int op, float x) {
    if (!isfinite(exact)) return NAN;
    return (float)(exact + (bound - 0x1p-25) * unit(op, x, 0));
}

float approximate_ex2(float x) { return x == 0 ? 1 : relative(exp2(x), 0x1p-22, 1, x, 0); }

float approximate_lg2(float x) {
    if (x > 0.5f && x < 2) return absolute(log2(x), 0x1p-22, 2, x);
    return relative(log2(x), 0x1p-22, 2, x, 0);
}

float approximate_sin(float x) { return x == 0 ? x : absolute(sin(x), 0x1p-20 * 0.53, 3, x); }
float approximate_cos(float x) { return absolute(cos(x), 0x1p-20 * 0.53, 4, x); }
float approximate_tanh(float x) { return relative(tanh(x), 0x1p-11, 5, x, 0); }
float approximate_sqrt(float x) { return relative(sqrt(x), 0x1p-23, 6, x, 0); }
float approximate_rsqrt(float x) { return relative(1 / sqrt(x), 0x1p-22 * 0.53, 7, x, 0); }

// approximate_quotient errs by at most the given number of units in the last place.
float approximate_quotient(float x, float y, int ulps) {
    double exact = (double)x / y;
    float nearest = fabsf((float)exact);
    if (!isfinite(nearest) || nearest == 0) return (float)exact;
    return (float)(exact + (ulps - 0.5) * ((double)nearest - nextafterf(nearest, 0)) * unit(8, x, y));
}
