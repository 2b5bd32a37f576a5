// Events.
#include <stdlib.h>

#include "double.h"

bool event_exists(CUevent event) {
    for (Context *c = contexts; c; c = c->next)
        for (Event *e = c->events; e; e = e->next)
            if (e == event) return true;
    misuse("the event %p does not exist, or no longer", (void *)event);
    return false;
}

CUresult event_create(Context *c, unsigned flags, Event **event) {
    Event *e = calloc(1, sizeof(Event));
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    *e = (Event){.next = c->events, .context = c, .flags = flags};
    c->events = e;
    held.events++;
    *event = e;
    return CUDA_SUCCESS;
}

static void release(Event *e) {
    for (Event **at = &e->context->events; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    if (e->page) ipc_event_free(e);
    op_release(e->last);
    free(e->frontier);
    free(e);
    held.events--;
}

void events_release_all(Context *c) {
    while (c->events) release(c->events);
}

API CUresult cuEventCreate(CUevent *event, unsigned flags) {
    ENTER_CONTEXT();
    bool interprocess = flags & EVENT_INTERPROCESS;
    if (flags & ~7u || (interprocess && !(flags & EVENT_DISABLE_TIMING))) return leave(CUDA_ERROR_INVALID_VALUE);
    CUresult result = event_create(context_current(), flags, event);
    if (!result && interprocess && !ipc_event_make(*event)) result = CUDA_ERROR_OUT_OF_MEMORY;
    return leave(result);
}

API CUresult cuEventDestroy_v2(CUevent event) {
    ENTER_CONTEXT();
    if (!event_exists(event)) return leave(CUDA_ERROR_INVALID_HANDLE);
    release(event);
    return leave(CUDA_SUCCESS);
}

static CUresult record(CUevent event, CUstream handle) {
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result) return result;
    if (!event_exists(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (event->context != s->context) return CUDA_ERROR_INVALID_HANDLE;
    if (s->capture) return capture_record(s, event), CUDA_SUCCESS;
    free(event->frontier);
    event->frontier = NULL;
    event->capture = NULL;
    Work work = {.kind = RECORD};
    if (event->page) {
        event->sequence = __atomic_add_fetch(&event->page->recorded, 1, __ATOMIC_ACQ_REL);
        work.signal.page = event->page;
        work.signal.sequence = event->sequence;
    }
    op_release(event->last);
    event->last = op_enqueue(s, work);
    event->queries = 0;
    schedule_tick(s->context);
    return CUDA_SUCCESS;
}

API CUresult cuEventRecord(CUevent event, CUstream stream) {
    ENTER_CONTEXT();
    return leave(record(event, stream));
}

API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    ENTER_CONTEXT();
    return leave(flags > 1 ? CUDA_ERROR_INVALID_VALUE : record(event, stream));
}

// elsewhere reports whether another process recorded the event last.
static bool elsewhere(const Event *e, Work *wait) {
    if (!e->page) return false;
    uint32_t recorded = __atomic_load_n(&e->page->recorded, __ATOMIC_ACQUIRE);
    *wait = (Work){.kind = WAIT, .signal = {e->page, recorded, e->owner}};
    return recorded && !(e->last && e->sequence == recorded);
}

API CUresult cuEventQuery(CUevent event) {
    ENTER_CONTEXT();
    if (!event_exists(event)) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (event->capture) return leave(CUDA_ERROR_CAPTURED_EVENT);
    Work wait;
    if (elsewhere(event, &wait)) return leave(ipc_satisfied(&wait) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
    if (event->last && !event->last->done) schedule_query(event->context, event->last, &event->queries);
    if (event->context->failed || devices_lost()) return leave(devices_lost() ? devices_lost() : event->context->failed);
    return leave(event->last && !event->last->done ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

API CUresult cuEventSynchronize(CUevent event) {
    ENTER_CONTEXT();
    if (!event_exists(event)) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (event->capture) return leave(CUDA_ERROR_CAPTURED_EVENT);
    Work wait;
    while (elsewhere(event, &wait) && !ipc_satisfied(&wait)) lock_wait(1);
    if (elsewhere(event, &wait) || !event->last) return leave(CUDA_SUCCESS);
    return leave(op_wait(event->context, event->last));
}

API CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    ENTER_CONTEXT();
    if (!event_exists(start) || !event_exists(end)) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (!start->last || !end->last || (start->flags | end->flags) & EVENT_DISABLE_TIMING) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (!start->last->done || !end->last->done) return leave(CUDA_ERROR_NOT_READY);
    *ms = (float)((double)(int64_t)(end->last->time_ns - start->last->time_ns) / 1e6);
    return leave(CUDA_SUCCESS);
}
