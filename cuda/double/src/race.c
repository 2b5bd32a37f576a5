// Finds accesses that nothing orders. For each word of global and shared memory, it stores the last writer and the
// last reader.
//
// An epoch is the work of one block between two of its barriers. Epochs are numbered across all launches. Blocks
// run one after another, so a block's epochs have consecutive numbers. A tag consists of epoch, thread and whether
// the access was atomic. Two accesses can conflict if at least one writes and not both are atomic. An older tag of
// the same epoch is a conflict if another thread made it. A tag of another block in this launch is always a
// conflict, with one exception: that block has since passed a fence and an atomic instruction, and this block an
// atomic instruction. Accesses of 1 and 2 bytes are compared with whole words but leave no tag. In a program with
// bar.warp.sync, the threads of a warp count as ordered.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "interpret.h"

enum { THREAD_BITS = 11, EPOCHS = 1 << 20, SEVERAL = 1024, SEVERAL_BLOCKS = 1025 };
#define ATOMIC_TAG (1u << THREAD_BITS)

static uint32_t epoch_last;
static Shadow *global_shadow;          // for all devices' addresses; bytes are added on access

static uint32_t tag(uint32_t epoch, uint32_t thread) { return epoch << (THREAD_BITS + 1) | thread; }
static uint32_t epoch_of(uint32_t tag) { return tag >> (THREAD_BITS + 1); }
static uint32_t thread_of(uint32_t tag) { return tag & (ATOMIC_TAG - 1); }

static uint64_t shadow_bytes(void) { return config.devices * DEVICE_SPACE / 4 * sizeof(Shadow); }

static void next_epoch(Launch *l) {
    if (++epoch_last == EPOCHS) {
        if (global_shadow) madvise(global_shadow, shadow_bytes(), MADV_DONTNEED);
        memset(l->shared_shadow, 0, (l->shared_bytes / 4 + 1) * sizeof(Shadow));
        epoch_last = 1;
        l->launch_epoch = l->block_epoch = 1;
        l->published = l->acquired = 0;
    }
    l->now = epoch_last;
}

void race_begin(Launch *l) {
    if (!global_shadow) {
        void *at = mmap(NULL, shadow_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            note("conflicting accesses are not looked for: no memory for it");
            config.races = l->races = false;
            return;
        }
        global_shadow = at;
    }
    l->launch_epoch = epoch_last + 1;
}

void race_block(Launch *l) {
    next_epoch(l);
    l->block_epoch = l->now;
    l->acquired = 0;
    l->fenced = false;
}

void race_barrier(Launch *l) { next_epoch(l); }

void race_synchronized(Launch *l) {
    l->acquired = l->published;
    if (l->fenced) l->published = l->now;
}

// conflict reports whether no order exists between this thread's access and the tag's.
static inline bool conflict(const Launch *l, const Warp *w, uint32_t first_epoch, uint32_t old, uint32_t thread) {
    uint32_t epoch = epoch_of(old);
    if (epoch < first_epoch) return false;
    if (thread_of(old) == SEVERAL_BLOCKS || epoch < l->block_epoch) return epoch > l->acquired;
    if (epoch < l->now || thread_of(old) == thread) return false;
    return !(l->program->warp_synchronous && thread_of(old) - (uint32_t)w->first < LANES);
}

static bool report(Launch *l, Warp *w, int lane, uint64_t address, uint32_t old, bool shared, const char *before, const char *now) {
    char place[256] = "shared memory", who[64];
    if (!shared) memory_describe(address, place);
    if (thread_of(old) == SEVERAL_BLOCKS || epoch_of(old) < l->block_epoch) strcpy(who, "another block");
    else if (thread_of(old) == SEVERAL) strcpy(who, "several threads of this block");
    else snprintf(who, sizeof who, "thread %u of this block", thread_of(old));
    fault(l, w, lane, CUDA_ERROR_LAUNCH_FAILED, "conflicting accesses: %s the word at %#llx (%s), which %s %s, with neither barrier nor atomic instruction between",
          now, (unsigned long long)address, place, who, before);
    return false;
}

bool race_check(Launch *l, Warp *w, const Instruction *i, uint32_t mask, const uint64_t *addresses, bool shared) {
    bool writes = i->op != OP_load, atomic = i->op == OP_atomic || i->flags & FLAG_VOLATILE;
    bool whole = i->size >= 4;
    uint32_t first_epoch = shared ? l->block_epoch : l->launch_epoch;
    int words = whole ? i->size / 4 * i->count : 1;
    if (i->op == OP_atomic && !shared) race_synchronized(l);
    for (int lane = 0; lane < LANES; lane++) {
        if (!(mask >> lane & 1)) continue;
        uint32_t thread = w->first + lane, mine = tag(l->now, thread) | (atomic ? ATOMIC_TAG : 0);
        uint64_t address = addresses[lane];
        if (!shared && !memory_is_device(address)) continue;
        Shadow *at = shared ? &l->shared_shadow[address / 4] : &global_shadow[(address - space_base) / 4];
        for (int n = 0; n < words; n++, at++) {
            uint32_t writer = at->writer, reader = at->reader;
            if (!(atomic && writer & ATOMIC_TAG) && writer != mine && conflict(l, w, first_epoch, writer, thread))
                return report(l, w, lane, address + 4 * n, writer, shared, "wrote", writes ? "it writes" : "it reads");
            if (writes) {
                if (reader != mine && conflict(l, w, first_epoch, reader, thread))
                    return report(l, w, lane, address + 4 * n, reader, shared, "read", "it writes");
                if (whole) at->writer = mine;
            } else if (!atomic && whole && reader != mine) {
                uint32_t epoch = epoch_of(reader);
                if (epoch >= first_epoch && (epoch < l->block_epoch || thread_of(reader) == SEVERAL_BLOCKS)) mine = tag(l->now, SEVERAL_BLOCKS);
                else if (epoch == l->now && thread_of(reader) != thread) mine = tag(l->now, SEVERAL);
                at->reader = mine;
                mine = tag(l->now, thread);
            }
        }
    }
    return true;
}
