// Loads, stores and atomic instructions. Every address is looked up in its allocation.
#include <string.h>

#include "interpret.h"

typedef struct {
    uint64_t address[LANES];           // within its own space
    uint8_t *bytes[LANES];
    bool row, same;                    // of all lanes: row: neighbours in memory; same: one address
} Addresses;

static bool misaligned(Launch *l, Warp *w, const Addresses *a, uint32_t mask, unsigned bytes) {
    for (int lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1 && a->address[lane] & (bytes - 1)) {
            fault(l, w, lane, CUDA_ERROR_MISALIGNED_ADDRESS, "the address %#llx is no multiple of the %u bytes of the access", (unsigned long long)a->address[lane], bytes);
            return true;
        }
    return false;
}

// look_up finds the bytes of global addresses one by one.
static bool look_up(Launch *l, Warp *w, Addresses *a, uint32_t mask, unsigned bytes, bool writes, Allocation **cache) {
    for (int lane = 0; lane < LANES; lane++) {
        if (!(mask >> lane & 1)) continue;
        uint64_t address = a->address[lane];
        Allocation *found = memory_find(address);
        if (found && address + bytes <= found->base + found->bytes) {
            if (found->context != l->context && found->device != l->context->device) {
                fault(l, w, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "the address %#llx is on another device", (unsigned long long)address);
                return false;
            }
            *cache = found;
            a->bytes[lane] = memory_bytes(address);
            continue;
        }
        HostRange *host = host_find(address, bytes);
        if (host && !(writes && host->read_only)) {
            a->bytes[lane] = (uint8_t *)address;
            continue;
        }
        char place[256];
        fault(l, w, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "it %s %u bytes at %#llx: %s", writes ? "writes" : "reads", bytes, (unsigned long long)address,
              host ? "host memory that is registered for reading only" : memory_describe(address, place));
        return false;
    }
    return true;
}

static bool global(Launch *l, Warp *w, const Instruction *i, Addresses *a, uint32_t mask, unsigned bytes) {
    uint64_t least = ~0ull, greatest = 0;
    for (int lane = 0; lane < LANES; lane++) {
        uint64_t low = mask >> lane & 1 ? a->address[lane] : ~0ull, high = mask >> lane & 1 ? a->address[lane] : 0;
        least = low < least ? low : least;
        greatest = high > greatest ? high : greatest;
    }
    Allocation **cache = &l->cache[w->at - l->program->code], *known = *cache;
    if (known && least >= known->base && greatest + bytes <= known->base + known->bytes) {
        for (int lane = 0; lane < LANES; lane++) a->bytes[lane] = memory_bytes(a->address[lane]);
    } else if (!look_up(l, w, a, mask, bytes, i->op != OP_load, cache)) {
        return false;
    }
    return !l->races || i->space == CONST || race_check(l, w, i, mask, a->address, false);
}

static bool within(Launch *l, Warp *w, const Instruction *i, Addresses *a, uint32_t mask, unsigned bytes, uint64_t size, const char *name) {
    for (int lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1 && a->address[lane] + bytes > size) {
            fault(l, w, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "it %s %u bytes at %#llx of %s memory, which has %llu", i->op == OP_load ? "reads" : "writes", bytes,
                  (unsigned long long)a->address[lane], name, (unsigned long long)size);
            return false;
        }
    return true;
}

static bool resolve(Launch *l, Warp *w, const Instruction *i, Addresses *a, uint32_t mask, Space space) {
    unsigned bytes = i->size * i->count;
    if (misaligned(l, w, a, mask, bytes)) return false;
    switch (space) {
    case SHARED:
        if (!within(l, w, i, a, mask, bytes, l->shared_bytes, "shared")) return false;
        for (int lane = 0; lane < LANES; lane++) a->bytes[lane] = l->shared + a->address[lane];
        return !l->races || race_check(l, w, i, mask, a->address, true);
    case LOCAL:
        if (!within(l, w, i, a, mask, bytes, l->program->local_bytes, "local")) return false;
        for (int lane = 0; lane < LANES; lane++) a->bytes[lane] = w->local + (uint64_t)lane * l->program->local_bytes + a->address[lane];
        return true;
    case PARAM:
        if (!within(l, w, i, a, mask, bytes, l->program->param_bytes, "parameter")) return false;
        for (int lane = 0; lane < LANES; lane++) a->bytes[lane] = l->work->kernel.params + a->address[lane];
        return true;
    default:
        return global(l, w, i, a, mask, bytes);
    }
}

