// Reads a unit of PTX: its directives, its variables, and the positions of its functions. body.c reads the
// functions.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

typedef struct Chunk {
    struct Chunk *next;
} Chunk;

void *parser_allocate(Parser *p, size_t bytes) {
    Chunk *chunk = calloc(1, sizeof(Chunk) + bytes + 16);
    if (!chunk) parser_fail(p, 0, "out of host memory");
    chunk->next = p->unit->chunks;
    p->unit->chunks = chunk;
    return (void *)(((uintptr_t)(chunk + 1) + 15) & ~(uintptr_t)15);
}

const char *parser_slice(Parser *p, const char *from, const char *to) {
    char *text = parser_allocate(p, to - from + 1);
    memcpy(text, from, to - from);
    return text;
}

void parser_fail(Parser *p, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = snprintf(p->error, p->error_bytes, "ptx line %d: ", line);
    if (n < p->error_bytes) vsnprintf(p->error + n, p->error_bytes - n, format, arguments);
    va_end(arguments);
    longjmp(p->failed, 1);
}

static unsigned hash_of(const char *text, size_t length) {
    unsigned h = 2166136261u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

void names_put(Parser *p, Names *names, Name name) {
    if (names->count * 2 >= names->capacity) {
        Names larger = {.capacity = names->capacity ? names->capacity * 2 : 64};
        larger.slots = parser_allocate(p, larger.capacity * sizeof(Name));
        for (int i = 0; i < names->capacity; i++)
            if (names->slots[i].text) names_put(p, &larger, names->slots[i]);
        *names = larger;
    }
    unsigned i = hash_of(name.text, strlen(name.text));
    for (;; i++) {
        Name *slot = &names->slots[i & (names->capacity - 1)];
        if (slot->text && strcmp(slot->text, name.text)) continue;
        if (!slot->text) names->count++;
        *slot = name;
        return;
    }
}

Name *names_get(Names *names, const char *text, size_t length) {
    if (!names->capacity) return NULL;
    for (unsigned i = hash_of(text, length);; i++) {
        Name *slot = &names->slots[i & (names->capacity - 1)];
        if (!slot->text) return NULL;
        if (!strncmp(slot->text, text, length) && !slot->text[length]) return slot;
    }
}

void cursor_blank(Cursor *c) {
    for (; isspace((unsigned char)*c->at); c->at++) c->line += *c->at == '\n';
}

const char *cursor_word(Parser *p, Cursor *c) {
    cursor_blank(c);
    const char *from = c->at;
    while (isalnum((unsigned char)*c->at) || (*c->at && strchr("_$.%@", *c->at))) c->at++;
    return c->at == from ? NULL : parser_slice(p, from, c->at);
}

bool cursor_take(Cursor *c, char wanted) {
    cursor_blank(c);
    if (*c->at != wanted) return false;
    c->at++;
    return true;
}

void cursor_expect(Parser *p, Cursor *c, char wanted) {
    if (!cursor_take(c, wanted)) parser_fail(p, c->line, "there is %.10s where %c would be right", c->at, wanted);
}

int64_t cursor_integer(Parser *p, Cursor *c) {
    cursor_blank(c);
    char *end;
    bool negative = *c->at == '-';
    int64_t value = (int64_t)strtoull(c->at + negative, &end, 0);
    if (end == c->at + negative) parser_fail(p, c->line, "there is %.10s where an integer would be right", c->at);
    if (*end == 'U') end++;
    c->at = end;
    return negative ? -value : value;
}

int type_bytes(const char *type) {
    if (!strcmp(type, ".pred")) return 4;
    if (!strchr("ubsf", type[1]) || type[0] != '.') return 0;
    int bits = atoi(type + 2);
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 0;
}

// uncomment returns a copy with comments replaced by blanks.
static char *uncomment(Parser *p, const char *ptx) {
    char *text = parser_allocate(p, strlen(ptx) + 1), *to = text;
    for (; *ptx; ptx++) {
        if (ptx[0] == '/' && ptx[1] == '/') {
            while (ptx[1] && ptx[1] != '\n') ptx++;
        } else if (ptx[0] == '/' && ptx[1] == '*') {
            for (ptx += 2; *ptx && !(ptx[0] == '*' && ptx[1] == '/'); ptx++)
                if (*ptx == '\n') *to++ = '\n';
            if (!*ptx) break;
            ptx++;
            *to++ = ' ';
        } else {
            *to++ = *ptx;
        }
    }
    return text;
}

static void put_number(Parser *p, Cursor *c, Variable *v, uint32_t at, int bytes) {
    uint64_t bits = 0;
    cursor_blank(c);
    if (c->at[0] == '0' && strchr("fFdD", c->at[1]) && c->at[1]) {
        char *end;
        bits = strtoull(c->at + 2, &end, 16);
        c->at = end;
    } else if (isdigit((unsigned char)*c->at) || *c->at == '-') {
        bits = (uint64_t)cursor_integer(p, c);
    } else {
        const char *word = cursor_word(p, c);
        if (word && !strcmp(word, "generic")) {
            cursor_expect(p, c, '(');
            word = cursor_word(p, c);
            cursor_expect(p, c, ')');
        }
        if (!word || bytes != 8) parser_fail(p, c->line, "an initial value that is neither a number nor the address of a variable");
        struct Pointer *more = parser_allocate(p, (v->pointer_count + 1) * sizeof(*more));
        if (v->pointer_count) memcpy(more, v->pointers, v->pointer_count * sizeof(*more));
        more[v->pointer_count++] = (struct Pointer){at, word, cursor_take(c, '+') ? cursor_integer(p, c) : 0};
        v->pointers = more;
    }
    if (at + bytes > v->bytes) parser_fail(p, c->line, "%s has more initial values than elements", v->name);
    memcpy(v->initial + at, &bits, bytes);
}

// variable reads a unit's .global, .const or .shared variable, from after that word to the semicolon.
static void variable(Parser *p, Cursor *c, const char *space, bool external) {
    Variable v = {.constant = !strcmp(space, ".const"), .align = 1};
    int element = 0;
    const char *word;
    while ((word = cursor_word(p, c)) && word[0] == '.') {
        if (!strcmp(word, ".align")) v.align = (uint32_t)cursor_integer(p, c);
        else if (!(element = type_bytes(word))) parser_fail(p, c->line, "%s of a variable is not known here", word);
    }
    if (!word || !element) parser_fail(p, c->line, "a variable without name or type");
    v.name = word;
    v.bytes = element;
    while (cursor_take(c, '[')) {
        if (cursor_take(c, ']')) { v.bytes = 0; continue; }
        v.bytes *= (uint32_t)cursor_integer(p, c);
        cursor_expect(p, c, ']');
    }
    if ((int)v.align < element) v.align = element;
    if (!strcmp(space, ".shared")) {
        bool dynamic = external && v.bytes == 0;
        if (external && !dynamic) parser_fail(p, c->line, "shared variable %s of another unit", v.name);
        names_put(p, &p->names, (Name){v.name, dynamic ? NAME_DYNAMIC : NAME_SHARED, v.align, v.bytes});
        return cursor_expect(p, c, ';');
    }
    if (external) parser_fail(p, c->line, "variable %s is in no unit", v.name);
    if (cursor_take(c, '=')) {
        v.initial = parser_allocate(p, v.bytes);
        if (cursor_take(c, '{')) {
            for (uint32_t at = 0; !cursor_take(c, '}'); at += element) {
                put_number(p, c, &v, at, element);
                cursor_take(c, ',');
            }
        } else {
            put_number(p, c, &v, 0, element);
        }
    }
    cursor_expect(p, c, ';');
    Unit *u = p->unit;
    Variable *more = parser_allocate(p, (u->variable_count + 1) * sizeof(Variable));
    if (u->variable_count) memcpy(more, u->variables, u->variable_count * sizeof(Variable));
    more[u->variable_count] = v;
    u->variables = more;
    names_put(p, &p->names, (Name){v.name, NAME_VARIABLE, u->variable_count++, v.bytes});
}

static void skip_braces(Parser *p, Cursor *c) {
    for (int depth = 1; depth; c->at++) {
        if (!*c->at) parser_fail(p, c->line, "a { without }");
        depth += (*c->at == '{') - (*c->at == '}');
        c->line += *c->at == '\n';
    }
}

// function records the position of a function. function ignores declarations.
static void function(Parser *p, Cursor *c, bool entry) {
    FunctionText f = {.entry = entry, .head = *c};
    if (!entry && cursor_take(c, '(')) {
        while (*c->at && *c->at != ')') c->at++;
        cursor_expect(p, c, ')');
    }
    f.name = cursor_word(p, c);
    if (!f.name) parser_fail(p, c->line, "a function without a name");
    for (; *c->at && *c->at != '{' && *c->at != ';'; c->at++) c->line += *c->at == '\n';
    if (*c->at == ';') { c->at++; return; }
    cursor_expect(p, c, '{');
    f.body = *c;
    skip_braces(p, c);
    FunctionText *more = parser_allocate(p, (p->function_count + 1) * sizeof(f));
    if (p->function_count) memcpy(more, p->functions, p->function_count * sizeof(f));
    more[p->function_count] = f;
    p->functions = more;
    names_put(p, &p->names, (Name){f.name, NAME_FUNCTION, p->function_count++, 0});
}

static void unit(Parser *p) {
    Cursor *c = &p->cursor;
    bool external = false;
    for (cursor_blank(c); *c->at; cursor_blank(c)) {
        const char *word = cursor_word(p, c);
        if (!word) parser_fail(p, c->line, "%.10s is no directive", c->at);
        if (!strcmp(word, ".version")) {
            int major = (int)cursor_integer(p, c);
            cursor_expect(p, c, '.');
            p->unit->version = major * 10 + (int)cursor_integer(p, c);
        } else if (!strcmp(word, ".target")) {
            const char *target = cursor_word(p, c);
            if (!target || strncmp(target, "sm_", 3)) parser_fail(p, c->line, ".target that is not sm_ and a number");
            p->unit->target = atoi(target + 3);
            while (cursor_take(c, ',')) cursor_word(p, c);
        } else if (!strcmp(word, ".address_size")) {
            if (cursor_integer(p, c) != 64) parser_fail(p, c->line, "addresses that are not of 64 bits");
        } else if (!strcmp(word, ".visible") || !strcmp(word, ".weak") || !strcmp(word, ".common")) {
        } else if (!strcmp(word, ".extern")) {
            external = true;
            continue;
        } else if (!strcmp(word, ".global") || !strcmp(word, ".const") || !strcmp(word, ".shared")) {
            variable(p, c, word, external);
        } else if (!strcmp(word, ".entry") || !strcmp(word, ".func")) {
            function(p, c, word[1] == 'e');
        } else if (!strcmp(word, ".file")) {
            while (*c->at && *c->at != '\n') c->at++;
        } else if (!strcmp(word, ".section")) {
            while (*c->at && *c->at != '{') c->at++;
            cursor_expect(p, c, '{');
            skip_braces(p, c);
        } else {
            parser_fail(p, c->line, "directive %s is not known here", word);
        }
        external = false;
    }
    if (!p->unit->version) parser_fail(p, 1, "there is no .version");
    for (int i = 0; i < p->function_count; i++)
        if (p->functions[i].entry) body_read(p, &p->functions[i]);
}

Unit *unit_parse(const char *ptx, char *error, int error_bytes) {
    Parser *p = calloc(1, sizeof(Parser));
    p->unit = calloc(1, sizeof(Unit));
    p->error = error;
    p->error_bytes = error_bytes;
    if (setjmp(p->failed)) {
        unit_free(p->unit);
        free(p);
        return NULL;
    }
    p->cursor = (Cursor){uncomment(p, ptx), 1};
    unit(p);
    Unit *made = p->unit;
    free(p);
    return made;
}

void unit_free(Unit *u) {
    for (Chunk *chunk = u->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(u);
}
