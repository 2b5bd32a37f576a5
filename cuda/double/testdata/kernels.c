// Kernels that a compiler made, against C. The argument is the file of PTX.
#include "check.h"

enum { N = 1000, ROOM = 1 << 16 };

static void *module;
static uint32_t in[ROOM], out[ROOM];
static Pointer x, y;

static float *floats(uint32_t *words) { return (float *)words; }
static void up(void) { OK(cuMemcpyHtoD_v2(x, in, sizeof in)); }
static void down(Pointer from) { OK(cuMemcpyDtoH_v2(out, from, sizeof out)); }

static void axpy(void) {
    for (int i = 0; i < N; i++) floats(in)[i] = (float)i, floats(out)[i] = 3;
    up();
    OK(cuMemcpyHtoD_v2(y, out, sizeof out));
    OK(LAUNCH(function(module, "axpy"), 8, 128, NULL, ARGUMENT(2.5f), &x, &y, ARGUMENT(N)));
    down(y);
    for (int i = 0; i < N; i++) TRUE(floats(out)[i] == 2.5f * (float)i + 3, "%d: %g", i, floats(out)[i]);
}

static uint32_t flow_of(uint32_t i) {
    uint32_t v = in[i], sum = 0;
    for (uint32_t k = 0; k < (v & 15); k++) {
        if (((v >> k) & 3) == 1) continue;
        for (uint32_t m = 0; m < k; m++) {
            if ((v + m) % 7 == 3) break;
            sum += m * v;
        }
        if (sum > 1000000000u) return sum ^ 1;
        switch ((v + k) % 6) {
        case 0: sum += in[(i + 1) % N]; break;
        case 1: sum ^= v << 3; break;
        case 3: sum = sum * 5 + 1; break;
        case 4: sum -= k;
        }
    }
    do {
        sum = (sum >> 1) + (sum & 1 ? 77 : 0);
    } while (sum > 1000);
    return sum;
}

static void flow(void) {
    for (int i = 0; i < N; i++) in[i] = i % 3 ? (uint32_t)random_bits() : (uint32_t)random_bits() % 100;
    up();
    OK(LAUNCH(function(module, "flow"), (N + 95) / 96, 96, NULL, &x, &y, ARGUMENT(N)));
    down(y);
    for (uint32_t i = 0; i < N; i++) TRUE(out[i] == flow_of(i), "%u: %u, want %u", i, out[i], flow_of(i));
}

static void sums(void) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += floats(in)[i] = (float)(i % 17);
    up();
    OK(LAUNCH(function(module, "reduce"), 1, 256, NULL, &y, &x, ARGUMENT(N)));
    down(y);
    TRUE(floats(out)[0] == sum, "%g, want %g", floats(out)[0], sum);
    OK(LAUNCH(function(module, "warp_sum"), 4, 64, NULL, &y, &x));
    down(y);
    for (int w = 0; w < 8; w++) {
        float want = 0;
        for (int l = 0; l < 32; l++) want += floats(in)[32 * w + l];
        TRUE(floats(out)[w] == want, "%d: %g, want %g", w, floats(out)[w], want);
    }
}

static void votes(void) {
    for (int i = 0; i < 256; i++) in[i] = i < 128 ? (uint32_t)random_bits() % 1000 : 2 * (uint32_t)i + 1;
    up();
    OK(LAUNCH(function(module, "votes"), 2, 128, NULL, &y, &x));
    down(y);
    for (int i = 0; i < 256; i++) {
        const uint32_t *w = in + i / 32 * 32;
        uint32_t ballot = 0, any = 0, all = 1, l = (uint32_t)i % 32;
        for (int k = 0; k < 32; k++) ballot |= (w[k] & 1) << k, any |= (w[k] & 7) == 0, all &= w[k] != 0;
        uint32_t want = ballot + any * 2 + all * 4 + w[l ? l - 1 : 0] * 3 + w[l ^ 5] * 5 + w[3] * 7;
        TRUE(out[i] == want, "%d: %u, want %u", i, out[i], want);
    }
}

static void local_memory(void) {
    for (int i = 0; i < 100; i++) floats(in)[i] = (float)(i % 10);
    up();
    OK(LAUNCH(function(module, "local_memory"), 1, 100, NULL, &x, ARGUMENT(20)));
    down(x);
    for (uint32_t t = 0; t < 100; t++) {
        float a[16], s = 0;
        for (int i = 0; i < 16; i++) a[i] = floats(in)[t] + (float)i;
        for (uint32_t k = 0; k < 20; k++) a[(k * 7 + t) & 15] += a[k & 15];
        for (int i = 0; i < 16; i++) s += a[i];
        TRUE(floats(out)[t] == s, "%u: %g, want %g", t, floats(out)[t], s);
    }
}

static float powers(float v, uint32_t n) {
    float s = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (s > 1e6f) return -s;
        s = s * v + 1;
    }
    return s;
}

static void calls(void) {
    for (int i = 0; i < 96; i++) floats(in)[i] = (float)(i % 5);
    up();
    OK(LAUNCH(function(module, "calls"), 1, 96, NULL, &x));
    down(x);
    for (uint32_t t = 0; t < 96; t++) {
        float v = floats(in)[t], want = t % 3 ? powers(v, 5) : powers(v, t) + powers(v + 1, t / 2);
        TRUE(floats(out)[t] == want, "%u: %g, want %g", t, floats(out)[t], want);
    }
}

