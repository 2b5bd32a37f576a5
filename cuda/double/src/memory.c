// Device memory. The addresses are inaccessible; the bytes are elsewhere, in a file that processes can share.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "double.h"

enum { FREED = 4096, UNIT = 512 };

uint64_t space_base;
int64_t space_delta;
int memory_files[16];

static Allocation **table;             // sorted by address
static int count, capacity;
static uint64_t next_address[16], serial;
static struct { uint64_t base, bytes, serial; } freed[FREED];
static int freed_count;

bool memory_prepare(void) {
    if (space_base) return true;
    uint64_t size = config.devices * DEVICE_SPACE;
    uint8_t *space = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint8_t *bytes = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED || bytes == MAP_FAILED) return false;
    for (int d = 0; d < config.devices; d++) {
        memory_files[d] = memfd_create("cuda-double-memory", MFD_CLOEXEC);
        if (memory_files[d] < 0 || ftruncate(memory_files[d], DEVICE_SPACE)) return false;
        if (mmap(bytes + d * DEVICE_SPACE, DEVICE_SPACE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory_files[d], 0) == MAP_FAILED) return false;
        next_address[d] = (uint64_t)space + d * DEVICE_SPACE + (64 << 20);
    }
    space_base = (uint64_t)space;
    space_delta = bytes - space;
    return true;
}

