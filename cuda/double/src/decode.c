// Translates statements to instructions that work lane by lane, using the table of ops.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"

typedef struct {
    const char *name;
    int op, d, a, b, c;                // sizes of the operands in bytes
} LaneOp;

static const LaneOp lane_ops[] = {
#define X(name, text, D, A, B, C, value) {text, OP_##name, sizeof(D), sizeof(A), sizeof(B), sizeof(C)},
    LANE_OPS(X)
#undef X
};

void statement_fail(Statement *s, const char *why) {
    parser_fail(s->builder->parser, s->builder->line, "%s: %s", s->whole, why);
}

bool statement_part(Statement *s, const char *wanted) {
    for (int i = 1; i < s->part_count; i++)
        if (!strcmp(s->parts[i], wanted)) {
            memmove(&s->parts[i], &s->parts[i + 1], (s->part_count - i - 1) * sizeof(char *));
            s->part_count--;
            return true;
        }
    return false;
}

void statement_need(Statement *s, int operands) {
    if (s->count != operands) statement_fail(s, "it has not as many operands as it should");
}

Type statement_type(Statement *s, const char *part) {
    static const char *names[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "pred"};
    for (int i = 0; i < 12; i++)
        if (!strcmp(part, names[i])) return (Type)i;
    if (!strcmp(part, "b8")) return T_U8;
    if (!strcmp(part, "b16")) return T_U16;
    if (!strcmp(part, "b32")) return T_U32;
    if (!strcmp(part, "b64")) return T_U64;
    statement_fail(s, "this instruction is not known for that type");
}

Name *statement_register(Statement *s, const char *text, Operand *slot) {
    Builder *b = s->builder;
    if (text[0] != '%') return NULL;
    size_t length = strlen(text), prefix = length;
    Name *name = names_get(&b->names, text, length);
    if (name) {
        *slot = (Operand)name->value;
        return name->kind == NAME_REGISTER ? name : NULL;
    }
    while (prefix && text[prefix - 1] >= '0' && text[prefix - 1] <= '9') prefix--;
    char key[80];
    snprintf(key, sizeof key, "%.*s<", (int)prefix, text);
    name = names_get(&b->names, key, strlen(key));
    if (!name || prefix == length) return NULL;
    long number = atol(text + prefix);
    if (number >= name->value >> 32) statement_fail(s, "a register that is not declared");
    *slot = (Operand)(name->value & 0xffffffff) + (Operand)number * (name->size == 8 ? 8 : 4) * LANES;
    return name;
}

static int special_of(const char *text) {
    static const char *names[SPECIAL_COUNT] = {
        "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y",
        "%nctaid.z", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%lanemask_eq", "%lanemask_lt", "%lanemask_le",
        "%lanemask_gt", "%lanemask_ge"};
    for (int i = 0; i < SPECIAL_COUNT; i++)
        if (!strcmp(names[i], text)) return i;
    return -1;
}

Operand statement_value(Statement *s, const char *text, int bytes) {
    Builder *b = s->builder;
    Operand slot;
    Name *name = statement_register(s, text, &slot);
    if (name) {
        if ((name->size == 8) != (bytes == 8)) statement_fail(s, "a register of another width than the instruction's");
        return slot;
    }
    int special = special_of(text);
    if (special >= 0) {
        if (bytes == 8) statement_fail(s, "a special register of another width than the instruction's");
        return builder_special(b, special, b->line);
    }
    char *end;
    if (text[0] == '0' && strchr("fFdD", text[1]) && text[1]) {
        uint64_t bits = strtoull(text + 2, &end, 16);
        if (*end || (bytes == 8) != (strlen(text) == 18)) statement_fail(s, "a number of another width than the instruction's");
        return builder_constant(b, bits, bytes);
    }
    bool negative = text[0] == '-';
    uint64_t number = strtoull(text + negative, &end, 0);
    if (end != text + negative && (!*end || !strcmp(end, "U"))) return builder_constant(b, negative ? -number : number, bytes);
    name = builder_name(b, text, strlen(text));
    if (name && name->kind != NAME_LABEL && name->kind != NAME_FUNCTION) {
        if (bytes != 8) statement_fail(s, "an address is of 64 bits");
        return builder_symbol(b, name);
    }
    statement_fail(s, "an operand that is not known");
}

