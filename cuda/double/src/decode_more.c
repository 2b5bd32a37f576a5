// Translates statements that access memory, change the control flow, or read other lanes.
#include <stdlib.h>
#include <string.h>

#include "decode.h"

static int bytes_of(Type type) {
    static const int bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 4};
    return bytes[type];
}

static bool is_wide(Statement *s, const char *text) {
    Operand slot;
    Name *name = statement_register(s, text, &slot);
    return name && name->size == 8;
}

static int choice(Statement *s, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (statement_part(s, names[i])) return i;
    return -1;
}

typedef struct {
    Operand base;
    int64_t offset;
    bool narrow;
    Space space;
} Address;

static Address address_of(Statement *s, char *text, Space space) {
    size_t n = strlen(text);
    if (text[0] != '[' || text[n - 1] != ']') statement_fail(s, "there is no address in brackets");
    text[n - 1] = 0;
    text++;
    Address a = {.base = NO_OPERAND, .space = space};
    char *plus = strpbrk(text + 1, "+-"), *end;
    if (plus) {
        a.offset = strtoll(*plus == '+' ? plus + 1 : plus, &end, 0);
        if (*end) statement_fail(s, "an offset that is no number");
        *plus = 0;
    }
    Operand slot;
    Name *name = statement_register(s, text, &slot);
    if (name) {
        if (name->size < 4) statement_fail(s, "an address of fewer than 32 bits");
        a.narrow = name->size == 4;
        a.base = slot;
        return a;
    }
    name = builder_name(s->builder, text, strlen(text));
    if (name && name->kind == NAME_PARAM && space == PARAM) {
        a.offset += name->value;
        return a;
    }
    if (name && name->kind == NAME_STACKED) a.space = LOCAL;
    else if (space == PARAM) statement_fail(s, "a parameter that is not known");
    a.base = statement_value(s, text, 8);
    return a;
}

static void set_address(Instruction *i, Address a) {
    i->a = a.base;
    i->immediate = a.offset;
    i->space = (uint8_t)a.space;
    if (a.narrow) i->flags |= FLAG_NARROW_ADDRESS;
}

static Space space_of(Statement *s) {
    static const char *const names[] = {"global", "shared", "local", "const", "param"};
    int space = choice(s, names, 5);
    return space < 0 ? GENERIC : (Space)space;
}

static void transfer(Statement *s, bool load) {
    static const char *const hints[] = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "weak"};
    static const char *const strong[] = {"volatile", "relaxed", "acquire", "release"};
    static const char *const scopes[] = {"cta", "gpu", "sys"};
    choice(s, hints, 9);
    bool is_strong = choice(s, strong, 4) >= 0;
    if (is_strong) choice(s, scopes, 3);
    Space space = space_of(s);
    int count = statement_part(s, "v2") ? 2 : statement_part(s, "v4") ? 4 : 1;
    if (s->part_count != 2) statement_fail(s, "this instruction is not known");
    statement_need(s, 2);
    Type type = statement_type(s, s->parts[1]);
    if (type == T_PRED) statement_fail(s, "predicates are not in memory");
    char *items[4];
    if (statement_list(s, s->operands[load ? 0 : 1], items) != count) statement_fail(s, "not as many registers as elements");
    Address address = address_of(s, s->operands[load ? 1 : 0], space);
    bool wide = bytes_of(type) == 8 || is_wide(s, items[0]);
    Operand values[4];
    for (int n = 0; n < count; n++)
        values[n] = load ? statement_destination(s, items[n], wide ? 8 : 4) : statement_value(s, items[n], wide ? 8 : 4);
    Instruction *i = statement_emit(s, load ? OP_load : OP_store);
    set_address(i, address);
    i->to = (uint8_t)type;
    i->size = (uint8_t)bytes_of(type);
    i->count = (uint8_t)count;
    i->d = values[0];
    if (count > 1) i->e = values[1];
    if (count > 2) i->more[0] = values[2], i->more[1] = values[3];
    if (wide) i->flags |= FLAG_WIDE;
    if (is_strong) i->flags |= FLAG_VOLATILE;
    if (type == T_S8 || type == T_S16 || type == T_S32) i->flags |= FLAG_SIGNED;
}

