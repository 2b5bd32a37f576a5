// Runs a launch: its blocks one after another in random order, and between barriers the warps of a block in random
// order.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpret.h"

enum { QUANTUM = 1 << 16 };            // instructions before another warp's turn

void fault(Launch *l, Warp *w, int lane, int code, const char *format, ...) {
    char why[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    const unsigned *size = l->work->kernel.block;
    unsigned thread = w->first + lane;
    misuse("kernel %s, block (%u,%u,%u), thread (%u,%u,%u), ptx line %d: %s: %s", l->program->name, l->block[0], l->block[1], l->block[2],
           thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1], w->at ? w->at->line : 0,
           w->at ? l->program->text[w->at - l->program->code] : "", why);
    l->code = code;
    w->state = WARP_FAULT;
}

static uint32_t special_value(const Launch *l, const Warp *w, int special, int lane) {
    const unsigned *size = l->work->kernel.block, *grid = l->work->kernel.grid;
    unsigned thread = w->first + lane;
    switch (special) {
    case SPECIAL_TID_X: return thread % size[0];
    case SPECIAL_TID_Y: return thread / size[0] % size[1];
    case SPECIAL_TID_Z: return thread / size[0] / size[1];
    case SPECIAL_NTID_X: case SPECIAL_NTID_Y: case SPECIAL_NTID_Z: return size[special - SPECIAL_NTID_X];
    case SPECIAL_CTAID_X: case SPECIAL_CTAID_Y: case SPECIAL_CTAID_Z: return l->block[special - SPECIAL_CTAID_X];
    case SPECIAL_NCTAID_X: case SPECIAL_NCTAID_Y: case SPECIAL_NCTAID_Z: return grid[special - SPECIAL_NCTAID_X];
    case SPECIAL_LANEID: return lane;
    case SPECIAL_WARPID: return w->first / LANES;
    case SPECIAL_NWARPID: return (l->threads + LANES - 1) / LANES;
    case SPECIAL_SMID: return (l->block[0] + l->block[1]) & 1;
    case SPECIAL_NSMID: return 2;
    case SPECIAL_LANEMASK_EQ: return 1u << lane;
    case SPECIAL_LANEMASK_LT: return (1u << lane) - 1;
    case SPECIAL_LANEMASK_LE: return (2u << lane) - 1;
    case SPECIAL_LANEMASK_GT: return ~((2u << lane) - 1);
    default: return ~((1u << lane) - 1);
    }
}

static void fill(void *bytes, size_t count) {
    for (size_t n = 0; n < count / 4; n++) ((uint32_t *)bytes)[n] = NAN_PATTERN;
}

static void warp_begin(Launch *l, Warp *w) {
    unsigned count = l->threads - w->first < LANES ? l->threads - w->first : LANES;
    w->live = count == LANES ? ~0u : (1u << count) - 1;
    w->top = 0;
    w->stack[0] = (Entry){0, -1, w->live, 0};
    w->state = WARP_READY;
    w->at = NULL;
    for (int n = 0; n < l->program->special_count; n++) {
        uint32_t *to = slot(w, l->program->specials[n].slot);
        for (int lane = 0; lane < LANES; lane++) to[lane] = special_value(l, w, l->program->specials[n].special, lane);
    }
    if (l->program->local_bytes) fill(w->local, (size_t)l->program->local_bytes * LANES);
}

