// Copies and fills: the calls, and when they return.
//
// With pageable host memory, a copy to the device returns once its bytes are staged, and a copy from the device
// returns once it is done. With pinned memory, an asynchronous copy returns at once and accesses the host memory
// when it runs. Partially pinned host memory is refused.
#include <stdlib.h>
#include <string.h>

#include "double.h"

typedef struct {
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    CUdeviceptr from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    CUdeviceptr to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
} CUDA_MEMCPY2D;

static Place device_place(CUdeviceptr at, uint64_t pitch) { return (Place){at, pitch, false}; }
static Place host_place(const void *at, uint64_t pitch) { return (Place){(uint64_t)at, pitch, true}; }
static Place any_place(CUdeviceptr at, uint64_t pitch) { return (Place){at, pitch, !memory_is_device(at)}; }

static Pinning pinning(const Place *p, const Work *w) { return host_pinning(p->address, (w->copy.height - 1) * p->pitch + w->copy.width); }

static uint8_t *stage(const Place *from, uint64_t width, uint64_t height) {
    uint8_t *staged = malloc(width * height);
    for (uint64_t row = 0; staged && row < height; row++) memcpy(staged + row * width, (uint8_t *)from->address + row * from->pitch, width);
    return staged;
}

static CUresult submit(CUstream handle, Place to, Place from, uint64_t width, uint64_t height, bool asynchronous) {
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result || !width || !height) return result;
    Work w = {.kind = COPY, .copy = {.to = to, .from = from, .width = width, .height = height}};
    Context *c = s->context;
    if ((result = copy_check(c, &w))) return result;
    if (from.host && !to.host) held.bytes_in += (int64_t)(width * height);
    if (to.host && !from.host) held.bytes_out += (int64_t)(width * height);
    if (to.host && host_find(to.address, width) && host_find(to.address, width)->read_only) {
        misuse("a copy to %#llx, host memory that is registered for reading only", (unsigned long long)to.address);
        return CUDA_ERROR_INVALID_VALUE;
    }
    Pinning from_is = from.host ? pinning(&from, &w) : PINNED, to_is = to.host ? pinning(&to, &w) : PINNED;
    if (from_is == PARTLY || to_is == PARTLY) {
        misuse("a copy %s %llu bytes at %#llx, host memory that is pinned in part", from_is == PARTLY ? "reads" : "writes",
               (unsigned long long)width, (unsigned long long)(from_is == PARTLY ? from.address : to.address));
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool from_pageable = from_is == PAGEABLE, to_pageable = to_is == PAGEABLE;
    w.copy.pinned = (from.host && from_is == PINNED) || (to.host && to_is == PINNED);
    if (s->capture) return from_pageable || to_pageable ? capture_refuse(s) : capture_add(s, w);
    bool wait = to_pageable || (!asynchronous && (to.host || from.host) && !(from_pageable && !to.host));
    if (from_pageable) {
        if (!asynchronous && (result = stream_wait(s))) return result;
        if (!(w.copy.staged = stage(&from, width, height))) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Op *op = op_enqueue(s, w);
    if (wait) result = op_wait(c, op);
    else schedule_tick(c);
    op_release(op);
    return result;
}

API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    ENTER_CONTEXT();
    return leave(submit(NULL, device_place(to, bytes), host_place(from, bytes), bytes, 1, false));
}
API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    ENTER_CONTEXT();
    return leave(submit(NULL, host_place(to, bytes), device_place(from, bytes), bytes, 1, false));
}
API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER_CONTEXT();
    return leave(submit(NULL, device_place(to, bytes), device_place(from, bytes), bytes, 1, false));
}
API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER_CONTEXT();
    return leave(submit(NULL, any_place(to, bytes), any_place(from, bytes), bytes, 1, false));
}
API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT();
    return leave(submit(stream, device_place(to, bytes), host_place(from, bytes), bytes, 1, true));
}
API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT();
    return leave(submit(stream, host_place(to, bytes), device_place(from, bytes), bytes, 1, true));
}
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT();
    return leave(submit(stream, device_place(to, bytes), device_place(from, bytes), bytes, 1, true));
}
API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT();
    return leave(submit(stream, any_place(to, bytes), any_place(from, bytes), bytes, 1, true));
}

