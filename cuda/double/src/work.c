// Runs the work of streams and graphs: kernels, copies, fills, host functions, signals between processes.
#include <stdlib.h>
#include <string.h>

#include "double.h"

void work_drop(Work *w) {
    if (w->kind == KERNEL) free(w->kernel.params);
    if (w->kind == COPY) free(w->copy.staged);
    if (w->kind == GRAPH) graph_release(w->graph);
    w->kind = NOTHING;
}

// device_check checks whether rows of width bytes lie in one allocation of this device.
static CUresult device_check(Context *c, const Place *p, uint64_t width, uint64_t height, const char *what) {
    uint64_t bytes = height ? (height - 1) * p->pitch + width : 0;
    char place[256];
    Allocation *a = memory_find(p->address);
    if (a && p->address + bytes <= a->base + a->bytes && a->device == c->device) return CUDA_SUCCESS;
    if (a && p->address + bytes > a->base + a->bytes)
        misuse("%s %llu bytes at %#llx, which goes beyond the end: %s", what, (unsigned long long)bytes, (unsigned long long)p->address, memory_describe(p->address, place));
    else misuse("%s %llu bytes at %#llx: %s", what, (unsigned long long)bytes, (unsigned long long)p->address, memory_describe(p->address, place));
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_check(Context *c, const Work *w) {
    if (w->kind == FILL) {
        if (w->fill.to.host) return CUDA_SUCCESS;
        if (w->fill.to.address % (unsigned)w->fill.size) return CUDA_ERROR_INVALID_VALUE;
        return device_check(c, &w->fill.to, w->fill.width * (unsigned)w->fill.size, w->fill.height, "a fill writes");
    }
    CUresult result = CUDA_SUCCESS;
    if (!w->copy.to.host) result = device_check(c, &w->copy.to, w->copy.width, w->copy.height, "a copy writes");
    if (!result && !w->copy.from.host) result = device_check(c, &w->copy.from, w->copy.width, w->copy.height, "a copy reads");
    return result;
}

static void *bytes_of(const Place *p) { return p->host ? (void *)p->address : memory_bytes(p->address); }

static CUresult copy(Context *c, const Work *w) {
    // The allocation may have been freed since the copy was requested.
    if (copy_check(c, w)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    const Place *to = &w->copy.to, *from = &w->copy.from;
    const Place *host = to->host ? to : from;
    HostRange *range = host->host ? host_find(host->address, (w->copy.height - 1) * host->pitch + w->copy.width) : NULL;
    if (w->copy.pinned && host_pinning(host->address, (w->copy.height - 1) * host->pitch + w->copy.width) != PINNED) {
        misuse("a copy %s %#llx, host memory that was pinned when the copy was asked for and is no longer", to->host ? "to" : "from", (unsigned long long)host->address);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (to->host && range && range->read_only) {
        misuse("a copy to %#llx, host memory that is registered for reading only", (unsigned long long)to->address);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    const uint8_t *source = w->copy.staged ? w->copy.staged : bytes_of(from);
    uint64_t pitch = w->copy.staged ? w->copy.width : from->pitch;
    for (uint64_t row = 0; row < w->copy.height; row++)
        memmove((uint8_t *)bytes_of(to) + row * to->pitch, source + row * pitch, w->copy.width);
    return CUDA_SUCCESS;
}

static CUresult fill(Context *c, const Work *w) {
    if (copy_check(c, w)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint64_t row = 0; row < w->fill.height; row++) {
        uint8_t *at = (uint8_t *)bytes_of(&w->fill.to) + row * w->fill.to.pitch;
        for (uint64_t n = 0; n < w->fill.width; n++) memcpy(at + n * (unsigned)w->fill.size, &w->fill.value, w->fill.size);
    }
    return CUDA_SUCCESS;
}

CUresult work_run(Context *c, Work *w) {
    switch (w->kind) {
    case KERNEL:
        if (config.lost_at && held.launches + 1 >= config.lost_at) {
            device_lost();
            return config.lost_code;
        }
        return launch_run(c, w);
    case COPY: return copy(c, w);
    case FILL: return fill(c, w);
    case HOST:
        unlock();
        w->host.call(w->host.data);
        lock();
        return CUDA_SUCCESS;
    case GRAPH: return graph_run(c, w->graph);
    case RECORD:
        if (w->signal.page) __atomic_store_n(&w->signal.page->done, w->signal.sequence, __ATOMIC_RELEASE);
        return CUDA_SUCCESS;
    default: return CUDA_SUCCESS;
    }
}