// phase runs all warps to their next barrier or end. phase returns false on a fault.
static bool phase(Launch *l, Warp **warps, int count) {
    for (int n = count - 1; n > 0; n--) {
        int other = (int)(launch_random(l) % (n + 1));
        Warp *w = warps[n];
        warps[n] = warps[other], warps[other] = w;
    }
    for (bool running = true; running;) {
        running = false;
        for (int n = 0; n < count; n++) {
            Warp *w = warps[n];
            if (w->state != WARP_READY) continue;
            warp_run(l, w, QUANTUM);
            if (w->state == WARP_FAULT) return false;
            if (l->steps < 0) {
                fault(l, w, 0, CUDA_ERROR_LAUNCH_TIMEOUT, "the launch takes more than %llu instructions of warps", (unsigned long long)config.steps);
                return false;
            }
            running |= w->state == WARP_READY;
        }
    }
    Warp *waiting = NULL;
    for (int n = 0; n < count; n++) {
        if (warps[n]->state != WARP_BARRIER) continue;
        if (waiting && waiting->barrier != warps[n]->barrier) {
            fault(l, warps[n], __builtin_ctz(warps[n]->live), CUDA_ERROR_LAUNCH_FAILED, "it waits at this barrier, but the warp of thread %d waits at that of ptx line %d: divergence",
                  waiting->first, l->program->code[waiting->barrier].line);
            return false;
        }
        waiting = warps[n];
    }
    return true;
}

static bool block(Launch *l, Warp **warps, int count) {
    fill(l->shared, l->shared_bytes);
    if (l->races) race_block(l);
    for (int n = 0; n < count; n++) warp_begin(l, warps[n]);
    for (;;) {
        if (!phase(l, warps, count)) return false;
        int waiting = 0;
        for (int n = 0; n < count; n++)
            if (warps[n]->state == WARP_BARRIER) warps[n]->state = WARP_READY, waiting++;
        if (!waiting) return true;
        if (l->races) race_barrier(l);
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

static void *aligned(size_t bytes) {
    void *at = NULL;
    return posix_memalign(&at, 64, bytes + 64) ? NULL : at;
}

CUresult launch_run(Context *context, const Work *work) {
    const Program *p = work->kernel.function->program;
    const unsigned *grid = work->kernel.grid, *size = work->kernel.block;
    Launch l = {.context = context, .function = work->kernel.function, .program = p, .work = work, .threads = size[0] * size[1] * size[2],
                .shared_bytes = (p->shared_bytes + work->kernel.shared + 3) / 4 * 4, .steps = (int64_t)config.steps, .races = config.races};
    l.random = random_next() | 1;
    int count = (int)((l.threads + LANES - 1) / LANES);
    uint32_t register_bytes = (p->register_bytes + 63) / 64 * 64;
    l.shared = aligned(l.shared_bytes);
    l.shared_shadow = calloc(l.shared_bytes / 4 + 1, sizeof(Shadow));
    l.cache = calloc(p->count, sizeof(*l.cache));
    Warp **warps = calloc(count, sizeof(*warps)), *all = aligned(count * sizeof(Warp));
    uint8_t *registers = aligned((size_t)count * register_bytes), *local = aligned((size_t)p->local_bytes * l.threads + LANES * (size_t)p->local_bytes);
    memset(registers, 0, (size_t)count * register_bytes);
    for (int n = 0; n < count; n++) {
        warps[n] = &all[n];
        all[n] = (Warp){.base = {registers + (size_t)n * register_bytes, p->constants}, .local = local + (size_t)n * LANES * p->local_bytes, .first = n * LANES};
    }
    if (l.races) race_begin(&l);
    // A random order: the step length and the number of blocks have no common divisor.
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2], at = launch_random(&l) % blocks, step = launch_random(&l) % blocks;
    while (common_divisor(step, blocks) != 1) step = (step + 1) % (blocks + 1);
    for (uint64_t n = 0; n < blocks && !l.code; n++, at = (at + step) % blocks) {
        l.block[0] = (unsigned)(at % grid[0]);
        l.block[1] = (unsigned)(at / grid[0] % grid[1]);
        l.block[2] = (unsigned)(at / grid[0] / grid[1]);
        block(&l, warps, count);
    }
    held.launches++;
    held.instructions += l.instructions;
    free(l.shared), free(l.shared_shadow), free(l.cache), free(warps), free(all), free(registers), free(local);
    return l.code;
}
