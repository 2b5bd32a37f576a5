// Two processes and one device: ipc.c PTX CASE. The first process starts itself again as the second one. The two
// processes communicate over a pipe in each direction.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

enum { N = 100000, ROUNDS = 20 };

typedef struct {
    Handle memory, written, taken;     // events: the first has written; the second has read
} Offer;

static void *module, *stream;
static float one = 1;

static void say(int fd, const void *bytes, size_t size) { TRUE(write(fd, bytes, size) == (ssize_t)size, "write"); }
static void hear(int fd, void *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        ssize_t n = read(fd, (char *)bytes + at, size - at);
        TRUE(n > 0, "read: the other process ended");
        at += (size_t)n;
    }
}

static void open_all(const char *ptx) {
    begin();
    module = load(ptx);
    OK(cuStreamCreate(&stream, NON_BLOCKING));
}

static void close_all(void) {
    OK(cuStreamDestroy_v2(stream));
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

// second adds the first process's memory to its own. Only events order this; the pipe only signals that they are
// recorded.
static int second(const char *ptx, const char *how) {
    open_all(ptx);
    Offer offer;
    hear(0, &offer, sizeof offer);
    Pointer theirs, again, mine = device(4 * N);
    void *written, *taken, *axpy = function(module, "axpy");
    OK(cuIpcOpenMemHandle_v2(&theirs, offer.memory, 1));
    OK(cuIpcOpenMemHandle_v2(&again, offer.memory, 1));
    TRUE(again == theirs, "opened twice: %llx and %llx", theirs, again);
    OK(cuIpcCloseMemHandle(again));
    WANT(1, cuMemFree_v2(theirs));
    OK(cuIpcOpenEventHandle(&written, offer.written));
    OK(cuIpcOpenEventHandle(&taken, offer.taken));
    OK(cuMemsetD32Async(mine, 0, N, stream));
    for (int n = 0; n < ROUNDS; n++) {
        char bell;
        hear(0, &bell, 1);
        OK(cuStreamWaitEvent(stream, written, 0));
        OK(LAUNCH(axpy, (N + 255) / 256, 256, stream, &one, &theirs, &mine, ARGUMENT(N)));
        OK(cuEventRecord(taken, stream));
        if (!strcmp(how, "killed early") && n == ROUNDS - 1) raise(SIGKILL);
        say(1, &bell, 1);
    }
    OK(cuStreamSynchronize(stream));
    float *sum = malloc(4 * N);
    OK(cuMemcpyDtoH_v2(sum, mine, 4 * N));
    for (int i = 0; i < N; i++) TRUE(sum[i] == ROUNDS * (ROUNDS + 1) / 2, "%d: %g", i, sum[i]);
    if (!strcmp(how, "killed")) raise(SIGKILL);
    if (strcmp(how, "freed")) OK(cuIpcCloseMemHandle(theirs));
    say(1, "e", 1);
    if (!strcmp(how, "freed")) {
        char bell;
        hear(0, &bell, 1);
        OK(cuIpcCloseMemHandle(theirs));
    }
    OK(cuEventDestroy_v2(written));
    OK(cuEventDestroy_v2(taken));
    OK(cuMemFree_v2(mine));
    close_all();
    return 0;
}

// wait_for_the_dead waits for an event of a process that was killed before the event was reached. The event is
// never reached.
static void wait_for_the_dead(pid_t child, void *taken) {
    waitpid(child, NULL, 0);
    OK(cuStreamWaitEvent(stream, taken, 0));
    for (int n = 0; n < 100; n++) {
        WANT(NOT_READY, cuEventQuery(taken));
        WANT(NOT_READY, cuStreamQuery(stream));
        usleep(1000);
    }
    printf("ok\n");
    fflush(stdout);
    _exit(0);                          // otherwise the context would wait for the stream
}

static void refuse_own(Handle handle) {
    Pointer own;
    WANT(201, cuIpcOpenMemHandle_v2(&own, handle, 1));
}

int main(int count, char **arguments) {
    TRUE(count == 3 || count == 4, "two arguments");
    if (count == 4) return second(arguments[1], arguments[2]);
    const char *how = arguments[2];
    int down[2], up[2];
    TRUE(!pipe(down) && !pipe(up), "pipe");
    pid_t child = fork();
    if (!child) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        close(down[1]);
        close(up[0]);
        execl("/proc/self/exe", arguments[0], arguments[1], how, "second", NULL);
        _exit(1);
    }
    close(down[0]);
    close(up[1]);
    open_all(arguments[1]);
    Pointer x = device(4 * N), ones = device(4 * N);
    void *written, *taken, *timed, *axpy = function(module, "axpy");
    WANT(1, cuEventCreate(&timed, INTERPROCESS));
    OK(cuEventCreate(&timed, 0));
    OK(cuEventCreate(&written, INTERPROCESS | NO_TIMING));
    OK(cuEventCreate(&taken, INTERPROCESS | NO_TIMING));
    Offer offer;
    WANT(400, cuIpcGetEventHandle(&offer.written, timed));
    OK(cuIpcGetMemHandle(&offer.memory, x));
    OK(cuIpcGetEventHandle(&offer.written, written));
    OK(cuIpcGetEventHandle(&offer.taken, taken));
    refuse_own(offer.memory);
    float *host = malloc(4 * N);
    for (int i = 0; i < N; i++) host[i] = 1;
    OK(cuMemcpyHtoD_v2(ones, host, 4 * N));
    OK(cuCtxSynchronize());
    OK(cuMemsetD32Async(x, 0, N, stream));
    say(down[1], &offer, sizeof offer);
    for (int n = 0; n < ROUNDS; n++) {
        char bell = 'b';
        // Without this wait, the second process sees values of the next round.
        if (strcmp(how, "no wait")) OK(cuStreamWaitEvent(stream, taken, 0));
        OK(LAUNCH(axpy, (N + 255) / 256, 256, stream, &one, &ones, &x, ARGUMENT(N)));
        OK(cuEventRecord(written, stream));
        say(down[1], &bell, 1);
        if (!strcmp(how, "killed early") && n == ROUNDS - 1) wait_for_the_dead(child, taken);
        hear(up[0], &bell, 1);
    }
    char end;
    if (strcmp(how, "killed")) hear(up[0], &end, 1);
    int status;
    if (!strcmp(how, "killed")) waitpid(child, &status, 0);
    OK(cuStreamSynchronize(stream));
    OK(cuEventSynchronize(taken));
    OK(cuMemFree_v2(x));
    if (!strcmp(how, "freed")) say(down[1], "b", 1);
    if (strcmp(how, "killed")) waitpid(child, &status, 0);
    OK(cuMemFree_v2(ones));
    OK(cuEventDestroy_v2(timed));
    OK(cuEventDestroy_v2(written));
    OK(cuEventDestroy_v2(taken));
    close_all();
    TRUE(!strcmp(how, "killed") ? WIFSIGNALED(status) : status == 0, "the second ends with %x", status);
    printf("ok\n");
    return 0;
}