// position returns the index of the first allocation that ends after the address.
static int position(uint64_t address) {
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (table[middle]->base + table[middle]->bytes <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

Allocation *memory_find(uint64_t address) {
    int at = position(address);
    return at < count && address >= table[at]->base ? table[at] : NULL;
}

const char *memory_describe(uint64_t address, char text[256]) {
    Allocation *inside = memory_find(address);
    if (inside) {
        snprintf(text, 256, "byte %llu of allocation %llu of %llu bytes at %#llx", (unsigned long long)(address - inside->base), (unsigned long long)inside->serial,
                 (unsigned long long)inside->bytes, (unsigned long long)inside->base);
        return text;
    }
    for (int n = freed_count - 1; n >= 0 && n >= freed_count - FREED; n--) {
        uint64_t base = freed[n % FREED].base, bytes = freed[n % FREED].bytes;
        if (address < base || address >= base + bytes) continue;
        snprintf(text, 256, "byte %llu of allocation %llu of %llu bytes at %#llx, which has been freed", (unsigned long long)(address - base),
                 (unsigned long long)freed[n % FREED].serial, (unsigned long long)bytes, (unsigned long long)base);
        return text;
    }
    int at = position(address);
    if (!memory_is_device(address)) snprintf(text, 256, "no address of the device");
    else if (at > 0 && address - table[at - 1]->base - table[at - 1]->bytes < 1 << 20)
        snprintf(text, 256, "%llu bytes after the end of allocation %llu of %llu bytes at %#llx", (unsigned long long)(address - table[at - 1]->base - table[at - 1]->bytes),
                 (unsigned long long)table[at - 1]->serial, (unsigned long long)table[at - 1]->bytes, (unsigned long long)table[at - 1]->base);
    else if (at < count && table[at]->base - address < 1 << 20)
        snprintf(text, 256, "%llu bytes before allocation %llu of %llu bytes at %#llx", (unsigned long long)(table[at]->base - address), (unsigned long long)table[at]->serial,
                 (unsigned long long)table[at]->bytes, (unsigned long long)table[at]->base);
    else snprintf(text, 256, "in no allocation");
    return text;
}

Allocation *memory_place(Context *context, uint64_t bytes) {
    int d = context->device;
    uint64_t first = space_base + d * DEVICE_SPACE + (64 << 20), end = space_base + (d + 1) * DEVICE_SPACE;
    uint64_t room = (bytes + PAGE - 1) / PAGE * PAGE + PAGE, base = next_address[d];
    // Addresses are reused as late as possible, so that a use after free does not hit a new allocation.
    for (int turns = 0;; turns++) {
        if (base + room > end) base = first;
        int at = position(base);
        if (at == count || table[at]->base >= base + room) break;
        base = (table[at]->base + table[at]->bytes + 2 * PAGE - 1) / PAGE * PAGE;
        if (turns > 2 * count + 4) return NULL;
    }
    Allocation *a = calloc(1, sizeof(Allocation));
    if (!a) return NULL;
    *a = (Allocation){.base = base, .bytes = bytes, .serial = ++serial, .context = context, .device = d, .export = -1};
    next_address[d] = base + room;
    if (count == capacity) {
        capacity = capacity ? capacity * 2 : 256;
        Allocation **more = realloc(table, capacity * sizeof(*table));
        if (!more) return free(a), NULL;
        table = more;
    }
    int at = position(base);
    memmove(&table[at + 1], &table[at], (count - at) * sizeof(*table));
    table[at] = a;
    count++;
    return a;
}

static int64_t charged(uint64_t bytes) { return (int64_t)((bytes + UNIT - 1) / UNIT * UNIT); }

Allocation *memory_allocate(Context *context, uint64_t bytes, CUresult *result) {
    *result = bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    if (!bytes || bytes > DEVICE_SPACE / 2 || !shared_charge(context->device, charged(bytes))) return NULL;
    Allocation *a = memory_place(context, bytes);
    if (!a) return shared_charge(context->device, -charged(bytes)), NULL;
    uint32_t *words = memory_bytes(a->base);
    for (uint64_t n = 0; n < (bytes + 3) / 4; n++) words[n] = 0x7fc00000;
    held.allocations++;
    held.bytes += bytes;
    *result = CUDA_SUCCESS;
    return a;
}

void memory_free(Allocation *a) {
    int at = position(a->base);
    memmove(&table[at], &table[at + 1], (count - at - 1) * sizeof(*table));
    count--;
    freed[freed_count % FREED].base = a->base;
    freed[freed_count % FREED].bytes = a->bytes;
    freed[freed_count++ % FREED].serial = a->serial;
    uint64_t room = (a->bytes + PAGE - 1) / PAGE * PAGE, offset = a->base - space_base - a->device * DEVICE_SPACE;
    if (a->kind == IMPORTED) {
        ipc_close(a);
        mmap(memory_bytes(a->base), room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory_files[a->device], (off_t)offset);
        held.imports--;
    } else {
        ipc_freed(a);
        if (fallocate(memory_files[a->device], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)room)) memset(memory_bytes(a->base), 0xff, room);
        shared_charge(a->device, -charged(a->bytes));
        held.allocations--;
        held.bytes -= a->bytes;
    }
    free(a);
}

void memory_release_all(Context *context) {
    for (int n = count - 1; n >= 0; n--)
        if (table[n]->context == context) memory_free(table[n]);
}

int memory_count(Context *context) {
    int owned = 0;
    for (int n = 0; n < count; n++) owned += table[n]->context == context;
    return owned;
}

Allocation *import_find(Context *context, const char handle[64]) {
    for (int n = 0; n < count; n++)
        if (table[n]->kind == IMPORTED && table[n]->context == context && !memcmp(table[n]->handle, handle, 64)) return table[n];
    return NULL;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    ENTER_CONTEXT();
    Context *context = context_current();
    if (capture_forbids(context)) return leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUresult result;
    Allocation *a = memory_allocate(context, bytes, &result);
    if (a) *pointer = a->base;
    return leave(result);
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned element) {
    if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
    *pitch = (width + UNIT - 1) / UNIT * UNIT;
    return cuMemAlloc_v2(pointer, *pitch * height);
}

API CUresult cuMemFree_v2(CUdeviceptr pointer) {
    ENTER_CONTEXT();
    if (!pointer) return leave(CUDA_SUCCESS);
    Context *context = context_current();
    if (capture_forbids(context)) return leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    Allocation *a = memory_find(pointer);
    char place[256];
    if (!a || a->base != pointer) {
        misuse("%#llx is freed: %s", pointer, memory_describe(pointer, place));
        return leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (a->kind == IMPORTED) {
        misuse("%#llx is freed, which another process shares with this one: %s", pointer, memory_describe(pointer, place));
        return leave(CUDA_ERROR_INVALID_VALUE);
    }
    // The driver waits for the device before it frees memory.
    if (!config.strict) context_wait(a->context);
    if (context->failed) return leave(context->failed);
    memory_free(a);
    return leave(CUDA_SUCCESS);
}

API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    ENTER_CONTEXT();
    int64_t used = shared_used(context_current()->device);
    *total = config.memory_bytes;
    *free_bytes = used < (int64_t)config.memory_bytes ? config.memory_bytes - used : 0;
    return leave(CUDA_SUCCESS);
}

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer) {
    ENTER_CONTEXT();
    Allocation *a = memory_find(pointer);
    if (!a) return leave(CUDA_ERROR_NOT_FOUND);
    if (base) *base = a->base;
    if (bytes) *bytes = a->bytes;
    return leave(CUDA_SUCCESS);
}
