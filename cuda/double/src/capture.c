// Capture: the work of a stream becomes nodes of a graph. Streams and events determine the order of the nodes.
#include <stdlib.h>
#include <string.h>

#include "double.h"

static uint64_t last_id;

static void set_frontier(Node ***frontier, int *count, Node **nodes, int n) {
    Node **copy = n ? malloc(n * sizeof(*copy)) : NULL;
    if (n && !copy) abort();
    for (int k = 0; k < n; k++) copy[k] = nodes[k];
    free(*frontier);
    *frontier = copy;
    *count = n;
}

Node *graph_add(Graph *g, Work work, Node **after, int count) {
    Node *node = calloc(1, sizeof(Node));
    Node **more = realloc(g->nodes, (g->count + 1) * sizeof(*more));
    if (!node || !more) abort();
    *node = (Node){.work = work, .index = g->count};
    set_frontier(&node->after, &node->after_count, after, count);
    g->nodes = more;
    g->nodes[g->count++] = node;
    return node;
}

CUresult capture_add(Stream *s, Work work) {
    if (s->capture->status == 2) return work_drop(&work), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Node *node = graph_add(s->capture->graph, work, s->frontier, s->frontier_count);
    set_frontier(&s->frontier, &s->frontier_count, &node, 1);
    return CUDA_SUCCESS;
}

void capture_record(Stream *s, Event *e) {
    e->capture = s->capture;
    e->capture_id = s->capture->id;
    set_frontier(&e->frontier, &e->frontier_count, s->frontier, s->frontier_count);
}

CUresult capture_refuse(Stream *s) {
    s->capture->status = 2;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

bool capture_forbids(Context *c) {
    for (Stream *s = c->streams; s; s = s->next) {
        Capture *k = s->capture;
        if (!k || k->mode == 2 || (k->mode == 1 && !pthread_equal(k->thread, pthread_self()))) continue;
        k->status = 2;
        return true;
    }
    return false;
}

CUresult capture_wait(Stream *s, Event *e) {
    if (!e->capture) {
        // A capture cannot wait for work outside of it.
        if (!e->last) return CUDA_SUCCESS;
        s->capture->status = 2;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    bool under_way = false;
    for (Stream *other = e->context->streams; other; other = other->next) under_way |= other->capture == e->capture && other->capture->id == e->capture_id;
    if (!under_way) return CUDA_ERROR_CAPTURED_EVENT;
    if (s->legacy) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (s->capture && s->capture != e->capture) {
        s->capture->status = e->capture->status = 2;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (!s->capture) {
        s->capture = e->capture;
        s->capture->joined++;
        s->frontier_count = 0;
    }
    Node **both = malloc((s->frontier_count + e->frontier_count + 1) * sizeof(*both));
    if (!both) return CUDA_ERROR_OUT_OF_MEMORY;
    int n = 0;
    for (int k = 0; k < s->frontier_count; k++) both[n++] = s->frontier[k];
    for (int k = 0; k < e->frontier_count; k++) {
        bool twice = false;
        for (int m = 0; m < n; m++) twice |= both[m] == e->frontier[k];
        if (!twice) both[n++] = e->frontier[k];
    }
    set_frontier(&s->frontier, &s->frontier_count, both, n);
    free(both);
    return CUDA_SUCCESS;
}

API CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result) return leave(result);
    if (mode < 0 || mode > 2) return leave(CUDA_ERROR_INVALID_VALUE);
    if (s->legacy) return leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (s->capture) return leave(CUDA_ERROR_ILLEGAL_STATE);
    Capture *k = calloc(1, sizeof(Capture));
    if (!k || !(k->graph = calloc(1, sizeof(Graph)))) return free(k), leave(CUDA_ERROR_OUT_OF_MEMORY);
    k->origin = s;
    k->context = s->context;
    k->mode = mode;
    k->status = 1;
    k->thread = pthread_self();
    k->id = ++last_id;
    k->joined = 1;
    s->capture = k;
    s->frontier_count = 0;
    s->context->captures++;
    return leave(CUDA_SUCCESS);
}

// reaches reports whether the nodes come before the end of the origin stream, where the capture ends.
static bool reaches(const Capture *k, Node *node) {
    uint8_t *seen = calloc(k->graph->count + 1, 1);
    if (!seen) abort();
    for (int n = 0; n < k->origin->frontier_count; n++) seen[k->origin->frontier[n]->index] = 1;
    for (int n = k->graph->count - 1; n >= 0; n--)
        for (int m = 0; seen[n] && m < k->graph->nodes[n]->after_count; m++) seen[k->graph->nodes[n]->after[m]->index] = 1;
    bool reached = seen[node->index];
    free(seen);
    return reached;
}

API CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result) return leave(result);
    *graph = NULL;
    Capture *k = s->capture;
    if (!k) return leave(CUDA_ERROR_ILLEGAL_STATE);
    if (k->origin != s) return leave(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (k->mode != 2 && !pthread_equal(k->thread, pthread_self())) return leave(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    if (k->status == 2) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (Stream *other = s->context->streams; other; other = other->next)
        for (int n = 0; other->capture == k && n < other->frontier_count && !result; n++)
            if (!reaches(k, other->frontier[n])) result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    for (Stream *other = s->context->streams; other; other = other->next)
        if (other->capture == k) other->capture = NULL, other->frontier_count = 0;
    s->context->captures--;
    if (result) graph_free(k->graph);
    else *graph = k->graph, graph_made(k->graph);
    free(k);
    return leave(result);
}

API CUresult cuStreamIsCapturing(CUstream handle, int *status) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (!result) *status = s->capture ? s->capture->status : 0;
    return leave(result);
}

API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER_CONTEXT();
    if (*mode < 0 || *mode > 2) return leave(CUDA_ERROR_INVALID_VALUE);
    static _Thread_local int mode_of_thread;
    int before = mode_of_thread;
    mode_of_thread = *mode;
    *mode = before;
    return leave(CUDA_SUCCESS);
}
