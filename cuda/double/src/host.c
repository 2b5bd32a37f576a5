// Pinned host memory, allocated by the driver or registered with it. The driver pins whole pages. Memory in the
// same page as registered memory is therefore pinned too, and cannot itself be registered.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "double.h"

static HostRange *ranges;
static int count, capacity;

HostRange *host_find(uint64_t address, uint64_t bytes) {
    for (int n = 0; n < count; n++)
        if (address >= ranges[n].base && address + bytes <= ranges[n].base + ranges[n].bytes) return &ranges[n];
    return NULL;
}

Pinning host_pinning(uint64_t address, uint64_t bytes) {
    uint64_t covered = 0;              // ranges do not overlap
    for (int n = 0; n < count; n++) {
        uint64_t from = address > ranges[n].base ? address : ranges[n].base;
        uint64_t to = address + bytes < ranges[n].base + ranges[n].bytes ? address + bytes : ranges[n].base + ranges[n].bytes;
        if (from < to) covered += to - from;
    }
    return covered == 0 ? PAGEABLE : covered == bytes ? PINNED : PARTLY;
}

static HostRange *given_at(void *pointer, bool allocated) {
    for (int n = 0; n < count; n++)
        if (ranges[n].given == (uint64_t)pointer && ranges[n].allocated == allocated) return &ranges[n];
    return NULL;
}

static CUresult add(HostRange range) {
    if (count == capacity) {
        capacity = capacity ? capacity * 2 : 64;
        HostRange *more = realloc(ranges, capacity * sizeof(*ranges));
        if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
        ranges = more;
    }
    ranges[count++] = range;
    *(range.allocated ? &held.host_allocations : &held.registrations) += 1;
    return CUDA_SUCCESS;
}

static void drop(HostRange *range) {
    *(range->allocated ? &held.host_allocations : &held.registrations) -= 1;
    if (range->allocated) munmap((void *)range->base, range->bytes);
    *range = ranges[--count];
}

int host_count(Context *context) {
    int owned = 0;
    for (int n = 0; n < count; n++) owned += ranges[n].context == context;
    return owned;
}

void host_release_all(Context *context) {
    for (int n = count - 1; n >= 0; n--)
        if (ranges[n].context == context) drop(&ranges[n]);
}

static CUresult allocate(void **pointer, size_t bytes) {
    Context *context = context_current();
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (capture_forbids(context)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    void *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t n = 0; n < room / 4; n++) ((uint32_t *)at)[n] = 0x7fc00000;
    *pointer = at;
    return add((HostRange){.base = (uint64_t)at, .bytes = room, .given = (uint64_t)at, .allocated = true, .context = context});
}

API CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    ENTER_CONTEXT();
    return leave(flags & ~7u ? CUDA_ERROR_INVALID_VALUE : allocate(pointer, bytes));
}

API CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) {
    ENTER_CONTEXT();
    return leave(allocate(pointer, bytes));
}

API CUresult cuMemFreeHost(void *pointer) {
    ENTER_CONTEXT();
    HostRange *range = given_at(pointer, true);
    if (!range) {
        misuse("%p is freed, which is not the beginning of pinned memory that the driver allocated", pointer);
        return leave(CUDA_ERROR_INVALID_VALUE);
    }
    // As for device memory, the driver waits until the device no longer uses it.
    if (!config.strict) context_wait(range->context);
    drop(given_at(pointer, true));
    return leave(CUDA_SUCCESS);
}

// writable checks for each page of the range whether the process may write it.
static bool writable(uint64_t base, uint64_t bytes, bool *mapped) {
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return *mapped = true;
    char line[512], mode[8];
    unsigned long long from, to;
    uint64_t at = base;
    bool writes = true;
    while (at < base + bytes && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx %7s", &from, &to, mode) != 3 || to <= at) continue;
        if (from > at) break;
        writes &= mode[1] == 'w';
        if (mode[0] != 'r') break;
        at = to;
    }
    fclose(maps);
    *mapped = at >= base + bytes;
    return writes;
}

API CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
    ENTER_CONTEXT();
    enum { PORTABLE = 1, MAPPED = 2, READ_ONLY = 8 };
    uint64_t given = (uint64_t)pointer, base = given / PAGE * PAGE, room = (given + bytes - base + PAGE - 1) / PAGE * PAGE;
    if (!pointer || !bytes || flags & ~(unsigned)(PORTABLE | MAPPED | READ_ONLY)) return leave(CUDA_ERROR_INVALID_VALUE);
    if (flags & READ_ONLY && !config.registers_read_only) return leave(CUDA_ERROR_NOT_SUPPORTED);
    if (host_pinning(base, room) != PAGEABLE) return leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    bool mapped, writes = writable(base, room, &mapped);
    if (!mapped) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!writes && !(flags & READ_ONLY)) {
        note("%p is registered without CU_MEMHOSTREGISTER_READ_ONLY, but the process may not write it", pointer);
        return leave(CUDA_ERROR_INVALID_VALUE);
    }
    return leave(add((HostRange){.base = base, .bytes = room, .given = given, .read_only = flags & READ_ONLY, .context = context_current()}));
}

API CUresult cuMemHostUnregister(void *pointer) {
    ENTER_CONTEXT();
    HostRange *range = given_at(pointer, false);
    if (!range) {
        misuse("%p is unregistered, but is not registered", pointer);
        return leave(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    }
    if (!config.strict) context_wait(range->context);
    drop(given_at(pointer, false));
    return leave(CUDA_SUCCESS);
}

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *pointer, unsigned flags) {
    ENTER_CONTEXT();
    if (flags || !host_find((uint64_t)pointer, 1)) return leave(CUDA_ERROR_INVALID_VALUE);
    *device = (uint64_t)pointer;
    return leave(CUDA_SUCCESS);
}

API CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
    ENTER_CONTEXT();
    HostRange *range = host_find((uint64_t)pointer, 1);
    if (!range) return leave(CUDA_ERROR_INVALID_VALUE);
    *flags = 2;
    return leave(CUDA_SUCCESS);
}