static void atomic(Statement *s, bool reduction) {
    static const char *const names[] = {"add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor"};
    static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel"};
    static const char *const scopes[] = {"cta", "gpu", "sys"};
    choice(s, orders, 4);
    choice(s, scopes, 3);
    Space space = space_of(s);
    int op = choice(s, names, 10);
    if (op < 0 || s->part_count != 2 || (space != GENERIC && space != GLOBAL && space != SHARED)) statement_fail(s, "this instruction is not known");
    Type type = statement_type(s, s->parts[1]);
    int bytes = bytes_of(type), first = reduction ? 0 : 1;
    bool is_float = type == T_F32 || type == T_F64;
    if (bytes < 4 || type == T_PRED || (is_float && op != ATOMIC_ADD)) statement_fail(s, "this instruction is not known for that type");
    statement_need(s, first + 2 + (op == ATOMIC_CAS));
    Operand d = reduction ? builder_register(s->builder, bytes) : statement_destination(s, s->operands[0], bytes);
    Address address = address_of(s, s->operands[first], space);
    Operand x = statement_value(s, s->operands[first + 1], bytes);
    Operand y = op == ATOMIC_CAS ? statement_value(s, s->operands[first + 2], bytes) : x;
    Instruction *i = statement_emit(s, OP_atomic);
    set_address(i, address);
    i->to = (uint8_t)type;
    i->size = (uint8_t)bytes;
    i->count = 1;
    i->compare = (uint8_t)op;
    i->d = d;
    i->b = x;
    i->c = y;
    if (bytes == 8) i->flags |= FLAG_WIDE;
}

bool decode_memory(Statement *s) {
    const char *base = s->parts[0];
    if (!strcmp(base, "ld") || !strcmp(base, "ldu")) transfer(s, true);
    else if (!strcmp(base, "st")) transfer(s, false);
    else if (!strcmp(base, "atom") || !strcmp(base, "red")) atomic(s, base[0] == 'r');
    else return false;
    return true;
}