static void load(Warp *w, const Instruction *i, const Addresses *a, uint32_t mask) {
    const Operand to[4] = {i->d, i->e, i->more[0], i->more[1]};
    for (int n = 0; n < i->count; n++) {
        void *d = slot(w, to[n]);
        unsigned at = n * i->size;
        if (mask == ~0u && a->row && i->count == 1 && i->size >= 4 && (i->size == 8) == !!(i->flags & FLAG_WIDE)) {
            memcpy(d, a->bytes[0], i->size * LANES);
        } else if (i->size == 4 && !(i->flags & FLAG_WIDE)) {
            for (int l = 0; l < LANES; l++)
                if (mask >> l & 1) ((uint32_t *)d)[l] = *(uint32_t *)(a->bytes[l] + at);
        } else if (i->size == 8) {
            for (int l = 0; l < LANES; l++)
                if (mask >> l & 1) ((uint64_t *)d)[l] = *(uint64_t *)(a->bytes[l] + at);
        } else {
            for (int l = 0; l < LANES; l++) {
                if (!(mask >> l & 1)) continue;
                uint64_t bits = 0;
                memcpy(&bits, a->bytes[l] + at, i->size);
                if (i->flags & FLAG_SIGNED) bits = (uint64_t)((int64_t)(bits << (64 - 8 * i->size)) >> (64 - 8 * i->size));
                if (i->flags & FLAG_WIDE) ((uint64_t *)d)[l] = bits;
                else ((uint32_t *)d)[l] = (uint32_t)bits;
            }
        }
    }
}

static void store(Warp *w, const Instruction *i, const Addresses *a, uint32_t mask) {
    const Operand from[4] = {i->d, i->e, i->more[0], i->more[1]};
    for (int n = 0; n < i->count; n++) {
        const void *d = slot(w, from[n]);
        unsigned at = n * i->size;
        if (mask == ~0u && a->row && i->count == 1 && i->size >= 4 && (i->size == 8) == !!(i->flags & FLAG_WIDE)) {
            memcpy(a->bytes[0], d, i->size * LANES);
            continue;
        }
        for (int l = 0; l < LANES; l++) {
            if (!(mask >> l & 1)) continue;
            uint64_t bits = i->flags & FLAG_WIDE ? ((const uint64_t *)d)[l] : ((const uint32_t *)d)[l];
            memcpy(a->bytes[l] + at, &bits, i->size);
        }
    }
}

static uint64_t combine(const Instruction *i, uint64_t old, uint64_t x, uint64_t y) {
    bool is_signed = i->to == T_S32 || i->to == T_S64;
    int64_t s = i->size == 4 ? (int32_t)old : (int64_t)old, sx = i->size == 4 ? (int32_t)x : (int64_t)x;
    switch (i->compare) {
    case ATOMIC_ADD:
        if (i->to == T_F32) {
            float f, g;
            memcpy(&f, &old, 4), memcpy(&g, &x, 4);
            f += g;
            uint64_t bits = 0;
            memcpy(&bits, &f, 4);
            return f == f ? bits : 0x7fffffff;
        }
        if (i->to == T_F64) {
            double f, g;
            memcpy(&f, &old, 8), memcpy(&g, &x, 8);
            f += g;
            memcpy(&old, &f, 8);
            return old;
        }
        return old + x;
    case ATOMIC_MIN: return is_signed ? (s < sx ? old : x) : old < x ? old : x;
    case ATOMIC_MAX: return is_signed ? (s > sx ? old : x) : old > x ? old : x;
    case ATOMIC_INC: return old >= x ? 0 : old + 1;
    case ATOMIC_DEC: return old == 0 || old > x ? x : old - 1;
    case ATOMIC_EXCH: return x;
    case ATOMIC_CAS: return old == x ? y : old;
    case ATOMIC_AND: return old & x;
    case ATOMIC_OR: return old | x;
    default: return old ^ x;
    }
}

