// Graphs, their instances and launches. In a launch, nodes run in any order that their edges allow.
#include <stdlib.h>
#include <string.h>

#include "double.h"

static Graph **graphs;
static int graph_count;
static GraphExec **execs;
static int exec_count;

static void *listed(void *list, int *count, void *added) {
    void **more = realloc(list, (*count + 1) * sizeof(*more));
    if (!more) abort();
    more[(*count)++] = added;
    return more;
}

static bool unlist(void **list, int *count, const void *wanted) {
    for (int n = 0; n < *count; n++)
        if (list[n] == wanted) {
            list[n] = list[--*count];
            return true;
        }
    return false;
}

void graph_made(Graph *g) {
    graphs = listed(graphs, &graph_count, g);
    held.graphs++;
}

static void empty(Graph *g) {
    for (int n = 0; n < g->count; n++) {
        work_drop(&g->nodes[n]->work);
        free(g->nodes[n]->after);
        free(g->nodes[n]);
    }
    free(g->nodes);
}

void graph_free(Graph *g) {
    empty(g);
    free(g);
}

static Work copied(const Work *w) {
    Work copy = *w;
    if (w->kind == KERNEL) {
        uint32_t bytes = w->kernel.function->program->param_bytes;
        copy.kernel.params = malloc(bytes + 16);
        if (!copy.kernel.params) abort();
        memcpy(copy.kernel.params, w->kernel.params, bytes);
    }
    if (w->kind == GRAPH) w->graph->references++;
    return copy;
}

static CUresult instantiate(CUgraphExec *made, CUgraph graph) {
    bool known = false;
    for (int n = 0; n < graph_count; n++) known |= graphs[n] == graph;
    if (!known) return CUDA_ERROR_INVALID_HANDLE;
    GraphExec *e = calloc(1, sizeof(GraphExec));
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    e->references = 1;
    for (int n = 0; n < graph->count; n++) {
        Node *from = graph->nodes[n];
        Node *node = graph_add(&e->graph, copied(&from->work), NULL, 0);
        node->after = calloc(from->after_count + 1, sizeof(*node->after));
        if (!node->after) abort();
        for (int k = 0; k < from->after_count; k++) node->after[node->after_count++] = e->graph.nodes[from->after[k]->index];
    }
    execs = listed(execs, &exec_count, e);
    held.graphs++;
    *made = e;
    return CUDA_SUCCESS;
}

void graph_release(GraphExec *e) {
    if (--e->references) return;
    empty(&e->graph);
    free(e);
}

CUresult graph_run(Context *c, GraphExec *e) {
    int count = e->graph.count, done = 0;
    uint8_t *ran = calloc(count + 1, 1);
    if (!ran) abort();
    CUresult result = CUDA_SUCCESS;
    while (done < count && !result) {
        Node *chosen = NULL;
        int candidates = 0;
        for (int n = 0; n < count; n++) {
            Node *node = e->graph.nodes[n];
            bool ready = !ran[n];
            for (int k = 0; ready && k < node->after_count; k++) ready = ran[node->after[k]->index];
            if (!ready) continue;
            if (!candidates++ || (config.policy == RANDOM && random_next() % (unsigned)candidates == 0)) chosen = node;
            if (config.policy != RANDOM) break;
        }
        result = work_run(c, &chosen->work);
        ran[chosen->index] = 1;
        done++;
    }
    free(ran);
    return result;
}

API CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *failed, char *log, size_t log_bytes) {
    ENTER_CONTEXT();
    if (failed) *failed = NULL;
    if (log && log_bytes) *log = 0;
    return leave(instantiate(exec, graph));
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    ENTER_CONTEXT();
    return leave(flags & ~15ull ? CUDA_ERROR_INVALID_VALUE : instantiate(exec, graph));
}

API CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
    ENTER_CONTEXT();
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result) return leave(result);
    bool known = false;
    for (int n = 0; n < exec_count; n++) known |= execs[n] == exec;
    if (!known) return leave(CUDA_ERROR_INVALID_HANDLE);
    exec->references++;
    return leave(stream_submit(s, (Work){.kind = GRAPH, .graph = exec}));
}

API CUresult cuGraphExecDestroy(CUgraphExec exec) {
    ENTER_CONTEXT();
    if (!unlist((void **)execs, &exec_count, exec)) return leave(CUDA_ERROR_INVALID_HANDLE);
    held.graphs--;
    graph_release(exec);
    return leave(CUDA_SUCCESS);
}

API CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
    ENTER_CONTEXT();
    if (flags) return leave(CUDA_ERROR_INVALID_VALUE);
    *graph = calloc(1, sizeof(Graph));
    if (!*graph) return leave(CUDA_ERROR_OUT_OF_MEMORY);
    graph_made(*graph);
    return leave(CUDA_SUCCESS);
}

API CUresult cuGraphDestroy(CUgraph graph) {
    ENTER_CONTEXT();
    if (!unlist((void **)graphs, &graph_count, graph)) return leave(CUDA_ERROR_INVALID_HANDLE);
    held.graphs--;
    graph_free(graph);
    return leave(CUDA_SUCCESS);
}

API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    ENTER_CONTEXT();
    size_t room = nodes ? *count : 0;
    for (size_t n = 0; n < room; n++) nodes[n] = n < (size_t)graph->count ? graph->nodes[n] : NULL;
    if (!nodes || room > (size_t)graph->count) *count = (size_t)graph->count;
    return leave(CUDA_SUCCESS);
}
