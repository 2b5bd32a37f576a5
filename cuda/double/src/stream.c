// Streams.
#include <stdlib.h>

#include "double.h"

static uint64_t serial;

CUresult stream_of(CUstream handle, Stream **stream) {
    Context *c = context_current();
    if (!handle || handle == (CUstream)1) {
        for (Stream *s = c->streams; s; s = s->next)
            if (s->capture && s->blocking) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        *stream = c->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == (CUstream)2) {
        misuse("the double has no per-thread default streams");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    for (Context *any = contexts; any; any = any->next)
        for (Stream *s = any->streams; s; s = s->next)
            if (s == handle && !s->destroyed && !s->legacy) {
                *stream = s;
                return any->failed;
            }
    misuse("the stream %p does not exist, or no longer", (void *)handle);
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult stream_submit(Stream *s, Work work) {
    if (s->capture) return capture_add(s, work);
    Context *c = s->context;
    op_release(op_enqueue(s, work));
    schedule_tick(c);
    return CUDA_SUCCESS;
}

void stream_free(Stream *s) {
    for (Stream **at = &s->context->streams; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    if (!s->legacy && !s->destroyed) held.streams--;
    free(s->frontier);
    free(s);
}

static CUresult create(CUstream *stream, unsigned flags, int priority) {
    Context *c = context_current();
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    Stream *s = calloc(1, sizeof(Stream));
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    *s = (Stream){.next = c->streams, .context = c, .blocking = !flags, .flags = flags, .serial = ++serial};
    s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    c->streams = s;
    held.streams++;
    *stream = s;
    return CUDA_SUCCESS;
}

API CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    ENTER_CONTEXT();
    return leave(create(stream, flags, 0));
}

API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    ENTER_CONTEXT();
    return leave(create(stream, flags, priority));
}

API CUresult cuStreamDestroy_v2(CUstream handle) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result) return leave(result);
    if (s->legacy) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (s->capture) return leave(capture_refuse(s));
    // Its work continues; the stream is freed after the last of it.
    held.streams--;
    s->destroyed = true;
    if (!s->head) stream_free(s);
    return leave(CUDA_SUCCESS);
}

API CUresult cuStreamSynchronize(CUstream handle) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (!result) result = s->capture ? capture_refuse(s) : stream_wait(s);
    return leave(result);
}

API CUresult cuStreamQuery(CUstream handle) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result) return leave(result);
    if (s->capture) return leave(capture_refuse(s));
    if (s->tail) schedule_query(s->context, s->tail, &s->queries);
    if (s->context->failed || devices_lost()) return leave(devices_lost() ? devices_lost() : s->context->failed);
    return leave(s->tail ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

API CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result || flags > 1) return leave(result ? result : CUDA_ERROR_INVALID_VALUE);
    if (!event_exists(event)) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (event->capture || s->capture) return leave(capture_wait(s, event));
    if (event->page) {
        uint32_t recorded = __atomic_load_n(&event->page->recorded, __ATOMIC_ACQUIRE);
        if (recorded && !(event->last && event->sequence == recorded))
            return leave(stream_submit(s, (Work){.kind = WAIT, .signal = {event->page, recorded, event->owner}}));
    }
    // Waiting for an event that was never recorded does nothing.
    if (!event->last || event->last->done) return leave(CUDA_SUCCESS);
    Op *op = op_enqueue(s, (Work){.kind = NOTHING});
    op_after(op, event->last);
    op_release(op);
    schedule_tick(s->context);
    return leave(CUDA_SUCCESS);
}

API CUresult cuLaunchHostFunc(CUstream handle, CUhostFn call, void *data) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (!result && !call) result = CUDA_ERROR_INVALID_VALUE;
    return leave(result ? result : stream_submit(s, (Work){.kind = HOST, .host = {call, data}}));
}

API CUresult cuStreamGetPriority(CUstream handle, int *priority) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (!result) *priority = s->priority;
    return leave(result);
}

API CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (!result) *flags = s->flags;
    return leave(result);
}

API CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (!result) *context = s->context;
    return leave(result);
}