// atomic processes the lanes in random order, as a device may.
static void atomic(Launch *launch, Warp *w, const Instruction *i, const Addresses *a, uint32_t mask) {
    bool wide = i->size == 8;
    void *d = slot(w, i->d), *x = slot(w, i->b), *y = slot(w, i->c);
    uint64_t random = launch_random(launch);
    int first = random >> 10 & 31, step = (random >> 20 & 31) | 1;
    for (int n = 0, l = first; n < LANES; n++, l = (l + step) & 31) {
        if (!(mask >> l & 1)) continue;
        uint64_t old = 0;
        memcpy(&old, a->bytes[l], i->size);
        uint64_t result = wide ? combine(i, old, ((uint64_t *)x)[l], ((uint64_t *)y)[l]) : combine(i, old, ((uint32_t *)x)[l], ((uint32_t *)y)[l]);
        memcpy(a->bytes[l], &result, i->size);
        if (wide) ((uint64_t *)d)[l] = old;
        else ((uint32_t *)d)[l] = (uint32_t)old;
    }
}

static bool run(Launch *l, Warp *w, const Instruction *i, Addresses *a, uint32_t mask, Space space) {
    if (!resolve(l, w, i, a, mask, space)) return false;
    if (mask == ~0u) {
        uint64_t off = 0;
        for (int lane = 0; lane < LANES; lane++) off |= a->address[lane] - a->address[0] - (uint64_t)lane * i->size;
        a->row = !off && space != LOCAL;
    }
    if (i->op == OP_load) load(w, i, a, mask);
    else if (i->op == OP_store) store(w, i, a, mask);
    else atomic(l, w, i, a, mask);
    return true;
}

bool access_run(Launch *l, Warp *w, const Instruction *i, uint32_t mask) {
    Addresses a = {.row = false};
    if (i->a == NO_OPERAND) {
        for (int lane = 0; lane < LANES; lane++) a.address[lane] = i->immediate;
    } else if (i->flags & FLAG_NARROW_ADDRESS) {
        const uint32_t *base = slot(w, i->a);
        for (int lane = 0; lane < LANES; lane++) a.address[lane] = (uint32_t)(base[lane] + i->immediate);
    } else {
        const uint64_t *base = slot(w, i->a);
        for (int lane = 0; lane < LANES; lane++) a.address[lane] = base[lane] + i->immediate;
    }
    if (i->space != GENERIC) return run(l, w, i, &a, mask, i->space);
    // Generic addresses: the lanes are sorted by their space.
    uint32_t in[3] = {0};
    for (int lane = 0; lane < LANES; lane++) {
        if (!(mask >> lane & 1)) continue;
        uint64_t offset = a.address[lane] - space_base;
        int space = offset >= SHARED_WINDOW && offset < LOCAL_WINDOW ? 1 : offset >= LOCAL_WINDOW && offset < LOCAL_WINDOW + SHARED_WINDOW ? 2 : 0;
        in[space] |= 1u << lane;
    }
    static const Space spaces[3] = {GLOBAL, SHARED, LOCAL};
    for (int n = 0; n < 3; n++) {
        if (!in[n]) continue;
        Addresses part = a;
        for (int lane = 0; n && lane < LANES; lane++) part.address[lane] -= space_base + (n == 1 ? SHARED_WINDOW : LOCAL_WINDOW);
        if (!run(l, w, i, &part, in[n], spaces[n])) return false;
    }
    return true;
}