static void convert(Statement *s) {
    static const char *const rounds[] = {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"};
    int round = choice(s, rounds, 8);
    uint8_t flags = (statement_part(s, "ftz") ? FLAG_FTZ : 0) | (statement_part(s, "sat") ? FLAG_SAT : 0);
    if (s->part_count != 3) statement_fail(s, "this instruction is not known");
    statement_need(s, 2);
    Type to = statement_type(s, s->parts[1]), from = statement_type(s, s->parts[2]);
    if (to == T_PRED || from == T_PRED) statement_fail(s, "predicates are not converted");
    bool wide = is_wide(s, s->operands[0]), source_wide = bytes_of(from) == 8 || is_wide(s, s->operands[1]);
    if (bytes_of(to) == 8 && !wide) statement_fail(s, "a register of another width than the instruction's");
    Operand d = statement_destination(s, s->operands[0], wide ? 8 : 4), a = statement_value(s, s->operands[1], source_wide ? 8 : 4);
    Instruction *i = statement_emit(s, OP_convert);
    i->to = (uint8_t)to;
    i->from = (uint8_t)from;
    i->round = (uint8_t)(round + 1);
    i->flags = flags | (wide ? FLAG_WIDE : 0) | (source_wide ? FLAG_SOURCE_WIDE : 0);
    i->d = d;
    i->a = i->b = i->c = a;
}

// pack translates mov.b64 %rd1, {%r1, %r2} and its inverse. pack returns false for a plain mov.
static bool pack(Statement *s) {
    if (s->count != 2) return false;
    if (!strcmp(s->operands[1], "%clock") || !strcmp(s->operands[1], "%clock64") || !strcmp(s->operands[1], "%globaltimer")) {
        int bytes = is_wide(s, s->operands[0]) ? 8 : 4;
        Operand d = statement_destination(s, s->operands[0], bytes);
        Instruction *i = statement_emit(s, OP_clock);
        i->d = d;
        i->size = (uint8_t)bytes;
        return true;
    }
    bool unpacks = s->operands[0][0] == '{';
    if (!unpacks && s->operands[1][0] != '{') return false;
    int whole = bytes_of(statement_type(s, s->parts[s->part_count - 1]));
    char *items[4];
    int count = statement_list(s, s->operands[unpacks ? 0 : 1], items), part = whole / count;
    if (part * count != whole || part < 2) statement_fail(s, "elements that do not make the whole");
    Operand values[4], other = unpacks ? statement_value(s, s->operands[1], whole == 8 ? 8 : 4) : statement_destination(s, s->operands[0], whole == 8 ? 8 : 4);
    for (int n = 0; n < count; n++) values[n] = unpacks ? statement_destination(s, items[n], 4) : statement_value(s, items[n], 4);
    Instruction *i = statement_emit(s, unpacks ? OP_unpack : OP_pack);
    i->size = (uint8_t)part;
    i->count = (uint8_t)count;
    i->flags = whole == 8 ? FLAG_WIDE : 0;
    i->a = other;                      // the whole; its elements are d, e and more
    i->d = values[0];
    i->e = count > 1 ? values[1] : NO_OPERAND;
    if (count > 2) i->more[0] = values[2], i->more[1] = values[3];
    return true;
}

static void to_space(Statement *s) {
    bool to = statement_part(s, "to");
    Space space = space_of(s);
    statement_need(s, 2);
    if (s->part_count != 2 || strcmp(s->parts[1], "u64") || space == PARAM || space == GENERIC) statement_fail(s, "this instruction is not known");
    Operand d = statement_destination(s, s->operands[0], 8), a = statement_value(s, s->operands[1], 8);
    Instruction *i = statement_emit(s, space == SHARED ? (to ? OP_to_shared : OP_from_shared) : space == LOCAL ? (to ? OP_to_local : OP_from_local) : OP_mov_b64);
    i->d = d;
    i->a = i->b = i->c = a;
}

static void shuffle(Statement *s) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    bool sync = statement_part(s, "sync");
    int mode = choice(s, modes, 4);
    if (!sync || mode < 0 || s->part_count != 2) statement_fail(s, "this instruction is not known");
    statement_need(s, 5);
    char *valid = strchr(s->operands[0], '|');
    if (valid) *valid++ = 0;
    Operand d = statement_destination(s, s->operands[0], 4), e = valid ? statement_destination(s, valid, 4) : NO_OPERAND;
    Operand x = statement_value(s, s->operands[1], 4), y = statement_value(s, s->operands[2], 4);
    Operand z = statement_value(s, s->operands[3], 4), mask = statement_value(s, s->operands[4], 4);
    Instruction *i = statement_emit(s, OP_shuffle);
    i->compare = (uint8_t)mode;
    i->d = d, i->e = e, i->a = x, i->b = y, i->c = z, i->more[0] = mask;
}

static void vote(Statement *s) {
    static const char *const modes[] = {"any", "all", "uni", "ballot"};
    bool sync = statement_part(s, "sync");
    int mode = choice(s, modes, 4);
    if (!sync || mode < 0) statement_fail(s, "this instruction is not known");
    statement_need(s, 3);
    bool negated = s->operands[1][0] == '!';
    Operand d = statement_destination(s, s->operands[0], 4), x = statement_value(s, s->operands[1] + negated, 4);
    Operand mask = statement_value(s, s->operands[2], 4);
    Instruction *i = statement_emit(s, OP_vote);
    i->compare = (uint8_t)mode;
    i->flags = negated ? FLAG_SIGNED : 0;              // here: negates the predicate
    i->d = d, i->a = x, i->more[0] = mask;
}

