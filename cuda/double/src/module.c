// Modules, their functions and variables, and calls of launches.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "double.h"

static CUresult unload(Module *m, CUresult result) {
    module_free(m);
    return result;
}

// put_variables allocates device memory for the unit's variables, and gives the programs their addresses.
static CUresult put_variables(Module *m) {
    Unit *u = m->unit;
    m->variables = calloc(u->variable_count + 1, sizeof(*m->variables));
    if (!m->variables) return CUDA_ERROR_OUT_OF_MEMORY;
    for (int n = 0; n < u->variable_count; n++) {
        Variable *v = &u->variables[n];
        CUresult result;
        Allocation *a = m->variables[n] = memory_allocate(m->context, v->bytes, &result);
        if (!a) return result;
        held.allocations--;            // the module frees these
        held.bytes -= v->bytes;
        if (v->initial) memcpy(memory_bytes(a->base), v->initial, v->bytes);
        else memset(memory_bytes(a->base), 0, v->bytes);
    }
    for (int n = 0; n < u->variable_count; n++)
        for (int k = 0; k < u->variables[n].pointer_count; k++) {
            struct Pointer *p = &u->variables[n].pointers[k];
            int at = 0;
            while (at < u->variable_count && strcmp(u->variables[at].name, p->symbol)) at++;
            if (at == u->variable_count) return CUDA_ERROR_INVALID_PTX;
            uint64_t address = m->variables[at]->base + (uint64_t)p->addend;
            memcpy((uint8_t *)memory_bytes(m->variables[n]->base) + p->offset, &address, 8);
        }
    for (int n = 0; n < u->program_count; n++)
        for (int k = 0; k < u->programs[n].relocation_count; k++) {
            struct Relocation *r = &u->programs[n].relocations[k];
            uint64_t *lanes = (uint64_t *)(u->programs[n].constants + (r->slot & ~CONSTANT));
            for (int l = 0; l < LANES; l++) lanes[l] = m->variables[r->variable]->base;
        }
    return CUDA_SUCCESS;
}

static CUresult load(CUmodule *module, const char *ptx, char *error, int error_bytes) {
    Context *c = context_current();
    if (!ptx) return CUDA_ERROR_INVALID_VALUE;
    if (capture_forbids(c)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    error[0] = 0;
    Unit *u = unit_parse(ptx, error, error_bytes);
    if (!u) {
        note("%s", error);
        return CUDA_ERROR_INVALID_PTX;
    }
    // CUDA 9.0 introduced PTX 6.0, 10.0 introduced 6.3, 11.0 introduced 7.0, and 12.0 introduced 8.0.
    static const int versions[][2] = {{80, 12000}, {78, 11080}, {70, 11000}, {63, 10000}, {60, 9000}, {0, 0}};
    int needed = 0;
    while (u->version < versions[needed][0]) needed++;
    CUresult result = config.version < versions[needed][1] ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : config.capability < u->target ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS;
    if (result) {
        unit_free(u);
        return result;
    }
    Module *m = calloc(1, sizeof(Module));
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (Module){.next = c->modules, .context = c, .unit = u};
    c->modules = m;
    held.modules++;
    m->functions = calloc(u->program_count + 1, sizeof(Function));
    if (!m->functions) return unload(m, CUDA_ERROR_OUT_OF_MEMORY);
    if ((result = put_variables(m))) return unload(m, result);
    for (int n = 0; n < u->program_count; n++) m->functions[n] = (Function){m, &u->programs[n], 49152 - (int)u->programs[n].shared_bytes};
    *module = m;
    return CUDA_SUCCESS;
}

void module_free(Module *m) {
    for (Module **at = &m->context->modules; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    for (int n = 0; m->variables && n < m->unit->variable_count; n++) {
        if (!m->variables[n]) continue;
        held.allocations++;
        held.bytes += m->unit->variables[n].bytes;
        memory_free(m->variables[n]);
    }
    unit_free(m->unit);
    free(m->variables);
    free(m->functions);
    free(m);
    held.modules--;
}

static Module *module_of(CUmodule module) {
    for (Context *c = contexts; c; c = c->next)
        for (Module *m = c->modules; m; m = m->next)
            if (m == module) return m;
    return NULL;
}

static bool function_exists(CUfunction function) {
    for (Context *c = contexts; c; c = c->next)
        for (Module *m = c->modules; m; m = m->next)
            if (function >= m->functions && function < m->functions + m->unit->program_count) return true;
    return false;
}

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values) {
    ENTER_CONTEXT();
    enum { INFO_LOG = 3, INFO_LOG_BYTES, ERROR_LOG, ERROR_LOG_BYTES };
    char error[1024];
    CUresult result = load(module, image, error, sizeof error);
    char *log = NULL;
    size_t bytes = 0;
    for (unsigned n = 0; n < count; n++) {
        if (options[n] == ERROR_LOG) log = values[n];
        if (options[n] == ERROR_LOG_BYTES) bytes = (size_t)values[n];
        if (options[n] == INFO_LOG_BYTES) values[n] = NULL;
    }
    if (log && bytes) snprintf(log, bytes, "%s", result ? error : "");
    for (unsigned n = 0; n < count; n++)
        if (options[n] == ERROR_LOG_BYTES) values[n] = (void *)(log ? strlen(log) : 0);
    return leave(result);
}

API CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    ENTER_CONTEXT();
    char error[1024];
    return leave(load(module, image, error, sizeof error));
}

