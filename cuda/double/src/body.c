// Reads PTX functions with their parameters, declarations and statements. The result becomes part of the program of
// the entry that uses them.
//
// Each function that an entry calls is read into the entry's program once. The function has its own registers,
// local memory and parameters at fixed places, so recursive functions are refused.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

static void *grow(Parser *p, void *old, int count, int *capacity, size_t size) {
    if (count < *capacity) return old;
    *capacity = *capacity ? *capacity * 2 : 32;
    void *more = parser_allocate(p, *capacity * size);
    if (count) memcpy(more, old, count * size);
    return more;
}

Operand builder_register(Builder *b, int bytes) {
    Operand slot = b->program->register_bytes;
    b->program->register_bytes += (bytes == 8 ? 8 : 4) * LANES;
    if (b->program->register_bytes > 1 << 22) parser_fail(b->parser, b->line, "%s has too many registers", b->program->name);
    return slot;
}

static Operand constant_slot(Builder *b, int bytes) {
    Program *p = b->program;
    enum { BLOCK = 1 << 14 };
    uint32_t size = (bytes == 8 ? 8 : 4) * LANES;
    if (p->constant_bytes / BLOCK != (p->constant_bytes + size) / BLOCK || !p->constants) {
        uint8_t *more = parser_allocate(b->parser, (p->constant_bytes / BLOCK + 2) * BLOCK);
        // Vectors of lanes must be aligned.
        more = (uint8_t *)(((uintptr_t)more + 63) & ~(uintptr_t)63);
        if (p->constant_bytes) memcpy(more, p->constants, p->constant_bytes);
        p->constants = more;
    }
    Operand slot = p->constant_bytes | CONSTANT;
    p->constant_bytes += size;
    return slot;
}

static void constant_set(Program *p, Operand slot, uint64_t bits, int bytes) {
    uint8_t *at = p->constants + (slot & ~CONSTANT);
    for (int l = 0; l < LANES; l++)
        if (bytes == 8) ((uint64_t *)at)[l] = bits;
        else ((uint32_t *)at)[l] = (uint32_t)bits;
}

Operand builder_constant(Builder *b, uint64_t bits, int bytes) {
    char text[32];
    snprintf(text, sizeof text, "=%d:%llx", bytes == 8 ? 8 : 4, (unsigned long long)(bytes == 8 ? bits : (uint32_t)bits));
    Name *known = names_get(&b->shared, text, strlen(text));
    if (known) return (Operand)known->value;
    Operand slot = constant_slot(b, bytes);
    constant_set(b->program, slot, bits, bytes);
    names_put(b->parser, &b->shared, (Name){parser_slice(b->parser, text, text + strlen(text)), NAME_REGISTER, slot, 0});
    return slot;
}

Operand builder_symbol(Builder *b, Name *name) {
    Parser *p = b->parser;
    Program *program = b->program;
    if (name->kind == NAME_VARIABLE) {
        for (int i = 0; i < program->relocation_count; i++)
            if (program->relocations[i].variable == name->value) return program->relocations[i].slot;
        struct Relocation *more = parser_allocate(p, (program->relocation_count + 1) * sizeof(*more));
        if (program->relocation_count) memcpy(more, program->relocations, program->relocation_count * sizeof(*more));
        program->relocations = more;
        more[program->relocation_count++] = (struct Relocation){constant_slot(b, 8), (int)name->value};
        return more[program->relocation_count - 1].slot;
    }
    if (name->kind == NAME_DYNAMIC) {
        if (!b->dynamic_count) {
            b->dynamic = parser_allocate(p, sizeof(Operand));
            b->dynamic[b->dynamic_count++] = constant_slot(b, 8);
            program->dynamic_shared = true;
        }
        return b->dynamic[0];
    }
    if (name->kind == NAME_SHARED || name->kind == NAME_LOCAL || name->kind == NAME_PARAM || name->kind == NAME_STACKED)
        return builder_constant(b, name->value, 8);
    parser_fail(p, b->line, "%s has no address", name->text);
}

Operand builder_special(Builder *b, int special, int line) {
    (void)line;
    Program *p = b->program;
    for (int i = 0; i < p->special_count; i++)
        if (p->specials[i].special == special) return p->specials[i].slot;
    if (!p->specials) p->specials = parser_allocate(b->parser, SPECIAL_COUNT * sizeof(SpecialSlot));
    p->specials[p->special_count] = (SpecialSlot){builder_register(b, 4), special};
    return p->specials[p->special_count++].slot;
}