static void parameters(void) {
    struct { Pointer x[4]; int n; short scale; } parts = {{x, x + 400, x + 800, x + 1200}, 3, -2};
    for (int i = 0; i < N; i++) floats(in)[i] = (float)i;
    up();
    OK(LAUNCH(function(module, "parts"), 2, 50, NULL, &parts, &y));
    down(y);
    for (int i = 0; i < 100; i++) TRUE(floats(out)[i] == (float)(3 * i + 300) * -2 * (float)(1 << (i & 3)), "%d: %g", i, floats(out)[i]);
    // The same by a buffer, as the driver also takes them.
    struct { Pointer x[4]; int n; short scale, none; Pointer out; } buffer = {{x, x, x, x}, 1, 1, 0, y};
    void *extra[] = {(void *)1, &buffer, (void *)2, ARGUMENT(sizeof buffer), NULL};
    OK(cuLaunchKernel(function(module, "parts"), 2, 1, 1, 50, 1, 1, 0, NULL, NULL, extra));
    down(y);
    for (int i = 0; i < 100; i++) TRUE(floats(out)[i] == (float)i * (float)(1 << (i & 3)), "%d: %g", i, floats(out)[i]);
    Pointer counter;
    size_t bytes;
    OK(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"));
    OK(LAUNCH(function(module, "variables"), 1, 32, NULL, &y));
    down(y);
    int value;
    OK(cuMemcpyDtoH_v2(&value, counter, 4));
    TRUE(bytes == 4 && out[0] == 5 && out[1] == 10 && value == 10, "%u, %u, %d", out[0], out[1], value);
}

static void shared_and_shapes(void) {
    for (int i = 0; i < N; i++) floats(in)[i] = (float)i;
    up();
    OK(cuLaunchKernel(function(module, "dynamic_shared"), 4, 1, 1, 100, 1, 1, 400, NULL, (void *[]){&x}, NULL));
    down(x);
    for (int i = 0; i < 400; i++) TRUE(floats(out)[i] == (float)(i / 100 * 100 + 99 - i % 100), "%d: %g", i, floats(out)[i]);
    OK(cuLaunchKernel(function(module, "shape"), 3, 2, 2, 5, 3, 2, 0, NULL, (void *[]){&y}, NULL));
    down(y);
    for (uint32_t i = 0; i < 15 * 6 * 4; i++) TRUE(out[i] == i % 15 + 100 * (i / 15 % 6) + 10000 * (i / 90), "%u: %u", i, out[i]);
    for (int i = 0; i < N; i++) floats(in)[i] = (float)i / 8;
    up();
    OK(LAUNCH(function(module, "vectors"), 1, 64, NULL, &y, &x));
    down(y);
    for (int i = 0; i < 256; i++) TRUE(floats(out)[i] == 2 * floats(in)[i / 4 * 4 + 3 - i % 4], "%d: %g", i, floats(out)[i]);
    OK(LAUNCH(function(module, "halves"), 4, 256, NULL, &y, &x, ARGUMENT(N)));
    down(y);
    for (int i = 0; i < N; i++) TRUE((float)((_Float16 *)out)[i] == floats(in)[i], "%d: %g", i, (float)((_Float16 *)out)[i]);
}

static void atomics(void) {
    memset(in, 0, sizeof in);
    up();
    OK(cuMemcpyHtoD_v2(y, in, sizeof in));
    OK(LAUNCH(function(module, "atomics"), 7, 100, NULL, &x, ARGUMENT(y), ARGUMENT(y + 8)));
    uint32_t want[6] = {2100, 699, (uint32_t)-699, 0, 0, 1400};
    for (uint32_t i = 0; i < 700; i++) want[3] ^= i, want[4] = want[4] >= 9 ? 0 : want[4] + 1;
    down(x);
    for (int k = 0; k < 6; k++) TRUE(out[k] == want[k], "%d: %u, want %u", k, out[k], want[k]);
    down(y);
    TRUE(floats(out)[0] == 700 && ((uint64_t *)out)[1] == 700ull << 33, "%g, %llu", floats(out)[0], (unsigned long long)((uint64_t *)out)[1]);
    up();
    OK(LAUNCH(function(module, "last_block"), 50, 32, NULL, &y, ARGUMENT(y + 64), &x));
    down(y);
    TRUE(floats(out)[0] == 49 * 25, "%g", floats(out)[0]);
    OK(LAUNCH(function(module, "warp_barrier"), 1, 32, NULL, &y));
    down(y);
    for (int i = 0; i < 32; i++) TRUE(floats(out)[i] == (float)(i ^ 1), "%d: %g", i, floats(out)[i]);
}

int main(int count, char **arguments) {
    TRUE(count == 2, "one argument");
    begin();
    module = load(arguments[1]);
    x = device(sizeof in), y = device(sizeof out);
    for (int again = 0; again < 3; again++) {
        axpy(), flow(), sums(), votes(), local_memory(), calls(), shared_and_shapes(), atomics();
        if (!again) parameters();
    }
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    printf("ok\n");
    return 0;
}
