// Memory and events that one process shares with others.
//
// Each exporting process has its own page in an unnamed file. A handle contains process, file and position. Other
// processes open the file by /proc while the exporter lives, so nothing outlives the processes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "double.h"

enum { EXPORTS = 4096, EVENTS = 8192, IMPORTERS = 16, MAGIC = 0x50534244 };

typedef struct { char bytes[64]; } IpcHandle;

typedef struct {
    uint64_t serial, offset, bytes;    // serial 0: free
    int32_t importers[IMPORTERS];      // process IDs of the importers
} Export;

typedef struct {
    Export memory[EXPORTS];
    EventPage events[EVENTS];
    uint64_t event_serials[EVENTS];
} Control;

typedef struct {
    uint32_t magic;
    int32_t pid;
    uint64_t started, serial;
    int32_t control_file, memory_file, index, device;
    uint8_t kind;                      // 'm' or 'e'
} Handle;

typedef struct Peer {
    struct Peer *next;
    int pid;
    uint64_t started;
    Control *control;
} Peer;

static Control *own;
static int own_file = -1;
static uint64_t event_serial;
static Peer *peers;

static bool prepare(void) {
    if (own) return true;
    own_file = memfd_create("cuda-double-control", MFD_CLOEXEC);
    if (own_file < 0 || ftruncate(own_file, sizeof(Control))) return false;
    void *at = mmap(NULL, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, own_file, 0);
    if (at == MAP_FAILED) return false;
    own = at;
    return true;
}

static int open_of(int pid, int file) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, file);
    return open(path, O_RDWR | O_CLOEXEC);
}

// peer maps the page of another process and keeps it mapped.
static Peer *peer(const Handle *h) {
    for (Peer *p = peers; p; p = p->next)
        if (p->pid == h->pid && p->started == h->started) return p;
    if (!process_lives(h->pid, h->started)) return NULL;
    int file = open_of(h->pid, h->control_file);
    if (file < 0) return NULL;
    void *at = mmap(NULL, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    Peer *p = at == MAP_FAILED ? NULL : calloc(1, sizeof(Peer));
    if (!p) return NULL;
    *p = (Peer){peers, h->pid, h->started, at};
    return peers = p;
}

static bool genuine(const Handle *h, char kind) { return h->magic == MAGIC && h->kind == kind && h->index >= 0 && h->index < (kind == 'm' ? EXPORTS : EVENTS); }

API CUresult cuIpcGetMemHandle(char handle[64], CUdeviceptr pointer) {
    ENTER_CONTEXT();
    Allocation *a = memory_find(pointer);
    if (!a || a->kind != ALLOCATED) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!prepare()) return leave(CUDA_ERROR_OUT_OF_MEMORY);
    for (int n = 0; a->export < 0 && n < EXPORTS; n++) {
        if (own->memory[n].serial) continue;
        a->export = n;
        own->memory[n] = (Export){.offset = a->base - space_base - a->device * DEVICE_SPACE, .bytes = a->bytes};
        __atomic_store_n(&own->memory[n].serial, a->serial, __ATOMIC_RELEASE);
    }
    if (a->export < 0) return leave(CUDA_ERROR_OUT_OF_MEMORY);
    Handle h = {MAGIC, getpid(), process_started(getpid()), a->serial, own_file, memory_files[a->device], a->export, a->device, 'm'};
    memset(handle, 0, 64);
    memcpy(handle, &h, sizeof h);
    return leave(CUDA_SUCCESS);
}