Instruction *builder_emit(Builder *b, const char *text) {
    Program *p = b->program;
    int capacity = b->code_capacity;
    p->code = grow(b->parser, p->code, p->count, &capacity, sizeof(Instruction));
    p->text = grow(b->parser, p->text, p->count, &b->code_capacity, sizeof(char *));
    p->text[p->count] = text;
    Instruction *i = &p->code[p->count++];
    *i = (Instruction){.guard = NO_OPERAND, .d = NO_OPERAND, .e = NO_OPERAND, .a = NO_OPERAND, .b = NO_OPERAND, .c = NO_OPERAND,
                       .more = {NO_OPERAND, NO_OPERAND, NO_OPERAND}, .target = -1, .join = -1, .line = b->line};
    return i;
}

void builder_branch(Builder *b, const char *label) {
    b->branches = grow(b->parser, b->branches, b->branch_count, &b->branch_capacity, sizeof(*b->branches));
    b->branches[b->branch_count].at = b->program->count - 1;
    b->branches[b->branch_count].line = b->line;
    b->branches[b->branch_count++].label = label;
}

static uint32_t place(uint32_t *used, uint32_t bytes, uint32_t align) {
    *used = (*used + align - 1) / align * align;
    uint32_t at = *used;
    *used += bytes;
    return at;
}

// builder_name also looks up the unit's names. builder_name gives the unit's shared variables their place in this
// program.
Name *builder_name(Builder *b, const char *text, size_t length) {
    Name *name = names_get(&b->names, text, length);
    if (name) return name;
    name = names_get(&b->shared, text, length);
    if (name) return name;
    name = names_get(&b->parser->names, text, length);
    if (!name || name->kind != NAME_SHARED) return name;
    Name placed = *name;
    placed.value = place(&b->program->shared_bytes, (uint32_t)name->size, (uint32_t)name->value);
    names_put(b->parser, &b->shared, placed);
    return names_get(&b->shared, text, length);
}

typedef struct {
    const char *name;
    uint32_t bytes, align;
} Declared;

// declared reads .align 8 .b8 name[24] after .param, .local or .shared.
static Declared declared(Parser *p, Cursor *c) {
    Declared d = {.align = 1};
    int element = 0;
    const char *word;
    while ((word = cursor_word(p, c)) && word[0] == '.') {
        if (!strcmp(word, ".align")) d.align = (uint32_t)cursor_integer(p, c);
        else if (!strcmp(word, ".ptr") || !strcmp(word, ".global") || !strcmp(word, ".const") || !strcmp(word, ".shared") || !strcmp(word, ".local")) continue;
        else if (type_bytes(word)) element = type_bytes(word);
        else if (strcmp(word, ".reg")) parser_fail(p, c->line, "%s is not known in a declaration", word);
    }
    if (!word || !element) parser_fail(p, c->line, "a declaration without name or type");
    d.name = word;
    d.bytes = element;
    while (cursor_take(c, '[')) {
        d.bytes *= (uint32_t)cursor_integer(p, c);
        cursor_expect(p, c, ']');
    }
    if ((int)d.align < element) d.align = element;
    return d;
}

struct Callee *builder_callee(Builder *b, const char *name) {
    for (int i = 0; i < b->callee_count; i++)
        if (!strcmp(b->callees[i].name, name)) return &b->callees[i];
    Parser *p = b->parser;
    Name *known = names_get(&p->names, name, strlen(name));
    if (!known || known->kind != NAME_FUNCTION) parser_fail(p, b->line, "%s is called, but is no function of this unit", name);
    b->callees = grow(p, b->callees, b->callee_count, &b->callee_capacity, sizeof(struct Callee));
    struct Callee *callee = &b->callees[b->callee_count++];
    *callee = (struct Callee){.name = name, .start = -1, .result = -1, .params = parser_allocate(p, 64 * sizeof(int64_t))};
    Cursor c = p->functions[known->value].head;
    for (int list = 0; list < 2; list++) {
        if (list) cursor_word(p, &c);
        if (!cursor_take(&c, '(')) continue;
        while (!cursor_take(&c, ')')) {
            cursor_word(p, &c);
            Declared d = declared(p, &c);
            uint32_t at = place(&b->program->local_bytes, d.bytes, d.align < 4 ? 4 : d.align);
            if (!list) callee->result = at;
            else if (callee->param_count == 64) parser_fail(p, c.line, "%s has more than 64 parameters", name);
            else callee->params[callee->param_count++] = at;
            cursor_take(&c, ',');
        }
    }
    return callee;
}

