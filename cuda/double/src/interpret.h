// A running launch: its blocks run one after another. The 32 lanes of a warp execute each instruction together.
#pragma once

#include "double.h"
#include "ops.h"

enum { STACK = 160, NAN_PATTERN = 0x7fc00000 };

// Lanes that take the same path. An entry ends when pc reaches join. The entry below then continues with its lanes.
typedef struct {
    int32_t pc, join;
    uint32_t mask;
    int32_t frame;                     // calls of functions under way
} Entry;

typedef enum { WARP_READY, WARP_BARRIER, WARP_DONE, WARP_FAULT } WarpState;

typedef struct Warp {
    uint8_t *base[2];                  // registers and constants
    uint8_t *local;                    // local memory of each lane, one after the other
    Entry stack[STACK];
    int top, first;                    // first: thread number of its first lane
    uint32_t live;
    int32_t lanes[LANES] __attribute__((aligned(64)));  // -1 for active lanes, if not all are active
    WarpState state;
    int barrier;                       // barrier at which it waits
    const Instruction *at;             // for reports
} Warp;

typedef struct {
    uint32_t writer, reader;
} Shadow;

typedef struct Launch {
    Context *context;
    Function *function;
    const Program *program;
    const Work *work;
    unsigned block[3];                 // the running block
    unsigned threads, shared_bytes;
    uint8_t *shared;
    Shadow *shared_shadow;
    Allocation **cache;                // allocation last accessed, by instruction
    uint32_t launch_epoch, block_epoch, now;           // see race.c
    uint32_t published, acquired;
    bool fenced, races;
    uint64_t random;
    int64_t steps;                     // left
    int64_t instructions;              // counted by lanes
    int code;                          // code of the fault
} Launch;

void warp_run(Launch *, Warp *, int64_t quantum);
bool access_run(Launch *, Warp *, const Instruction *, uint32_t mask);   // false: fault
void convert_run(Warp *, const Instruction *, uint32_t mask);
void fault(Launch *, Warp *, int lane, int code, const char *format, ...) __attribute__((format(printf, 5, 6)));

bool race_check(Launch *, Warp *, const Instruction *, uint32_t mask, const uint64_t *addresses, bool shared);
void race_begin(Launch *);             // called at the start of a launch
void race_block(Launch *);
void race_barrier(Launch *);
void race_synchronized(Launch *);      // called for an atomic instruction in global memory

static inline uint64_t launch_random(Launch *l) {      // xorshift64*
    l->random ^= l->random >> 12;
    l->random ^= l->random << 25;
    l->random ^= l->random >> 27;
    return l->random * 2685821657736338717ull;
}

static inline void *slot(const Warp *w, Operand o) { return __builtin_assume_aligned(w->base[o >> 31] + (o & ~CONSTANT), 64); }

float approximate_ex2(float), approximate_lg2(float), approximate_sin(float), approximate_cos(float), approximate_tanh(float);
float approximate_sqrt(float), approximate_rsqrt(float), approximate_quotient(float x, float y, int ulps);