static void count_importer(Export *e, int from, int to) {
    for (int n = 0; n < IMPORTERS; n++) {
        int32_t expected = from;
        if (__atomic_compare_exchange_n(&e->importers[n], &expected, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    }
}

API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pointer, IpcHandle handle, unsigned flags) {
    ENTER_CONTEXT();
    Handle h;
    memcpy(&h, handle.bytes, sizeof h);
    Context *c = context_current();
    if (flags & ~1u || !genuine(&h, 'm')) return leave(CUDA_ERROR_INVALID_VALUE);
    if (h.pid == getpid()) {
        note("a handle is opened in the process that exported it");
        return leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (h.device != c->device) return leave(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    Allocation *known = import_find(c, handle.bytes);
    if (known) {
        known->opened++;
        *pointer = known->base;
        return leave(CUDA_SUCCESS);
    }
    Peer *p = peer(&h);
    Export *e = p ? &p->control->memory[h.index] : NULL;
    if (!e || __atomic_load_n(&e->serial, __ATOMIC_ACQUIRE) != h.serial) {
        note("a handle of process %d is opened, whose memory or process is gone", h.pid);
        return leave(CUDA_ERROR_INVALID_HANDLE);
    }
    int file = open_of(h.pid, h.memory_file);
    Allocation *a = file < 0 ? NULL : memory_place(c, e->bytes);
    if (!a) {
        if (file >= 0) close(file);
        return leave(CUDA_ERROR_MAP_FAILED);
    }
    a->kind = IMPORTED;
    a->opened = 1;
    memcpy(a->handle, handle.bytes, 64);
    held.imports++;
    void *at = mmap(memory_bytes(a->base), (e->bytes + PAGE - 1) / PAGE * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)e->offset);
    close(file);
    count_importer(e, 0, getpid());
    if (at == MAP_FAILED) {
        memory_free(a);
        return leave(CUDA_ERROR_MAP_FAILED);
    }
    *pointer = a->base;
    return leave(CUDA_SUCCESS);
}

API CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
    ENTER_CONTEXT();
    Allocation *a = memory_find(pointer);
    if (!a || a->base != pointer || a->kind != IMPORTED) {
        misuse("%#llx is closed, which is no open memory of another process", pointer);
        return leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (--a->opened) return leave(CUDA_SUCCESS);
    CUresult result = config.strict ? CUDA_SUCCESS : context_wait(a->context);
    memory_free(a);
    return leave(result);
}

void ipc_close(Allocation *a) {
    Handle h;
    memcpy(&h, a->handle, sizeof h);
    Peer *p = peer(&h);
    if (p && p->control->memory[h.index].serial == h.serial) count_importer(&p->control->memory[h.index], getpid(), 0);
}

void ipc_freed(Allocation *a) {
    if (a->export < 0) return;
    Export *e = &own->memory[a->export];
    for (int n = 0; n < IMPORTERS; n++)
        if (e->importers[n] && process_started(e->importers[n]))
            misuse("allocation %llu of %llu bytes at %#llx is freed while process %d has it open", (unsigned long long)a->serial, (unsigned long long)a->bytes,
                   (unsigned long long)a->base, e->importers[n]);
    __atomic_store_n(&e->serial, 0, __ATOMIC_RELEASE);
}

bool ipc_event_make(Event *e) {
    if (!prepare()) return false;
    for (int n = 0; n < EVENTS; n++) {
        if (own->events[n].used) continue;
        own->events[n] = (EventPage){.used = 1};
        own->event_serials[n] = ++event_serial;
        e->page = &own->events[n];
        e->owner = getpid();
        return true;
    }
    return false;
}

void ipc_event_free(Event *e) {
    if (!e->imported) e->page->used = 0, own->event_serials[e->page - own->events] = 0;
}

API CUresult cuIpcGetEventHandle(char handle[64], CUevent event) {
    ENTER_CONTEXT();
    if (!event_exists(event)) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (!event->page || event->imported) return leave(CUDA_ERROR_INVALID_HANDLE);
    int index = (int)(event->page - own->events);
    Handle h = {MAGIC, getpid(), process_started(getpid()), own->event_serials[index], own_file, 0, index, event->context->device, 'e'};
    memset(handle, 0, 64);
    memcpy(handle, &h, sizeof h);
    return leave(CUDA_SUCCESS);
}

API CUresult cuIpcOpenEventHandle(CUevent *event, IpcHandle handle) {
    ENTER_CONTEXT();
    Handle h;
    memcpy(&h, handle.bytes, sizeof h);
    if (!genuine(&h, 'e')) return leave(CUDA_ERROR_INVALID_VALUE);
    if (h.pid == getpid()) return leave(CUDA_ERROR_INVALID_CONTEXT);
    Peer *p = peer(&h);
    if (!p || p->control->event_serials[h.index] != h.serial) return leave(CUDA_ERROR_INVALID_HANDLE);
    CUresult result = event_create(context_current(), EVENT_INTERPROCESS | EVENT_DISABLE_TIMING, event);
    if (result) return leave(result);
    (*event)->page = &p->control->events[h.index];
    (*event)->owner = h.pid;
    (*event)->imported = true;
    return leave(CUDA_SUCCESS);
}

// A killed process never reaches its pending events. Waiting for such an event never ends, as on a device.
bool ipc_satisfied(const Work *w) {
    EventPage *page = w->signal.page;
    if ((int32_t)(__atomic_load_n(&page->done, __ATOMIC_ACQUIRE) - w->signal.sequence) >= 0) return true;
    __atomic_store_n(&page->wanted, w->signal.sequence, __ATOMIC_RELEASE);
    return false;
}

bool ipc_wanted(Event *e) {
    if (!e->page || !e->last || e->last->done) return false;
    return __atomic_load_n(&e->page->wanted, __ATOMIC_ACQUIRE) == e->sequence;
}
