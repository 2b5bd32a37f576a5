// The order of work in streams. The argument is the PTX file. PSBENCH_DOUBLE_STREAMS selects when work runs.
//
// Work that CUDA orders must be in order under every policy. For unordered work, the test counts how often the
// later work was seen first: always under latest, never under earliest, and sometimes at random.
#include <pthread.h>

#include "check.h"

enum { N = 256, ROUNDS = 60 };

static void *module, *add, *a, *b, *blocking;
static Pointer x, y;
static uint32_t *pinned, *source;
static int early;                      // reads that came before the work

static void fill(Pointer p, uint32_t value, void *stream) { OK(cuMemsetD32Async(p, value, N, stream)); }
static void fetch(Pointer p, void *stream) { OK(cuMemcpyDtoHAsync_v2(pinned, p, 4 * N, stream)); }
static void expect(uint32_t value, const char *what) {
    for (int i = 0; i < N; i++) TRUE(pinned[i] == value, "%s: %d: %u, want %u", what, i, pinned[i], value);
}
static void forget(void) {
    OK(cuCtxSynchronize());
    for (int i = 0; i < N; i++) pinned[i] = 0;
}

static void in_order(uint32_t k) {
    forget();
    fill(x, k, a);
    fill(x, k + 1, a);
    fetch(x, a);
    early += pinned[0] != k + 1;       // not a wait: pinned memory is written when the work runs
    OK(cuStreamSynchronize(a));
    expect(k + 1, "one stream");
}

static void by_event(uint32_t k) {
    void *event;
    OK(cuEventCreate(&event, NO_TIMING));
    forget();
    OK(cuStreamWaitEvent(a, event, 0));        // never recorded, so no wait
    fill(x, k, a);
    OK(cuEventRecord(event, a));
    fill(x, k + 7, a);                 // after the event: the other stream may or may not see it
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuMemcpyDtoDAsync_v2(y, x, 4 * N, b));
    fetch(y, b);
    OK(cuStreamSynchronize(b));
    TRUE(pinned[0] == k || pinned[0] == k + 7, "by an event: %u, want %u or %u", pinned[0], k, k + 7);
    early += pinned[0] != k + 7;
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
    OK(cuEventDestroy_v2(event));
}

static void by_default_stream(uint32_t k) {
    forget();
    fill(x, k, blocking);
    fill(x, k + 1, NULL);              // waits for all blocking streams
    fill(x, k + 2, blocking);          // waits for the default stream
    fetch(x, NULL);
    OK(cuStreamSynchronize(NULL));
    expect(k + 2, "the default stream");
}

static void unordered(uint32_t k) {
    forget();
    fill(x, k, a);
    OK(cuStreamSynchronize(a));
    fill(x, k + 1, a);
    fetch(x, NULL);                    // a is non-blocking, so the default stream does not wait for it
    OK(cuStreamSynchronize(NULL));
    TRUE(pinned[0] == k || pinned[0] == k + 1, "unordered: %u", pinned[0]);
    early += pinned[0] == k;
}

static void staged(uint32_t k) {
    static uint32_t pageable[N], back[N];
    forget();
    for (int i = 0; i < N; i++) pageable[i] = source[i] = k;
    OK(cuMemcpyHtoDAsync_v2(x, pageable, 4 * N, a));
    for (int i = 0; i < N; i++) pageable[i] = 0;       // the copy was staged
    OK(cuMemcpyDtoHAsync_v2(back, x, 4 * N, a));       // returns when the copy is done
    for (int i = 0; i < N; i++) TRUE(back[i] == k, "pageable: %d: %u, want %u", i, back[i], k);
    OK(cuMemcpyHtoDAsync_v2(x, source, 4 * N, a));     // pinned: read when the copy runs
    for (int i = 0; i < N; i++) source[i] = k + 1;
    fetch(x, a);
    OK(cuStreamSynchronize(a));
    TRUE(pinned[0] == k || pinned[0] == k + 1, "pinned: %u", pinned[0]);
    early += pinned[0] == k + 1;
}

static void set(void *flag) { __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE); }

