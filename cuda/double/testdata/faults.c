// Misuses, one case per run: faults.c PTX CASE. Each prints the driver's final error code and whether all later
// calls return the same. The double's report goes to stderr.
#include "check.h"

static void *module;
static Pointer x, y;

// finish prints the kernel's error code and whether it is sticky.
static void finish(int launched) {
    TRUE(launched == 0, "the launch itself answers %d", launched);
    int code = cuCtxSynchronize();
    Pointer more;
    printf("%d %s\n", code, cuMemAlloc_v2(&more, 16) == code ? "sticks" : "passes");
}

#define RUN(name, blocks, threads, ...) finish(LAUNCH(function(module, name), blocks, threads, NULL, __VA_ARGS__))

static void loads(const char *body) {
    char ptx[2048], log[256] = "";
    int options[] = {5, 6};
    void *values[] = {log, (void *)sizeof log}, *loaded;
    sprintf(ptx, ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %%r<4>;\n.reg .b64 %%x<4>;\n%s\nret;\n}\n", body);
    printf("%d %s\n", cuModuleLoadDataEx(&loaded, ptx, 2, options, values), log);
}

int main(int count, char **arguments) {
    TRUE(count == 3, "two arguments");
    const char *name = arguments[2];
#define CASE(text) else if (!strcmp(name, text))
    begin();
    module = load(arguments[1]);
    x = device(400), y = device(4096);
    OK(cuMemsetD32_v2(x, 0, 100));
    OK(cuMemsetD32_v2(y, 0, 1024));
    OK(cuCtxSynchronize());
    if (!strcmp(name, "right")) RUN("reads_at", 1, 100, &x, &y, ARGUMENT(0l));
    CASE("read after the end") RUN("reads_at", 1, 101, &x, &y, ARGUMENT(0l));
    CASE("read before the beginning") RUN("reads_at", 1, 32, &x, &y, ARGUMENT(-1l));
    CASE("read far away") RUN("reads_at", 1, 32, &x, &y, ARGUMENT(1l << 40));
    CASE("read of null") RUN("reads_at", 1, 32, ARGUMENT((Pointer)0), &y, ARGUMENT(0l));
    CASE("write after the end") RUN("writes_at", 1, 64, &x, ARGUMENT(64l));
    CASE("read of the host") RUN("reads_at", 1, 32, ARGUMENT((Pointer)(uintptr_t)&y), &y, ARGUMENT(0l));
    CASE("use after free") {
        Pointer z = device(400);
        OK(cuMemFree_v2(z));
        RUN("reads_at", 1, 32, &z, &y, ARGUMENT(0l));
    }
    CASE("misaligned") RUN("misaligned", 1, 1, &x);
    CASE("shared memory") RUN("beyond_shared", 1, 32, &y, ARGUMENT(1u));
    CASE("no barrier") RUN("no_barrier", 1, 256, &y);
    CASE("no warp barrier") RUN("no_warp_barrier", 1, 32, &y);
    CASE("read then written") RUN("read_then_written", 1, 64, &y);
    CASE("blocks in conflict") RUN("blocks_in_conflict", 2, 1, &x);
    CASE("blocks read and write") RUN("blocks_read_and_write", 4, 1, &x);
    CASE("no atomic") RUN("no_atomic", 1, 2, &x);
    CASE("divergent barrier") RUN("divergent_barrier", 1, 32, &x);
    CASE("two barriers") RUN("two_barriers", 1, 64, &x);
    CASE("divergent shuffle") RUN("divergent_shuffle", 1, 32, &x);
    CASE("endless") RUN("endless", 1, 32, &x);
    CASE("trap") RUN("traps", 1, 1, NULL);
    CASE("freed under a kernel") {
        void *stream;
        OK(cuStreamCreate(&stream, NON_BLOCKING));
        OK(LAUNCH(function(module, "writes_at"), 1, 32, stream, &x, ARGUMENT(0l)));
        OK(cuMemFree_v2(x));
        finish(0);
    }
    CASE("unregistered under a copy") {
        void *stream, *host = aligned_alloc(4096, 4096);
        OK(cuMemHostRegister_v2(host, 4096, 0));
        OK(cuStreamCreate(&stream, NON_BLOCKING));
        OK(cuMemcpyDtoHAsync_v2(host, y, 4096, stream));
        OK(cuMemHostUnregister(host));
        finish(0);
    }
    CASE("freed under a copy") {
        void *stream, *host;
        OK(cuMemHostAlloc(&host, 4096, 0));
        OK(cuStreamCreate(&stream, NON_BLOCKING));
        OK(cuMemcpyHtoDAsync_v2(y, host, 4096, stream));
        OK(cuMemFree_v2(y));
        finish(0);
    }
    CASE("registered twice") {
        char *host = aligned_alloc(4096, 2 * 4096);
        OK(cuMemHostRegister_v2(host + 100, 1000, 0));
        WANT(712, cuMemHostRegister_v2(host + 2000, 100, 0));      // in the same page
        WANT(712, cuMemHostRegister_v2(host + 4000, 200, 0));
        WANT(713, cuMemHostUnregister(host));
        OK(cuMemHostRegister_v2(host + 4096, 4096, 0));
        OK(cuMemcpyDtoHAsync_v2(host + 2048, y, 4096, NULL));      // completely registered
        OK(cuCtxSynchronize());
        OK(cuMemHostUnregister(host + 100));
        printf("%d\n", cuMemHostRegister_v2(host + 2000, 100, 0));
    }
    CASE("copy to memory registered in part") {
        char *host = aligned_alloc(4096, 2 * 4096);
        OK(cuMemHostRegister_v2(host + 100, 1000, 0));
        OK(cuMemcpyDtoHAsync_v2(host + 2000, y, 2096, NULL));      // works because whole pages are pinned
        OK(cuMemcpyDtoHAsync_v2(host + 4096, y, 4096, NULL));
        printf("%d\n", cuMemcpyDtoHAsync_v2(host + 2048, y, 4096, NULL));
    }
    CASE("copy of memory registered in part") {
        char *host = aligned_alloc(4096, 2 * 4096);
        OK(cuMemHostRegister_v2(host + 4096, 1, 0));
        printf("%d\n", cuMemcpyHtoD_v2(y, host + 2048, 4096));
    }
    CASE("double free") {
        OK(cuMemFree_v2(x));
        printf("%d\n", cuMemFree_v2(x));
    }
    CASE("free within") printf("%d\n", cuMemFree_v2(x + 4));
    CASE("copy beyond") printf("%d\n", cuMemcpyDtoD_v2(y, x, 404));
    CASE("fill beyond") printf("%d\n", cuMemsetD32_v2(x + 4, 0, 100));
    CASE("old entry point") printf("%d\n", cuMemAlloc(&x, 4));
    CASE("touched by the host") *(volatile int *)x = 1;
    CASE("fresh") {
        uint32_t *words = malloc(4000);
        OK(cuMemcpyDtoH_v2(words, device(4000), 4000));
        for (int i = 0; i < 1000; i++) TRUE(words[i] == 0x7fc00000, "%d: %x", i, words[i]);
        printf("0\n");
    }
    CASE("unknown instruction") loads("tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r0}, [t, {%r1, %r2}];");
    CASE("unknown modifier") loads("add.rz.f32 %r1, %r2, %r3;");
    CASE("unknown register") loads("add.s32 %r1, %r2, %r9;");
    CASE("wrong width") loads("add.s32 %r1, %r2, %x1;");
    CASE("unknown label") loads("bra nowhere;");
    CASE("unknown function") loads("call.uni nothing, ();");
    CASE("unknown directive") loads(".tex .u64 t;");
    CASE("too many threads") printf("%d\n", LAUNCH(function(module, "traps"), 1, 1025, NULL, NULL));
    CASE("too much shared memory") printf("%d\n", cuLaunchKernel(function(module, "dynamic_shared"), 1, 1, 1, 32, 1, 1, 49153, NULL, (void *[]){&x}, NULL));
    CASE("unknown function name") { void *f; printf("%d\n", cuModuleGetFunction(&f, module, "nothing")); }
    CASE("leak") {
        void *stream, *event;
        OK(cuStreamCreate(&stream, 0));
        OK(cuEventCreate(&event, 0));
        OK(cuDevicePrimaryCtxRelease_v2(0));
        printf("0\n");
    }
    CASE("nothing left") {
        OK(cuMemFree_v2(x));
        OK(cuMemFree_v2(y));
        OK(cuModuleUnload(module));
        OK(cuDevicePrimaryCtxRelease_v2(0));
        printf("0\n");
    }
    CASE("held at the end") printf("0\n");
    else TRUE(false, "no case %s", name);
    return 0;
}