Operand statement_destination(Statement *s, const char *text, int bytes) {
    Operand slot;
    if (!strcmp(text, "_")) return builder_register(s->builder, bytes);
    Name *name = statement_register(s, text, &slot);
    if (!name) statement_fail(s, "its destination is no register");
    if ((name->size == 8) != (bytes == 8)) statement_fail(s, "a register of another width than the instruction's");
    return slot;
}

Instruction *statement_emit(Statement *s, int op) {
    Instruction *i = builder_emit(s->builder, s->whole);
    i->op = (uint16_t)op;
    i->guard = s->guard;
    i->negate = s->negate;
    return i;
}

static char *trimmed(char *text) {
    while (*text == ' ') text++;
    for (size_t n = strlen(text); n && text[n - 1] == ' '; n--) text[n - 1] = 0;
    return text;
}

// split cuts text at commas outside braces and brackets.
static int split(char *text, char **items, int most) {
    int count = 0, depth = 0;
    text = trimmed(text);
    if (!*text) return 0;
    for (char *from = text, *at = text;; at++) {
        depth += (*at && strchr("{[(", *at)) - (*at && strchr("}])", *at));
        if (*at && (*at != ',' || depth)) continue;
        bool last = !*at;
        *at = 0;
        if (count == most) return most + 1;
        items[count++] = trimmed(from);
        if (last) return count;
        from = at + 1;
    }
}

int statement_list(Statement *s, char *text, char *items[4]) {
    if (text[0] != '{') {
        items[0] = text;
        return 1;
    }
    text[strlen(text) - 1] = 0;
    int count = split(text + 1, items, 4);
    if (count > 4) statement_fail(s, "more than 4 elements");
    return count;
}

// take_apart separates guard, opcode and operands.
static void take_apart(Statement *s, char *text) {
    s->guard = NO_OPERAND;
    if (*text == '@') {
        s->negate = text[1] == '!';
        char *name = text + 1 + s->negate, *end = strchr(name, ' ');
        if (!end) statement_fail(s, "a guard without an instruction");
        *end = 0;
        if (!statement_register(s, name, &s->guard)) statement_fail(s, "its guard is no register");
        text = trimmed(end + 1);
    }
    char *end = text;
    while (*end && *end != ' ' && *end != '%' && *end != '{' && *end != '[' && *end != '(') end++;
    char *operands = s->operands[0] = end;
    bool none = !*end;
    if (*end == ' ') *end++ = 0, operands = end;
    else if (!none) operands = (char *)parser_slice(s->builder->parser, end, end + strlen(end)), *end = 0;
    s->count = none ? 0 : split(operands, s->operands, 12);
    if (s->count > 12) statement_fail(s, "it has too many operands");
    for (char *part = text; part;) {
        char *point = strchr(part, '.');
        if (point) *point++ = 0;
        if (s->part_count == 12) statement_fail(s, "this instruction is not known");
        char *colons = strstr(part, "::");
        if (colons) *colons = 0;
        s->parts[s->part_count++] = part;
        part = point;
    }
}