static void call(Statement *s) {
    for (int n = 0; n < s->count; n++) {
        if (s->operands[n][0] == '(') continue;
        struct Callee *callee = builder_callee(s->builder, s->operands[n]);
        statement_emit(s, OP_call)->target = (int32_t)(callee - s->builder->callees);
        return;
    }
    statement_fail(s, "a call of nothing");
}

static void barrier(Statement *s) {
    if (s->part_count == 3 && !strcmp(s->parts[1], "warp") && !strcmp(s->parts[2], "sync")) {
        statement_need(s, 1);
        Operand mask = statement_value(s, s->operands[0], 4);
        statement_emit(s, OP_warp_barrier)->more[0] = mask;
        s->builder->program->warp_synchronous = true;
        return;
    }
    statement_part(s, "aligned");
    if (s->part_count != 2 || strcmp(s->parts[1], "sync") || s->count != 1 || strcmp(s->operands[0], "0"))
        statement_fail(s, "of barriers only bar.sync 0 and bar.warp.sync are known");
    statement_emit(s, OP_barrier);
}

static void insert_or_look_up(Statement *s, bool insert) {
    bool wide = insert && !strcmp(s->parts[s->part_count - 1], "b64");
    if (s->part_count != 2 || (!wide && strcmp(s->parts[1], "b32"))) statement_fail(s, "this instruction is not known");
    statement_need(s, 5);
    int bytes = wide ? 8 : 4;
    Operand d = statement_destination(s, s->operands[0], bytes), x = statement_value(s, s->operands[1], bytes);
    Operand y = statement_value(s, s->operands[2], bytes), z = statement_value(s, s->operands[3], 4), m = statement_value(s, s->operands[4], 4);
    Instruction *i = statement_emit(s, !insert ? OP_lop3 : wide ? OP_bfi_64 : OP_bfi);
    i->d = d, i->a = x, i->b = y, i->c = z, i->more[0] = m;
}

bool decode_other(Statement *s) {
    const char *base = s->parts[0];
    if (!strcmp(base, "bra")) {
        statement_part(s, "uni");
        statement_need(s, 1);
        if (s->part_count != 1) statement_fail(s, "this instruction is not known");
        statement_emit(s, OP_branch);
        builder_branch(s->builder, s->operands[0]);
    } else if (!strcmp(base, "ret")) statement_emit(s, s->builder->in_function ? OP_return : OP_exit);
    else if (!strcmp(base, "exit")) statement_emit(s, OP_exit);
    else if (!strcmp(base, "trap") || !strcmp(base, "brkpt")) statement_emit(s, OP_trap);
    else if (!strcmp(base, "call")) call(s);
    else if (!strcmp(base, "bar") || !strcmp(base, "barrier")) barrier(s);
    else if (!strcmp(base, "membar") || !strcmp(base, "fence")) statement_emit(s, OP_fence);
    else if (!strcmp(base, "cvt")) convert(s);
    else if (!strcmp(base, "cvta")) to_space(s);
    else if (!strcmp(base, "shfl")) shuffle(s);
    else if (!strcmp(base, "vote")) vote(s);
    else if (!strcmp(base, "activemask")) {
        statement_need(s, 1);
        Operand d = statement_destination(s, s->operands[0], 4);
        statement_emit(s, OP_activemask)->d = d;
    } else if (!strcmp(base, "bfi")) insert_or_look_up(s, true);
    else if (!strcmp(base, "lop3")) insert_or_look_up(s, false);
    else if (!strcmp(base, "prefetch") || !strcmp(base, "prefetchu") || !strcmp(base, "nanosleep")) statement_emit(s, OP_nothing);
    else if (!strcmp(base, "mov")) return pack(s);
    else return false;
    return true;
}