// head reads the parameters of the next function.
static void head(Builder *b, FunctionText *f) {
    Parser *p = b->parser;
    Cursor c = f->head;
    struct Callee *callee = b->in_function ? builder_callee(b, f->name) : NULL;
    int index = 0;
    for (int list = b->in_function ? 0 : 1; list < 2; list++) {
        if (list) cursor_word(p, &c);
        if (!cursor_take(&c, '(')) continue;
        while (!cursor_take(&c, ')')) {
            cursor_word(p, &c);
            Declared d = declared(p, &c);
            if (callee) {
                names_put(p, &b->names, (Name){d.name, NAME_STACKED, list ? callee->params[index++] : callee->result, d.bytes});
            } else {
                uint32_t at = place(&b->program->param_bytes, d.bytes, d.align);
                names_put(p, &b->names, (Name){d.name, NAME_PARAM, at, d.bytes});
                b->program->params[b->program->param_count++] = (Parameter){d.name, at, d.bytes};
            }
            cursor_take(&c, ',');
        }
    }
    for (const char *word; (word = cursor_word(p, &c));) {
        unsigned n[3] = {1, 1, 1};
        cursor_blank(&c);
        for (int i = 0; i < 3 && isdigit((unsigned char)*c.at); i++) {
            n[i] = (unsigned)cursor_integer(p, &c);
            cursor_take(&c, ',');
            cursor_blank(&c);
        }
        if (!strcmp(word, ".maxntid")) b->program->max_threads = n[0] * n[1] * n[2];
        else if (!strcmp(word, ".reqntid")) memcpy(b->program->required, n, sizeof n);
        else if (strcmp(word, ".minnctapersm") && strcmp(word, ".maxnreg") && strcmp(word, ".noreturn"))
            parser_fail(p, c.line, "%s of a function is not known here", word);
    }
}

static void registers(Builder *b, Cursor *c) {
    Parser *p = b->parser;
    const char *type = cursor_word(p, c);
    int bytes = type ? type_bytes(type) : 0;
    if (!bytes) parser_fail(p, c->line, "registers of an unknown type");
    do {
        const char *name = cursor_word(p, c);
        if (!name) parser_fail(p, c->line, "a register without a name");
        int64_t count = 1;
        bool many = cursor_take(c, '<');
        if (many) {
            count = cursor_integer(p, c);
            cursor_expect(p, c, '>');
        }
        Operand first = builder_register(b, bytes);
        for (int64_t i = 1; i < count; i++) builder_register(b, bytes);
        char key[80];
        snprintf(key, sizeof key, "%s%s", name, many ? "<" : "");
        names_put(p, &b->names, (Name){parser_slice(p, key, key + strlen(key)), many ? NAME_REGISTERS : NAME_REGISTER,
                                       many ? (int64_t)first | count << 32 : first, bytes});
    } while (cursor_take(c, ','));
    cursor_expect(p, c, ';');
}

// scope reads the text after the { of a call, which maps the parameters to names.
static void scope(Builder *b, Cursor inner) {
    Parser *p = b->parser;
    const char *end = strchr(inner.at, '}');
    const char *call = strstr(inner.at, "call");
    if (!call || !end || call > end) return;
    Cursor c = {call, inner.line};
    cursor_word(p, &c);
    const char *result = NULL, *params[64];
    int count = 0;
    if (cursor_take(&c, '(')) {
        result = cursor_word(p, &c);
        cursor_expect(p, &c, ')');
        cursor_expect(p, &c, ',');
    }
    const char *name = cursor_word(p, &c);
    if (!name || name[0] == '%') parser_fail(p, inner.line, "a call by address");
    struct Callee *callee = builder_callee(b, name);
    if (cursor_take(&c, ',') && cursor_take(&c, '('))
        while (!cursor_take(&c, ')')) {
            if (count == 64) parser_fail(p, inner.line, "more than 64 parameters");
            params[count++] = cursor_word(p, &c);
            cursor_take(&c, ',');
        }
    if (count != callee->param_count) parser_fail(p, inner.line, "%s is called with %d parameters, but has %d", name, count, callee->param_count);
    for (int i = 0; i < count; i++) names_put(p, &b->names, (Name){params[i], NAME_STACKED, callee->params[i], 0});
    if (result) names_put(p, &b->names, (Name){result, NAME_STACKED, callee->result, 0});
}

static char *statement(Parser *p, Cursor *c) {
    const char *from = c->at;
    int depth = 0;
    for (; *c->at && (depth || *c->at != ';'); c->at++) {
        depth += (*c->at == '{') - (*c->at == '}');
        if (depth < 0) break;
        c->line += *c->at == '\n';
    }
    if (*c->at != ';') parser_fail(p, c->line, "a statement without ;");
    char *text = (char *)parser_slice(p, from, c->at++), *to = text;
    for (const char *at = text; *at; at++)
        if (!isspace((unsigned char)*at)) *to++ = *at;
        else if (to > text && to[-1] != ' ') *to++ = ' ';
    *to = 0;
    return text;
}