static bool is(const char *name, const char *among) {
    size_t n = strlen(name);
    for (const char *at = among; (at = strstr(at, name)); at += n)
        if ((at == among || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

// table_name writes the instruction's name in the table. Equivalent instructions have the same name there.
static void table_name(Statement *s, char *name, size_t size) {
    const char *base = s->parts[0];
    char type[8];
    snprintf(type, sizeof type, "%.7s", s->parts[s->part_count - 1]);
    if (is(base, "add sub mul")) statement_part(s, "rn");
    if (is(base, "mov selp and or xor not shl popc clz brev cnot") && is(type, "u16 s16 u32 s32 f32 u64 s64 f64")) type[0] = 'b';
    bool low = s->part_count > 2 && !strcmp(s->parts[1], "lo");
    if ((is(base, "add sub") || low) && is(type, "s16 s32 s64")) type[0] = 'u';
    if (is(base, "shr setp") && type[0] == 'b') type[0] = 'u';
    if (!strcmp(base, "slct") && s->part_count == 3 && s->parts[1][0] != 'b') {
        char *wide = (char *)parser_slice(s->builder->parser, s->parts[1], s->parts[1] + strlen(s->parts[1]));
        wide[0] = 'b';
        s->parts[1] = wide;
    }
    static const char *unsigned_names[][2] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    if (!strcmp(base, "setp"))
        for (int i = 0; i < 4; i++)
            if (!strcmp(s->parts[1], unsigned_names[i][0])) s->parts[1] = (char *)unsigned_names[i][1];
    int n = snprintf(name, size, "%s", base);
    for (int i = 1; i < s->part_count - 1 && n < (int)size; i++) n += snprintf(name + n, size - n, ".%s", s->parts[i]);
    if (s->part_count > 1 && n < (int)size) snprintf(name + n, size - n, ".%s", type);
}

static const LaneOp *lane_op(const char *name) {
    for (size_t i = 0; i < sizeof lane_ops / sizeof lane_ops[0]; i++)
        if (!strcmp(lane_ops[i].name, name)) return &lane_ops[i];
    return NULL;
}

static bool is_clamped(int op) {
    return op == OP_add_f32 || op == OP_sub_f32 || op == OP_mul_f32 || op == OP_fma_f32;
}

// compare translates setp.lt.and.s32 p|q, a, b, r to up to three instructions.
static void compare(Statement *s, int op, int bytes, const char *combine) {
    Builder *b = s->builder;
    char *second = strchr(s->operands[0], '|');
    if (second) *second++ = 0;
    Operand p = statement_destination(s, s->operands[0], 4), result = combine || second ? builder_register(b, 4) : p;
    Operand x = statement_value(s, s->operands[1], bytes), y = statement_value(s, s->operands[2], bytes);
    Operand r = NO_OPERAND;
    if (combine) {
        bool negated = s->operands[3][0] == '!';
        r = statement_value(s, s->operands[3] + negated, 4);
        if (negated) {
            Instruction *i = statement_emit(s, OP_not_pred);
            i->a = i->b = i->c = r;
            i->d = r = builder_register(b, 4);
        }
    }
    Instruction *i = statement_emit(s, op);
    i->d = result;
    i->a = x;
    i->b = i->c = y;
    int combined = !combine ? OP_mov_pred : !strcmp(combine, "and") ? OP_and_pred : !strcmp(combine, "or") ? OP_or_pred : OP_xor_pred;
    Operand not_result = builder_register(b, 4);
    if (second) {
        i = statement_emit(s, OP_not_pred);
        i->d = not_result;
        i->a = i->b = i->c = result;
    }
    for (int side = 0; side < 2; side++) {
        if (result == p || (side && !second)) continue;
        i = statement_emit(s, combined);
        i->d = side ? statement_destination(s, second, 4) : p;
        i->a = side ? not_result : result;
        i->b = i->c = combine ? r : i->a;
    }
}

void decode(Builder *b, char *text, const char *original) {
    Statement s = {.builder = b, .whole = original};
    take_apart(&s, text);
    if (decode_memory(&s) || decode_other(&s)) return;
    uint8_t flags = statement_part(&s, "ftz") ? FLAG_FTZ : 0;
    if (statement_part(&s, "sat")) flags |= FLAG_SAT;
    const char *combine = NULL;
    bool is_compare = !strcmp(s.parts[0], "setp");
    if (is_compare)
        combine = statement_part(&s, "and") ? "and" : statement_part(&s, "or") ? "or" : statement_part(&s, "xor") ? "xor" : NULL;
    char name[64];
    table_name(&s, name, sizeof name);
    const LaneOp *op = lane_op(name);
    if (!op || (flags & FLAG_SAT && !is_clamped(op->op))) statement_fail(&s, "this instruction is not known");
    if (is_compare) {
        if (flags) statement_fail(&s, "this instruction is not known");
        statement_need(&s, combine ? 4 : 3);
        return compare(&s, op->op, op->a, combine);
    }
    if (s.count < 2 || s.count > 4) statement_fail(&s, "it has not as many operands as it should");
    Operand d = statement_destination(&s, s.operands[0], op->d);
    Operand x = statement_value(&s, s.operands[1], op->a);
    Operand y = s.count > 2 ? statement_value(&s, s.operands[2], op->b) : x;
    Operand z = s.count > 3 ? statement_value(&s, s.operands[3], op->c) : y;
    Instruction *i = statement_emit(&s, op->op);
    i->flags = flags;
    i->to = i->from = op->d == 8 ? T_F64 : T_F32;
    i->d = d;
    i->a = x;
    i->b = y;
    i->c = z;
}