static CUresult submit_rows(CUstream stream, const CUDA_MEMCPY2D *r, bool asynchronous) {
    enum { HOST_MEMORY = 1, DEVICE_MEMORY, ARRAY_MEMORY, UNIFIED };
    if (r->from_type == ARRAY_MEMORY || r->to_type == ARRAY_MEMORY) {
        misuse("the double has no arrays");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    uint64_t from_pitch = r->from_pitch ? r->from_pitch : r->width, to_pitch = r->to_pitch ? r->to_pitch : r->width;
    if (from_pitch < r->width || to_pitch < r->width) return CUDA_ERROR_INVALID_VALUE;
    uint64_t from_at = r->from_y * from_pitch + r->from_x, to_at = r->to_y * to_pitch + r->to_x;
    Place from = r->from_type == HOST_MEMORY ? host_place((const char *)r->from_host + from_at, from_pitch)
                 : r->from_type == DEVICE_MEMORY ? device_place(r->from_device + from_at, from_pitch) : any_place(r->from_device + from_at, from_pitch);
    Place to = r->to_type == HOST_MEMORY ? host_place((char *)r->to_host + to_at, to_pitch)
               : r->to_type == DEVICE_MEMORY ? device_place(r->to_device + to_at, to_pitch) : any_place(r->to_device + to_at, to_pitch);
    return submit(stream, to, from, r->width, r->height, asynchronous);
}

API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *rows) {
    ENTER_CONTEXT();
    return leave(submit_rows(NULL, rows, false));
}
API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *rows) {
    ENTER_CONTEXT();
    return leave(submit_rows(NULL, rows, false));
}
API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *rows, CUstream stream) {
    ENTER_CONTEXT();
    return leave(submit_rows(stream, rows, true));
}

static CUresult fill(CUstream handle, CUdeviceptr to, uint64_t pitch, unsigned value, int size, uint64_t width, uint64_t height) {
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result || !width || !height) return result;
    Work w = {.kind = FILL, .fill = {.to = any_place(to, pitch), .width = width, .height = height, .value = value, .size = size}};
    if (w.fill.to.host && !host_find(to, width * (unsigned)size)) return CUDA_ERROR_INVALID_VALUE;
    result = copy_check(s->context, &w);
    return result ? result : stream_submit(s, w);
}

#define FILLS(bits, T)                                                                                                          \
    API CUresult cuMemsetD##bits##_v2(CUdeviceptr to, T value, size_t count) {                                                  \
        ENTER_CONTEXT();                                                                                                        \
        return leave(fill(NULL, to, count * sizeof(T), value, sizeof(T), count, 1));                                            \
    }                                                                                                                           \
    API CUresult cuMemsetD##bits##Async(CUdeviceptr to, T value, size_t count, CUstream stream) {                               \
        ENTER_CONTEXT();                                                                                                        \
        return leave(fill(stream, to, count * sizeof(T), value, sizeof(T), count, 1));                                          \
    }                                                                                                                           \
    API CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, T value, size_t width, size_t height) {                   \
        ENTER_CONTEXT();                                                                                                        \
        return leave(fill(NULL, to, pitch, value, sizeof(T), width, height));                                                   \
    }                                                                                                                           \
    API CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, T value, size_t width, size_t height, CUstream stream) { \
        ENTER_CONTEXT();                                                                                                        \
        return leave(fill(stream, to, pitch, value, sizeof(T), width, height));                                                 \
    }
FILLS(8, uint8_t)
FILLS(16, uint16_t)
FILLS(32, uint32_t)