static void queries(uint32_t k) {
    void *from, *to;
    int flag = 0, polls = 0;
    float ms;
    OK(cuEventCreate(&from, 0));
    OK(cuEventCreate(&to, 0));
    OK(cuEventQuery(to));              // never recorded, so reached
    OK(cuEventRecord(from, a));
    fill(x, k, a);
    OK(cuEventRecord(to, a));
    for (int code; (code = cuEventQuery(to)); polls++) TRUE(code == NOT_READY && polls < 1000000, "query: %d", code);
    early += polls > 0;
    OK(cuEventElapsedTime(&ms, from, to));
    TRUE(ms >= 0 && ms < 60000, "%g ms", ms);
    fill(x, k, b);
    polls = 0;
    for (int code; (code = cuStreamQuery(b)); polls++) TRUE(code == NOT_READY && polls < 1000000, "query: %d", code);
    // A host function runs even if nothing waits for the stream.
    OK(cuLaunchHostFunc(b, set, &flag));
    for (int tries = 0; !__atomic_load_n(&flag, __ATOMIC_ACQUIRE); tries++) {
        TRUE(tries < 20000, "the host function does not run");
        usleep(1000);
    }
    OK(cuCtxSynchronize());
    OK(cuEventDestroy_v2(from));
    OK(cuEventDestroy_v2(to));
}

// Two threads, each with its own stream, pass numbers to each other through events.
static void *events[2][ROUNDS];
static int recorded[2];
static void *relay(void *number) {
    int me = (int)(intptr_t)number;
    void *context = begin();
    (void)context;
    for (int n = 0; n < ROUNDS; n++) {
        if (n % 2 == me) {
            if (n)
                while (__atomic_load_n(&recorded[!me], __ATOMIC_ACQUIRE) < n) usleep(100);
            if (n) OK(cuStreamWaitEvent(me ? b : a, events[!me][n - 1], 0));
            OK(LAUNCH(add, 1, 32, me ? b : a, ARGUMENT(1.0f), ARGUMENT(y), &x, ARGUMENT(32)));
            OK(cuEventRecord(events[me][n], me ? b : a));
            __atomic_store_n(&recorded[me], n + 1, __ATOMIC_RELEASE);
        }
    }
    OK(cuStreamSynchronize(me ? b : a));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    return NULL;
}

static void threads(void) {
    float one[32], got[32];
    for (int i = 0; i < 32; i++) one[i] = 1;
    OK(cuMemcpyHtoD_v2(y, one, sizeof one));
    fill(x, 0, NULL);
    OK(cuCtxSynchronize());
    for (int n = 0; n < ROUNDS; n++) OK(cuEventCreate(&events[n % 2][n], NO_TIMING));
    pthread_t thread[2];
    for (int n = 0; n < 2; n++) pthread_create(&thread[n], NULL, relay, (void *)(intptr_t)n);
    for (int n = 0; n < 2; n++) pthread_join(thread[n], NULL);
    OK(cuMemcpyDtoH_v2(got, x, sizeof got));
    for (int i = 0; i < 32; i++) TRUE(got[i] == ROUNDS, "relay: %g", got[i]);
    for (int n = 0; n < ROUNDS; n++) OK(cuEventDestroy_v2(events[n % 2][n]));
}

int main(int count, char **arguments) {
    TRUE(count == 2, "one argument");
    begin();
    module = load(arguments[1]);
    add = function(module, "axpy");
    x = device(4 * N), y = device(4 * N);
    OK(cuMemHostAlloc((void **)&pinned, 4 * N, 1));
    void *registered = aligned_alloc(4096, 4096);
    OK(cuMemHostRegister_v2(registered, 4096, 0));
    WANT(712, cuMemHostRegister_v2(registered, 4096, 0));
    source = registered;
    OK(cuStreamCreate(&a, NON_BLOCKING));
    OK(cuStreamCreate(&b, NON_BLOCKING));
    OK(cuStreamCreate(&blocking, 0));
    int counts[5];
    void (*tests[])(uint32_t) = {in_order, by_event, unordered, staged, queries};
    for (int t = 0; t < 5; t++) {
        early = 0;
        for (uint32_t k = 1; k <= ROUNDS; k++) tests[t](10 * k), by_default_stream(10 * k);
        counts[t] = early;
    }
    threads();
    const char *policy = getenv("PSBENCH_DOUBLE_STREAMS");
    for (int t = 0; t < 5; t++) {
        bool latest = !strcmp(policy, "latest"), earliest = !strcmp(policy, "earliest");
        TRUE(latest ? counts[t] == ROUNDS : earliest ? counts[t] == 0 : counts[t] > 0 && counts[t] < ROUNDS, "test %d: %d of %d are early", t, counts[t], ROUNDS);
    }
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuStreamDestroy_v2(blocking));
    OK(cuMemHostUnregister(registered));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    printf("ok\n");
    return 0;
}
