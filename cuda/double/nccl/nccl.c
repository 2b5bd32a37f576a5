// The double of NCCL: a libnccl.so.2 for tests. This library uses only the public API of the driver's double.
//
// A collective is three pieces of work on a stream: a copy to pinned memory, a host function that meets the other
// ranks, and a copy back. So it runs when the stream's work runs, and the stream waits for peers like a kernel of
// NCCL. If a peer is gone, it waits forever. Ranks meet in a memory page of the process that made the unique id.
// The others open this page by /proc while that process lives, so nothing outlives the processes. The double is as
// strict as NCCL: it refuses two ranks on the same device, and while a call is in progress, a communicator answers
// only the query of its state. A communicator keeps the error of a refused call. Every later call returns this
// error until the communicator is aborted.
//
// Environment (read at each use):
//   PSBENCH_DOUBLE_NCCL_VERSION=N     version (22105)
//   PSBENCH_DOUBLE_NCCL_FAIL=NAME:N:CODE   call N of NAME (from 1) answers CODE
//   PSBENCH_DOUBLE_NCCL_BREAK=N:CODE  all-reduce N of this process is never done, and its communicator says CODE; 0: it says nothing
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../src/double.h"

enum { SUCCESS = 0, CUDA_FAILED = 1, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6, IN_PROGRESS = 7 };
enum { SUM = 0, AVERAGE = 4, FLOAT32 = 7, MAGIC = 0x4e43434c, RANKS = 16, CHUNK = 1 << 16 };

CUresult cuCtxGetCurrent(CUcontext *);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxGetDevice(CUdevice *);
CUresult cuDeviceGetUuid(char uuid[16], CUdevice);
CUresult cuMemHostAlloc(void **, size_t, unsigned);
CUresult cuMemFreeHost(void *);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuLaunchHostFunc(CUstream, CUhostFn, void *);
CUresult cuStreamSynchronize(CUstream);

typedef struct { char bytes[128]; } Id;
typedef struct { uint32_t magic; int pid, file; } Spot;
typedef struct { size_t size; unsigned magic, version; int blocking; } Settings;

// Meeting is the memory in which ranks meet. The counts of each rank only grow, and others wait for them.
typedef struct {
    uint32_t joined[RANKS], put[RANKS], taken[RANKS], left[RANKS];
    char uuid[RANKS][16];
    uint64_t asked[RANKS];             // current count and operation of each rank
    float chunk[RANKS][CHUNK];
} Meeting;

typedef struct Comm {
    Meeting *meeting;
    CUcontext context;
    CUstream stream;                   // stream for all its work
    int ranks, rank, state;
    uint32_t chunks;
    uint64_t asked, met;               // all-reduces; met: number whose host function has run
    bool called, aborted, finalized;
    pthread_t thread;                  // thread of the call in progress
    bool threaded;
    struct Reduction *works;
} Comm;

// Reduction is one all-reduce.
typedef struct Reduction {
    struct Reduction *next;
    Comm *comm;
    float *staging;                    // pinned
    CUdeviceptr from, to;
    size_t count, room;
    uint64_t number;
    int operation, broken;             // broken: -1 if the reduction is not broken
    CUstream stream;
} Reduction;

static int demanded(const char *name) {
    static struct { const char *name; int calls; } seen[16];
    const char *spec = getenv("PSBENCH_DOUBLE_NCCL_FAIL");
    size_t length = strlen(name);
    int at, code;
    if (!spec || strncmp(spec, name, length) || sscanf(spec + length, ":%d:%d", &at, &code) != 2) return SUCCESS;
    int n = 0;
    while (seen[n].name && strcmp(seen[n].name, name)) n++;
    seen[n].name = name;
    return ++seen[n].calls == at ? code : SUCCESS;
}

static bool complain(const char *what) {
    fprintf(stderr, "nccl double: process %d: misuse: %s\n", getpid(), what);
    const char *code = getenv("PSBENCH_DOUBLE_EXIT");
    if (code && *code) _exit(atoi(code));
    return false;
}

static int state_of(Comm *c) { return __atomic_load_n(&c->state, __ATOMIC_ACQUIRE); }
static void say(Comm *c, int state) { __atomic_store_n(&c->state, state, __ATOMIC_RELEASE); }
// refused stores an error in the communicator, as NCCL does if calls do not wait.
static int refused(Comm *c, int code) {
    if (code) say(c, code);
    return code;
}

static bool gone(Comm *c) { return __atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE); }

