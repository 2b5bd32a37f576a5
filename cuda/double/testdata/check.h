// Common code of the test programs: declarations of the driver's calls, and checks that end the program.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long Pointer;
typedef struct { char bytes[64]; } Handle;

int cuInit(unsigned), cuDriverGetVersion(int *), cuDeviceGetCount(int *), cuDeviceGetAttribute(int *, int, int);
int cuCtxCreate_v2(void **, unsigned, int), cuCtxDestroy_v2(void *), cuCtxSynchronize(void), cuCtxSetCurrent(void *);
int cuDevicePrimaryCtxRetain(void **, int), cuDevicePrimaryCtxRelease_v2(int);
int cuMemAlloc_v2(Pointer *, size_t), cuMemFree_v2(Pointer), cuMemGetInfo_v2(size_t *, size_t *);
int cuMemcpyHtoD_v2(Pointer, const void *, size_t), cuMemcpyDtoH_v2(void *, Pointer, size_t), cuMemcpyDtoD_v2(Pointer, Pointer, size_t);
int cuMemcpyHtoDAsync_v2(Pointer, const void *, size_t, void *), cuMemcpyDtoHAsync_v2(void *, Pointer, size_t, void *);
int cuMemcpyDtoDAsync_v2(Pointer, Pointer, size_t, void *), cuMemsetD32_v2(Pointer, unsigned, size_t), cuMemsetD32Async(Pointer, unsigned, size_t, void *);
int cuMemHostAlloc(void **, size_t, unsigned), cuMemFreeHost(void *), cuMemHostRegister_v2(void *, size_t, unsigned), cuMemHostUnregister(void *);
int cuStreamCreate(void **, unsigned), cuStreamDestroy_v2(void *), cuStreamSynchronize(void *), cuStreamQuery(void *), cuStreamWaitEvent(void *, void *, unsigned);
int cuLaunchHostFunc(void *, void (*)(void *), void *);
int cuEventCreate(void **, unsigned), cuEventDestroy_v2(void *), cuEventRecord(void *, void *), cuEventQuery(void *), cuEventSynchronize(void *);
int cuEventElapsedTime(float *, void *, void *);
int cuModuleLoadData(void **, const void *), cuModuleLoadDataEx(void **, const void *, unsigned, int *, void **), cuModuleUnload(void *);
int cuModuleGetFunction(void **, void *, const char *), cuModuleGetGlobal_v2(Pointer *, size_t *, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuIpcGetMemHandle(Handle *, Pointer), cuIpcOpenMemHandle_v2(Pointer *, Handle, unsigned), cuIpcCloseMemHandle(Pointer);
int cuIpcGetEventHandle(Handle *, void *), cuIpcOpenEventHandle(void **, Handle);
int cuStreamBeginCapture_v2(void *, int), cuStreamEndCapture(void *, void **), cuStreamIsCapturing(void *, int *);
int cuGraphInstantiate_v2(void **, void *, void **, char *, size_t), cuGraphLaunch(void *, void *), cuGraphDestroy(void *), cuGraphExecDestroy(void *);
int cuMemAlloc(Pointer *, size_t);

enum { NON_BLOCKING = 1, NO_TIMING = 2, INTERPROCESS = 4, NOT_READY = 600 };

#define WANT(code, call)                                                                              \
    do {                                                                                              \
        int code_ = (call);                                                                           \
        if (code_ != (code)) {                                                                        \
            printf("%s:%d: %s is %d, want %d\n", __FILE__, __LINE__, #call, code_, (int)(code));      \
            fflush(stdout);                                                                           \
            _exit(1);                                                                                 \
        }                                                                                             \
    } while (0)
#define OK(call) WANT(0, call)
#define TRUE(condition, ...)                                                                          \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            printf("%s:%d: %s is false: ", __FILE__, __LINE__, #condition);                           \
            printf(__VA_ARGS__);                                                                      \
            printf("\n");                                                                             \
            fflush(stdout);                                                                           \
            _exit(1);                                                                                 \
        }                                                                                             \
    } while (0)

static inline void *begin(void) {
    void *context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    return context;
}

static inline Pointer device(size_t bytes) {
    Pointer p;
    OK(cuMemAlloc_v2(&p, bytes));
    return p;
}

// load reads a file of PTX.
static inline void *load(const char *path) {
    FILE *file = fopen(path, "r");
    TRUE(file, "%s", path);
    char *text = calloc(1, 1 << 20);
    TRUE(fread(text, 1, (1 << 20) - 1, file) > 0, "%s", path);
    fclose(file);
    void *module;
    OK(cuModuleLoadData(&module, text));
    free(text);
    return module;
}

static inline void *function(void *module, const char *name) {
    void *f;
    TRUE(cuModuleGetFunction(&f, module, name) == 0, "%s", name);
    return f;
}

#define LAUNCH(f, blocks, threads, stream, ...) cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, (void *[]){__VA_ARGS__}, NULL)
#define ARGUMENT(x) (&(__typeof__(x)){x})

static inline uint64_t random_bits(void) {
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}