static void statements(Builder *b, FunctionText *f) {
    Parser *p = b->parser;
    Cursor c = f->body;
    Program *program = b->program;
    for (int depth = 0;;) {
        cursor_blank(&c);
        b->line = c.line;
        if (cursor_take(&c, '}')) {
            if (depth-- == 0) return;
            continue;
        }
        if (cursor_take(&c, '{')) {
            depth++;
            scope(b, c);
            continue;
        }
        Cursor before = c;
        const char *word = cursor_word(p, &c);
        if (!word) parser_fail(p, c.line, "%.10s is no statement", c.at);
        if (word[0] != '.' && cursor_take(&c, ':')) {
            names_put(p, &b->names, (Name){word, NAME_LABEL, program->count, 0});
        } else if (!strcmp(word, ".reg")) {
            registers(b, &c);
        } else if (!strcmp(word, ".param")) {
            declared(p, &c);
            cursor_expect(p, &c, ';');
        } else if (!strcmp(word, ".local") || !strcmp(word, ".shared")) {
            Declared d = declared(p, &c);
            bool local = word[1] == 'l';
            uint32_t at = place(local ? &program->local_bytes : &program->shared_bytes, d.bytes, d.align);
            names_put(p, &b->names, (Name){d.name, local ? NAME_LOCAL : NAME_SHARED, at, d.bytes});
            cursor_expect(p, &c, ';');
        } else if (!strcmp(word, ".loc") || !strcmp(word, ".file")) {
            while (*c.at && *c.at != '\n') c.at++;
        } else if (!strcmp(word, ".pragma")) {
            while (*c.at && *c.at != ';') c.at++;
            cursor_expect(p, &c, ';');
        } else if (word[0] == '.') {
            parser_fail(p, c.line, "%s is not known in a function", word);
        } else {
            c = before;
            char *text = statement(p, &c);
            decode(b, text, parser_slice(p, text, text + strlen(text)));
        }
    }
}

static void function(Builder *b, FunctionText *f) {
    Program *p = b->program;
    int begin = p->count;
    b->names = (Names){0};
    b->branch_count = 0;
    head(b, f);
    statements(b, f);
    b->line = f->body.line;
    builder_emit(b, "ret")->op = b->in_function ? OP_return : OP_exit;
    for (int i = 0; i < b->branch_count; i++) {
        Name *label = names_get(&b->names, b->branches[i].label, strlen(b->branches[i].label));
        if (!label || label->kind != NAME_LABEL) parser_fail(b->parser, b->branches[i].line, "there is no label %s", b->branches[i].label);
        p->code[b->branches[i].at].target = (int32_t)label->value;
    }
    flow_join(b->parser, p, begin, p->count);
}

// refuse_recursion follows the calls from the function at begin; depth is the number of calls under way.
static void refuse_recursion(Builder *b, int begin, int depth) {
    if (depth > b->callee_count) parser_fail(b->parser, b->program->code[begin].line, "a function that calls itself");
    for (int i = begin; i < b->program->count; i++) {
        Instruction *at = &b->program->code[i];
        if (at->op == OP_call) refuse_recursion(b, at->target, depth + 1);
        bool last = i + 1 == b->program->count;
        for (int k = 0; k < b->callee_count && !last; k++) last = b->callees[k].start == i + 1;
        if (last) return;
    }
}

void body_read(Parser *p, FunctionText *f) {
    Unit *u = p->unit;
    Program *more = parser_allocate(p, (u->program_count + 1) * sizeof(Program));
    if (u->program_count) memcpy(more, u->programs, u->program_count * sizeof(Program));
    u->programs = more;
    Program *program = &more[u->program_count++];
    *program = (Program){.name = f->name, .entry = true, .unit = u, .local_bytes = 16, .register_bytes = 1024, .max_threads = 1024};
    program->params = parser_allocate(p, 1024 * sizeof(Parameter));
    Builder b = {.parser = p, .program = program};
    function(&b, f);
    b.in_function = true;
    for (int i = 0; i < b.callee_count; i++) {
        b.callees[i].start = program->count;
        function(&b, &p->functions[names_get(&p->names, b.callees[i].name, strlen(b.callees[i].name))->value]);
    }
    for (int i = 0; i < program->count; i++)
        if (program->code[i].op == OP_call) program->code[i].target = b.callees[program->code[i].target].start;
    if (b.callee_count) refuse_recursion(&b, 0, 0);
    if (program->local_bytes == 16) program->local_bytes = 0;
    program->shared_bytes = (program->shared_bytes + 15) / 16 * 16;
    if (b.dynamic_count) constant_set(program, b.dynamic[0], program->shared_bytes, 8);
}
