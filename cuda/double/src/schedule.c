// When the work of streams runs. The policy decides between late, at once and random, but never out of order.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "double.h"

static int pending, pending_host;      // work in streams; and its host functions

static Op *hold(Op *op) {
    op->references++;
    return op;
}

void op_release(Op *op) {
    if (!op || --op->references) return;
    for (int n = 0; n < op->after_count; n++) op_release(op->after[n]);
    free(op->after);
    work_drop(&op->work);
    free(op);
}

void op_after(Op *op, Op *before) {
    if (!before || before->done || before == op) return;
    Op **more = realloc(op->after, (op->after_count + 1) * sizeof(*more));
    if (!more) abort();
    op->after = more;
    op->after[op->after_count++] = hold(before);
}

Op *op_enqueue(Stream *s, Work work) {
    Op *op = calloc(1, sizeof(Op));
    if (!op) abort();
    *op = (Op){.stream = s, .work = work, .references = 2};
    Context *c = s->context;
    // The legacy default stream and all blocking streams wait for each other.
    if (s->legacy) {
        for (Stream *other = c->streams; other; other = other->next)
            if (other->blocking && other != s) op_after(op, other->tail);
    } else if (s->blocking) {
        op_after(op, c->legacy->tail);
    }
    if (s->tail) s->tail->next = op;
    else s->head = op;
    s->tail = op;
    pending++;
    pending_host += work.kind == HOST;
    lock_wake();
    return op;
}

static Op *blocker(Op *op) {
    for (int n = 0; n < op->after_count; n++)
        if (!op->after[n]->done) return op->after[n];
    return NULL;
}

static bool ready(const Stream *s) {
    return s->head && !s->head->running && !blocker(s->head) && (s->head->work.kind != WAIT || ipc_satisfied(&s->head->work));
}

// A host function may block, so none runs inside another thread's call: host functions have their own thread.
static bool runs_here(const Stream *s) { return ready(s) && s->head->work.kind != HOST; }

static void run_head(Stream *s) {
    Op *op = s->head;
    Context *c = s->context;
    op->running = true;
    bool works = !c->failed && !devices_lost();
    CUresult result = works || op->work.kind == RECORD ? work_run(c, &op->work) : CUDA_SUCCESS;
    if (result) context_fail(c, result);
    op->done = true;
    op->time_ns = device_clock_ns();
    s->head = op->next;
    if (!s->head) s->tail = NULL;
    pending--;
    pending_host -= op->work.kind == HOST;
    for (int n = 0; n < op->after_count; n++) op_release(op->after[n]);
    op->after_count = 0;
    op_release(op);
    lock_wake();
    if (s->destroyed && !s->head) stream_free(s);
}

// step runs one piece of work that the given one needs. step returns false if it must wait for other work.
static bool step(Op *op) {
    for (;;) {
        Op *head = op->stream->head, *before = blocker(head);
        if (head->running) return false;
        if (!before) break;
        op = before;
    }
    if (!runs_here(op->stream)) return false;
    run_head(op->stream);
    return true;
}

static bool step_at_random(Context *c) {
    int count = 0;
    Stream *chosen = NULL;
    for (Stream *s = c->streams; s; s = s->next)
        if (runs_here(s) && random_next() % (unsigned)++count == 0) chosen = s;
    if (chosen) run_head(chosen);
    return chosen != NULL;
}

CUresult op_wait(Context *c, Op *op) {
    hold(op);
    while (!op->done) {
        bool ran = config.policy == RANDOM ? step_at_random(op->stream->context) : step(op);
        // The remaining work waits for a host function in another thread, or for another process.
        if (!ran) lock_wait(1);
    }
    op_release(op);
    return devices_lost() ? devices_lost() : c->failed;
}

CUresult stream_wait(Stream *s) {
    while (s->tail) {
        CUresult result = op_wait(s->context, s->tail);
        if (result) return result;
        break;
    }
    return devices_lost() ? devices_lost() : s->context->failed;
}

CUresult context_wait(Context *c) {
    for (bool again = true; again;) {
        again = false;
        for (Stream *s = c->streams; s && !again; s = s->next)
            if (s->tail) op_wait(c, s->tail), again = true;
    }
    return devices_lost() ? devices_lost() : c->failed;
}

void schedule_tick(Context *c) {
    if (config.policy == EARLIEST)
        while (step_at_random(c)) {}
    if (config.policy == RANDOM && random_next() % 2)
        for (int n = (int)(random_next() % 4); n > 0 && step_at_random(c); n--) {}
}

void schedule_query(Context *c, Op *wanted, int *queries) {
    enum { PATIENCE = 8 };
    if (config.policy == LATEST) {
        if (++*queries % PATIENCE == 0 && wanted && !wanted->done) step(wanted);
        return;
    }
    schedule_tick(c);
    if (++*queries % PATIENCE == 0) step_at_random(c);
}

static void *serve(void *none) {
    (void)none;
    lock();
    for (;;) {
        while (!pending) lock_wait(1000);
        lock_wait(1);
        bool idle = lock_idle_ms() >= config.idle_ms;
        for (Context *c = contexts, *next; c; c = next) {
            next = c->next;
            for (Event *e = c->events; e; e = e->next)
                if (ipc_wanted(e)) {
                    op_wait(c, e->last);
                    break;
                }
            if (config.policy == EARLIEST && !idle) step_at_random(c);
            if (idle)
                while (step_at_random(c)) {}
        }
    }
    return NULL;
}

static Stream *with_host_function(void) {
    for (Context *c = contexts; c; c = c->next)
        for (Stream *s = c->streams; s; s = s->next)
            if (ready(s) && s->head->work.kind == HOST) return s;
    return NULL;
}

static void *serve_host_functions(void *none) {
    (void)none;
    lock();
    for (;;) {
        Stream *s = pending_host ? with_host_function() : NULL;
        if (s) run_head(s);
        else lock_wait(pending_host ? 1 : 1000);
    }
    return NULL;
}

void schedule_start(void) {
    static bool started;
    if (started) return;
    started = true;
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, serve, NULL)) pthread_detach(thread);
    if (!pthread_create(&thread, NULL, serve_host_functions, NULL)) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
