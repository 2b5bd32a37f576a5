// Capture of streams, and graphs. The argument is the PTX file.
#include "check.h"

enum { N = 512 };

static void *axpy, *a, *b;
static Pointer x, y, z;
static float *pinned;

static void add(Pointer from, Pointer to, float factor, void *stream) { OK(LAUNCH(axpy, 4, 128, stream, &factor, &from, &to, ARGUMENT(N))); }
static float first(void) {
    OK(cuCtxSynchronize());
    for (int i = 1; i < N; i++) TRUE(pinned[i] == pinned[0], "%d: %g and %g", i, pinned[i], pinned[0]);
    return pinned[0];
}

// Two streams in one capture: z = 3 x + y, where y is computed on the second stream in parallel with x.
static void capture(void) {
    void *fork, *join, *graph, *exec, *again;
    int status;
    OK(cuEventCreate(&fork, NO_TIMING));
    OK(cuEventCreate(&join, NO_TIMING));
    OK(cuStreamBeginCapture_v2(a, 0));
    OK(cuStreamIsCapturing(a, &status));
    TRUE(status == 1, "%d", status);
    OK(cuMemsetD32Async(x, 0x3f800000, N, a));
    OK(cuEventRecord(fork, a));
    OK(cuStreamWaitEvent(b, fork, 0));
    OK(cuStreamIsCapturing(b, &status));
    TRUE(status == 1, "%d", status);
    OK(cuMemsetD32Async(y, 0x40000000, N, b));
    add(x, y, 1, b);                   // 3: x has its value from before the fork
    add(x, x, 2, a);                   // 3
    OK(cuEventRecord(join, b));
    OK(cuMemcpyDtoDAsync_v2(z, x, 4 * N, a));
    OK(cuStreamWaitEvent(a, join, 0));
    add(y, z, 1, a);                   // 6
    OK(cuMemcpyDtoHAsync_v2(pinned, z, 4 * N, a));
    WANT(907, cuEventQuery(join));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuStreamIsCapturing(b, &status));
    TRUE(status == 0, "%d", status);
    for (int i = 0; i < N; i++) pinned[i] = -1;
    OK(cuCtxSynchronize());
    TRUE(pinned[0] == -1, "a capture runs nothing");
    OK(cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0));
    OK(cuGraphInstantiate_v2(&again, graph, NULL, NULL, 0));
    OK(cuGraphDestroy(graph));
    for (int n = 0; n < 20; n++) {
        pinned[0] = 0;
        OK(cuGraphLaunch(n % 2 ? exec : again, a));
        OK(cuStreamSynchronize(a));
        // add(x, y) and add(x, x) are unordered: y is 3 or 5.
        TRUE(first() == 6 || first() == 8, "%g", first());
    }
    OK(cuGraphLaunch(exec, a));
    OK(cuGraphExecDestroy(exec));      // the pending launch still runs
    OK(cuCtxSynchronize());
    WANT(400, cuGraphLaunch(exec, a));
    OK(cuGraphExecDestroy(again));
    OK(cuEventDestroy_v2(fork));
    OK(cuEventDestroy_v2(join));
}

static void refusals(void) {
    void *event, *graph, *blocking;
    Pointer p;
    OK(cuEventCreate(&event, NO_TIMING));
    OK(cuStreamBeginCapture_v2(a, 0));
    WANT(900, cuStreamSynchronize(a));
    WANT(901, cuStreamEndCapture(a, &graph));
    OK(cuStreamBeginCapture_v2(a, 0));
    WANT(900, cuMemAlloc_v2(&p, 4));
    WANT(901, cuStreamEndCapture(a, &graph));
    OK(cuStreamBeginCapture_v2(a, 2));
    OK(cuMemAlloc_v2(&p, 4));          // allowed in relaxed mode
    OK(cuMemFree_v2(p));
    OK(cuMemsetD32Async(x, 0, N, a));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuMemsetD32Async(y, 0, N, b));
    WANT(903, cuStreamEndCapture(b, &graph));
    WANT(904, cuStreamEndCapture(a, &graph));
    OK(cuStreamBeginCapture_v2(a, 2));
    OK(cuEventRecord(event, b));       // outside the capture
    WANT(905, cuStreamWaitEvent(a, event, 0));
    WANT(901, cuStreamEndCapture(a, &graph));
    WANT(401, cuStreamEndCapture(a, &graph));
    OK(cuStreamCreate(&blocking, 0));
    OK(cuStreamBeginCapture_v2(blocking, 0));
    WANT(906, cuMemsetD32Async(x, 0, N, NULL));
    OK(cuStreamEndCapture(blocking, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(blocking));
    WANT(900, cuStreamBeginCapture_v2(NULL, 0));
    OK(cuEventDestroy_v2(event));
}

int main(int count, char **arguments) {
    TRUE(count == 2, "one argument");
    begin();
    void *module = load(arguments[1]);
    axpy = function(module, "axpy");
    x = device(4 * N), y = device(4 * N), z = device(4 * N);
    OK(cuMemHostAlloc((void **)&pinned, 4 * N, 0));
    OK(cuStreamCreate(&a, NON_BLOCKING));
    OK(cuStreamCreate(&b, NON_BLOCKING));
    capture();
    refusals();
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuMemFree_v2(z));
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    printf("ok\n");
    return 0;
}