// meet waits until the count of every rank has reached n. meet returns false if the communicator is aborted first.
static bool meet(Comm *c, uint32_t *counts, uint32_t n) {
    for (int r = 0; r < c->ranks; r++)
        while ((int32_t)(__atomic_load_n(&counts[r], __ATOMIC_ACQUIRE) - n) < 0) {
            if (gone(c)) return false;
            usleep(50);
        }
    return true;
}

static void start(Comm *c, void *(*what)(void *), void *with) {
    sigset_t all, before;
    if (c->threaded) pthread_join(c->thread, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    say(c, IN_PROGRESS);
    c->threaded = !pthread_create(&c->thread, NULL, what, with);
    if (!c->threaded) say(c, SYSTEM_ERROR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

API int ncclGetVersion(int *version) {
    const char *text = getenv("PSBENCH_DOUBLE_NCCL_VERSION");
    *version = text && *text ? atoi(text) : 22105;
    return demanded(__func__);
}

API int ncclGetUniqueId(Id *id) {
    int code = demanded(__func__);
    if (code) return code;
    // The file stays open until the process ends, since others may open it at any time.
    Spot place = {MAGIC, getpid(), memfd_create("nccl-double", MFD_CLOEXEC)};
    if (place.file < 0 || ftruncate(place.file, sizeof(Meeting))) return SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    memcpy(id, &place, sizeof place);
    return SUCCESS;
}

static void *join(void *with) {
    Comm *c = with;
    int state = SUCCESS;
    if (!meet(c, c->meeting->joined, 1)) return NULL;
    for (int r = 0; r < c->ranks; r++)
        for (int other = 0; other < r; other++)
            if (!memcmp(c->meeting->uuid[r], c->meeting->uuid[other], 16)) state = INVALID_USAGE;
    say(c, state);
    return NULL;
}

API int ncclCommInitRankConfig(Comm **comm, int ranks, Id id, int rank, Settings *settings) {
    Spot place;
    memcpy(&place, &id, sizeof place);
    int code = demanded(__func__);
    if (code) return code;
    if (place.magic != MAGIC || ranks < 1 || ranks > RANKS || rank < 0 || rank >= ranks) return INVALID_ARGUMENT;
    if (settings->size < sizeof *settings || settings->magic != 0xcafebeef || settings->blocking) return INVALID_ARGUMENT;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place.pid, place.file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return SYSTEM_ERROR;
    Meeting *meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    Comm *c = calloc(1, sizeof *c);
    CUdevice device;
    if (meeting == MAP_FAILED || !c) return SYSTEM_ERROR;
    *c = (Comm){.meeting = meeting, .ranks = ranks, .rank = rank};
    if (cuCtxGetCurrent(&c->context) || cuCtxGetDevice(&device) || cuDeviceGetUuid(meeting->uuid[rank], device)) return CUDA_FAILED;
    *comm = c;
    __atomic_store_n(&meeting->joined[rank], 1, __ATOMIC_RELEASE);
    start(c, join, c);
    return IN_PROGRESS;
}

// exchange is the host function. Chunk by chunk, all ranks write their values, and each rank reads the sum, added
// in the order of ranks.
static void exchange(void *with) {
    Reduction *w = with;
    Comm *c = w->comm;
    Meeting *m = c->meeting;
    if (w->broken > 0) say(c, w->broken);
    while (w->broken >= 0 && !gone(c)) usleep(50);
    for (size_t at = 0; at < w->count && !gone(c); at += CHUNK) {
        size_t n = w->count - at < CHUNK ? w->count - at : CHUNK;
        uint32_t turn = ++c->chunks;
        memcpy(m->chunk[c->rank], w->staging + at, n * sizeof(float));
        m->asked[c->rank] = w->count << 3 | (unsigned)w->operation;
        __atomic_store_n(&m->put[c->rank], turn, __ATOMIC_RELEASE);
        if (!meet(c, m->put, turn)) break;
        for (int r = 0; r < c->ranks; r++)
            if (m->asked[r] != m->asked[c->rank]) complain("ranks are at different collectives"), say(c, INVALID_USAGE);
        for (size_t i = 0; i < n; i++) {
            float sum = m->chunk[0][i];
            for (int r = 1; r < c->ranks; r++) sum += m->chunk[r][i];
            w->staging[at + i] = w->operation == AVERAGE ? sum / (float)c->ranks : sum;
        }
        __atomic_store_n(&m->taken[c->rank], turn, __ATOMIC_RELEASE);
        if (!meet(c, m->taken, turn)) break;
    }
    __atomic_store_n(&c->met, w->number, __ATOMIC_RELEASE);
}

// stage finds memory for an all-reduce. stage reuses the memory of an earlier one whose copy back has ended. This
// is certain once a later all-reduce has met.
static Reduction *stage(Comm *c, size_t count) {
    for (Reduction *w = c->works; w; w = w->next)
        if (w->room >= count && w->number < __atomic_load_n(&c->met, __ATOMIC_ACQUIRE)) return w;
    Reduction *w = calloc(1, sizeof *w);
    if (!w || cuMemHostAlloc((void **)&w->staging, count * sizeof(float), 0)) return free(w), NULL;
    w->room = count;
    w->next = c->works;
    return c->works = w;
}

static int enqueue(Reduction *w) {
    size_t bytes = w->count * sizeof(float);
    if (cuMemcpyDtoHAsync_v2(w->staging, w->from, bytes, w->stream) || cuLaunchHostFunc(w->stream, exchange, w) ||
        cuMemcpyHtoDAsync_v2(w->to, w->staging, bytes, w->stream))
        return CUDA_FAILED;
    return SUCCESS;
}

// late puts the first work on its stream some time after the call has returned.
static void *late(void *with) {
    Reduction *w = with;
    usleep(3000);
    say(w->comm, cuCtxSetCurrent(w->comm->context) ? CUDA_FAILED : enqueue(w));
    return NULL;
}

API int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, Comm *c, CUstream stream) {
    static int calls;
    int code, at;
    if (state_of(c) == IN_PROGRESS) return complain("an all-reduce is asked for while a call is in progress"), INVALID_USAGE;
    if ((code = state_of(c)) || (code = refused(c, demanded(__func__)))) return code;
    if (type != FLOAT32 || (operation != SUM && operation != AVERAGE)) return refused(c, INVALID_ARGUMENT);
    if (c->stream && c->stream != stream) return complain("the double has all work of a communicator on one stream"), INVALID_USAGE;
    if (!count) return SUCCESS;
    Reduction *w = stage(c, count);
    if (!w) return CUDA_FAILED;
    *w = (Reduction){w->next, c, w->staging, (CUdeviceptr)from, (CUdeviceptr)to, count, w->room, ++c->asked, operation, -1, stream};
    c->stream = stream;
    const char *text = getenv("PSBENCH_DOUBLE_NCCL_BREAK");
    calls++;
    if (text && sscanf(text, "%d:%d", &at, &code) == 2 && calls == at) w->broken = code;
    if (c->called) return enqueue(w);
    c->called = true;
    start(c, late, w);
    return IN_PROGRESS;
}

API int ncclCommGetAsyncError(Comm *c, int *state) {
    *state = state_of(c);
    return demanded(__func__);
}

static void *finish(void *with) {
    Comm *c = with;
    __atomic_store_n(&c->meeting->left[c->rank], 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&c->met, __ATOMIC_ACQUIRE) != c->asked && !gone(c)) usleep(50);
    if (meet(c, c->meeting->left, 1)) say(c, SUCCESS);
    return NULL;
}

API int ncclCommFinalize(Comm *c) {
    int code = state_of(c);
    if (code && code != IN_PROGRESS) return code;
    if ((code = refused(c, demanded(__func__)))) return code;
    c->finalized = true;
    start(c, finish, c);
    return IN_PROGRESS;
}

static int release(Comm *c) {
    if (c->threaded) pthread_join(c->thread, NULL);
    int code = c->stream && cuStreamSynchronize(c->stream) ? CUDA_FAILED : SUCCESS;
    for (Reduction *w = c->works, *next; w; w = next) {
        next = w->next;
        if (cuMemFreeHost(w->staging)) code = CUDA_FAILED;
        free(w);
    }
    munmap(c->meeting, sizeof *c->meeting);
    free(c);
    return code;
}

API int ncclCommDestroy(Comm *c) {
    int code = demanded(__func__);
    if (code) return code;
    if (!c->finalized || state_of(c) == IN_PROGRESS) return complain("a communicator is destroyed that is not finalized"), INVALID_USAGE;
    return release(c);
}

API int ncclCommAbort(Comm *c) {
    __atomic_store_n(&c->aborted, true, __ATOMIC_RELEASE);
    return release(c);
}

API const char *ncclGetErrorString(int code) {
    switch (code) {
    case CUDA_FAILED: return "unhandled cuda error";
    case SYSTEM_ERROR: return "unhandled system error";
    case INVALID_ARGUMENT: return "invalid argument";
    case INVALID_USAGE: return "invalid usage";
    case REMOTE_ERROR: return "remote process exited or there was a network error";
    default: return "internal error";
    }
}
