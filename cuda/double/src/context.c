// Contexts: the primary context of each device, other contexts, and each thread's stack of current contexts.
#include <stdlib.h>
#include <string.h>

#include "double.h"

Context *contexts;
static _Thread_local Context *stack[64];
static _Thread_local int depth;

Context *context_current(void) { return depth ? stack[depth - 1] : NULL; }

static bool known(Context *context) {
    for (Context *c = contexts; c; c = c->next)
        if (c == context) return true;
    return false;
}

CUresult context_usable(void) {
    Context *context = context_current();
    if (devices_lost()) return devices_lost();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return context->failed;
}

void context_fail(Context *context, int code) {
    if (!context->failed) context->failed = code;
}

static CUresult create(CUdevice device, unsigned flags, bool primary, Context **made) {
    if (device < 0 || device >= config.devices) return CUDA_ERROR_INVALID_DEVICE;
    if (devices_lost()) return devices_lost();
    CUresult claimed = shared_claim(device);
    if (claimed) return claimed;
    Context *c = calloc(1, sizeof(Context));
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (Context){.next = contexts, .device = device, .flags = flags, .primary = primary};
    c->legacy = calloc(1, sizeof(Stream));
    if (!c->legacy) return free(c), CUDA_ERROR_OUT_OF_MEMORY;
    *c->legacy = (Stream){.context = c, .legacy = true, .blocking = true};
    c->streams = c->legacy;
    contexts = c;
    held.contexts++;
    schedule_start();
    *made = c;
    return CUDA_SUCCESS;
}

// destroy frees everything in the context and reports leaks. The context itself stays, because threads may still
// have it as their current context.
static void destroy(Context *c) {
    context_wait(c);
    int allocations = memory_count(c), pinned = host_count(c), streams = 0, events = 0, modules = 0;
    for (Module *m = c->modules; m; m = m->next)
        modules++, allocations -= m->unit->variable_count;
    for (Stream *s = c->streams; s; s = s->next) streams += !s->legacy && !s->destroyed;
    for (Event *e = c->events; e; e = e->next) events++;
    if (allocations || pinned || streams || events || modules) {
        held.leaks++;
        note("a context is destroyed with %d allocations, %d pieces of pinned memory, %d streams, %d events, %d modules in it", allocations, pinned, streams, events, modules);
        if (config.exit_code) misuse("leaked");
    }
    while (c->modules) module_free(c->modules);
    events_release_all(c);
    while (c->streams) stream_free(c->streams);
    c->legacy = NULL;
    memory_release_all(c);
    host_release_all(c);
    for (Context **at = &contexts; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    c->destroyed = true;
    held.contexts--;
}

static CUresult push(Context *context) {
    if (depth == 64) return CUDA_ERROR_OUT_OF_MEMORY;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

API CUresult cuCtxCreate_v2(CUcontext *made, unsigned flags, CUdevice device) {
    ENTER();
    CUresult result = create(device, flags, false, made);
    return leave(result ? result : push(*made));
}

API CUresult cuCtxDestroy_v2(CUcontext context) {
    ENTER();
    if (!known(context)) return leave(CUDA_ERROR_INVALID_CONTEXT);
    if (context->primary) {
        misuse("a primary context is destroyed, not released");
        return leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (context_current() == context) depth--;
    destroy(context);
    return leave(CUDA_SUCCESS);
}

API CUresult cuCtxPushCurrent_v2(CUcontext context) {
    ENTER();
    return leave(known(context) ? push(context) : CUDA_ERROR_INVALID_CONTEXT);
}

API CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    ENTER();
    if (!depth) return leave(CUDA_ERROR_INVALID_CONTEXT);
    depth--;
    if (context) *context = stack[depth];
    return leave(CUDA_SUCCESS);
}

API CUresult cuCtxSetCurrent(CUcontext context) {
    ENTER();
    if (context && !known(context)) return leave(context->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT);
    if (depth) depth--;
    return leave(context ? push(context) : CUDA_SUCCESS);
}

API CUresult cuCtxGetCurrent(CUcontext *context) {
    ENTER();
    *context = context_current();
    return leave(CUDA_SUCCESS);
}

API CUresult cuCtxGetDevice(CUdevice *device) {
    ENTER();
    if (!context_current()) return leave(CUDA_ERROR_INVALID_CONTEXT);
    *device = context_current()->device;
    return leave(CUDA_SUCCESS);
}

API CUresult cuCtxGetFlags(unsigned *flags) {
    ENTER_CONTEXT();
    *flags = context_current()->flags;
    return leave(CUDA_SUCCESS);
}

API CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) {
    ENTER();
    if (!(context ? context : context_current())) return leave(CUDA_ERROR_INVALID_CONTEXT);
    *version = (unsigned)config.version;
    return leave(CUDA_SUCCESS);
}

API CUresult cuCtxSynchronize(void) {
    ENTER_CONTEXT();
    Context *context = context_current();
    if (context->captures) return leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return leave(context_wait(context));
}

API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER_CONTEXT();
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return leave(CUDA_SUCCESS);
}

// Limits and cache configurations are only hints. The double accepts and ignores them.
API CUresult cuCtxSetLimit(int limit, size_t value) {
    (void)value;
    ENTER_CONTEXT();
    return leave(limit < 0 || limit > 8 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}
API CUresult cuCtxGetLimit(size_t *value, int limit) {
    ENTER_CONTEXT();
    *value = 1024;
    return leave(limit < 0 || limit > 8 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}
API CUresult cuCtxSetCacheConfig(int value) {
    ENTER_CONTEXT();
    return leave(value < 0 || value > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}
API CUresult cuCtxGetCacheConfig(int *value) {
    ENTER_CONTEXT();
    *value = 0;
    return leave(CUDA_SUCCESS);
}

static Context *primaries[16];
static unsigned primary_flags[16];

API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER();
    if (device < 0 || device >= config.devices) return leave(CUDA_ERROR_INVALID_DEVICE);
    CUresult result = primaries[device] ? devices_lost() : create(device, primary_flags[device], true, &primaries[device]);
    if (result) return leave(result);
    primaries[device]->retained++;
    *context = primaries[device];
    return leave(CUDA_SUCCESS);
}

static void end_primary(CUdevice device) {
    Context *context = primaries[device];
    primaries[device] = NULL;
    destroy(context);
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    ENTER();
    if (device < 0 || device >= config.devices) return leave(CUDA_ERROR_INVALID_DEVICE);
    if (!primaries[device]) {
        misuse("the primary context of device %d is released more often than retained", device);
        return leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (--primaries[device]->retained == 0) end_primary(device);
    return leave(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    ENTER();
    if (device < 0 || device >= config.devices) return leave(CUDA_ERROR_INVALID_DEVICE);
    if (primaries[device]) end_primary(device);
    return leave(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    ENTER();
    if (device < 0 || device >= config.devices) return leave(CUDA_ERROR_INVALID_DEVICE);
    primary_flags[device] = flags;
    return leave(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    ENTER();
    if (device < 0 || device >= config.devices) return leave(CUDA_ERROR_INVALID_DEVICE);
    *flags = primary_flags[device];
    *active = primaries[device] != NULL;
    return leave(CUDA_SUCCESS);
}

API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    ENTER_CONTEXT();
    return leave(!known(peer) || peer == context_current() ? CUDA_ERROR_INVALID_CONTEXT : flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}
API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    ENTER_CONTEXT();
    return leave(known(peer) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_ERROR_INVALID_CONTEXT);
}