API CUresult cuModuleLoad(CUmodule *module, const char *path) {
    ENTER_CONTEXT();
    FILE *file = fopen(path, "re");
    if (!file) return leave(CUDA_ERROR_FILE_NOT_FOUND);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char error[1024], *text = calloc(1, size > 0 ? (size_t)size + 1 : 1);
    CUresult result = text && fread(text, 1, (size_t)size, file) == (size_t)size ? load(module, text, error, sizeof error) : CUDA_ERROR_OUT_OF_MEMORY;
    free(text);
    fclose(file);
    return leave(result);
}

API CUresult cuModuleUnload(CUmodule module) {
    ENTER_CONTEXT();
    Module *m = module_of(module);
    if (!m) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (capture_forbids(m->context)) return leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUresult result = context_wait(m->context);
    module_free(m);
    return leave(result);
}

API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    ENTER_CONTEXT();
    Module *m = module_of(module);
    if (!m || !name) return leave(m ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    for (int n = 0; n < m->unit->program_count; n++)
        if (!strcmp(m->unit->programs[n].name, name)) {
            *function = &m->functions[n];
            return leave(CUDA_SUCCESS);
        }
    return leave(CUDA_ERROR_NOT_FOUND);
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name) {
    ENTER_CONTEXT();
    Module *m = module_of(module);
    if (!m || !name) return leave(m ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    for (int n = 0; n < m->unit->variable_count; n++)
        if (!strcmp(m->unit->variables[n].name, name)) {
            if (pointer) *pointer = m->variables[n]->base;
            if (bytes) *bytes = m->unit->variables[n].bytes;
            return leave(CUDA_SUCCESS);
        }
    return leave(CUDA_ERROR_NOT_FOUND);
}

API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f) {
    ENTER_CONTEXT();
    if (!function_exists(f)) return leave(CUDA_ERROR_INVALID_HANDLE);
    const Program *p = f->program;
    const int values[] = {(int)p->max_threads, (int)p->shared_bytes, 0, (int)p->local_bytes, 32, p->unit->version, p->unit->target, 0, f->max_dynamic_shared, -1};
    if (attribute < 0 || attribute > 9) return leave(CUDA_ERROR_INVALID_VALUE);
    *value = values[attribute];
    return leave(CUDA_SUCCESS);
}

API CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value) {
    ENTER_CONTEXT();
    enum { MAX_DYNAMIC_SHARED = 8, CARVEOUT = 9, MOST = 101376 };
    if (!function_exists(f)) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (attribute == CARVEOUT) return leave(CUDA_SUCCESS);
    if (attribute != MAX_DYNAMIC_SHARED || value < 0 || value + (int)f->program->shared_bytes > MOST) return leave(CUDA_ERROR_INVALID_VALUE);
    f->max_dynamic_shared = value;
    return leave(CUDA_SUCCESS);
}

API CUresult cuFuncSetCacheConfig(CUfunction f, int value) {
    ENTER_CONTEXT();
    return leave(!function_exists(f) ? CUDA_ERROR_INVALID_HANDLE : value < 0 || value > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared) {
    ENTER_CONTEXT();
    if (!function_exists(f)) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (threads <= 0 || threads > 1024) return leave(CUDA_ERROR_INVALID_VALUE);
    int by_threads = 2048 / ((threads + 31) / 32 * 32), by_shared = (int)(102400 / (shared + f->program->shared_bytes + 1024));
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    return leave(CUDA_SUCCESS);
}

// parameters copies the arguments in the layout of the kernel's declaration.
static CUresult parameters(const Program *p, void **values, void **extra, uint8_t *to) {
    enum { END, POINTER, SIZE };
    if (values && extra) return CUDA_ERROR_INVALID_VALUE;
    if (extra) {
        const void *buffer = NULL;
        size_t bytes = 0;
        for (; extra[0] != (void *)END; extra += 2) {
            if (extra[0] == (void *)POINTER) buffer = extra[1];
            if (extra[0] == (void *)SIZE) bytes = *(size_t *)extra[1];
        }
        if (!buffer || bytes < p->param_bytes || bytes > (p->param_bytes + 7) / 8 * 8) {
            misuse("kernel %s has %u bytes of parameters, but %zu are given", p->name, p->param_bytes, bytes);
            return CUDA_ERROR_INVALID_VALUE;
        }
        memcpy(to, buffer, p->param_bytes);
        return CUDA_SUCCESS;
    }
    if (p->param_count && !values) return CUDA_ERROR_INVALID_VALUE;
    for (int n = 0; n < p->param_count; n++) memcpy(to + p->params[n].offset, values[n], p->params[n].bytes);
    return CUDA_SUCCESS;
}

API CUresult cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y, unsigned z, unsigned shared,
                            CUstream handle, void **values, void **extra) {
    ENTER_CONTEXT();
    if (!function_exists(f)) return leave(CUDA_ERROR_INVALID_HANDLE);
    if (f->module->context != context_current()) return leave(CUDA_ERROR_INVALID_HANDLE);
    const Program *p = f->program;
    uint64_t threads = (uint64_t)x * y * z;
    if (!grid_x || !grid_y || !grid_z || !threads || grid_x > 2147483647 || grid_y > 65535 || grid_z > 65535 || x > 1024 || y > 1024 || z > 64 || threads > 1024)
        return leave(CUDA_ERROR_INVALID_VALUE);
    if (threads > p->max_threads || (p->required[0] && (x != p->required[0] || y != p->required[1] || z != p->required[2]))) return leave(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    if ((int)shared > f->max_dynamic_shared || shared > 1 << 20) return leave(CUDA_ERROR_INVALID_VALUE);
    Stream *s;
    CUresult result = stream_of(handle, &s);
    if (result) return leave(result);
    if (s->context != context_current()) return leave(CUDA_ERROR_INVALID_HANDLE);
    uint8_t *params = calloc(1, p->param_bytes + 16);
    if (!params) return leave(CUDA_ERROR_OUT_OF_MEMORY);
    if ((result = parameters(p, values, extra, params))) {
        free(params);
        return leave(result);
    }
    Work w = {.kind = KERNEL, .kernel = {.function = f, .grid = {grid_x, grid_y, grid_z}, .block = {x, y, z}, .shared = shared, .params = params}};
    return leave(stream_submit(s, w));
}
