// The parser's own types, shared by the code that reads units, function bodies and instructions.
#pragma once

#include <setjmp.h>

#include "ops.h"
#include "program.h"

typedef enum { NAME_REGISTER, NAME_REGISTERS, NAME_SHARED, NAME_DYNAMIC, NAME_LOCAL, NAME_PARAM, NAME_STACKED, NAME_VARIABLE, NAME_FUNCTION, NAME_LABEL } NameKind;
typedef struct {
    const char *text;
    NameKind kind;
    int64_t value;                     // slot, offset, index or position in the code
    int64_t size;                      // bytes of a register's lane; of a variable; count of registers
} Name;
typedef struct {
    Name *slots;
    int count, capacity;
} Names;

typedef struct {
    const char *at;
    int line;
} Cursor;

typedef struct {
    const char *name;
    Cursor head, body;                 // head: after the name; body: after {
    bool entry;
} FunctionText;

typedef struct {
    Unit *unit;
    Cursor cursor;
    Names names;                       // of the unit
    FunctionText *functions;
    int function_count;
    char *error;
    int error_bytes;
    jmp_buf failed;
} Parser;

// State while one entry and the functions that it calls are built.
typedef struct {
    Parser *parser;
    Program *program;
    Names names;                       // names of the function being read
    Names shared;                      // shared variables of the unit that this program uses
    struct Callee { const char *name; int start; int64_t result; int64_t *params; int param_count; } *callees;
    int callee_count, callee_capacity;
    int code_capacity;
    struct { int at; const char *label; int line; } *branches;
    int branch_count, branch_capacity;
    Operand *dynamic;                  // constants for the start of dynamic shared memory
    int dynamic_count;
    bool in_function;                  // false in the entry itself
    int line;
} Builder;

void *parser_allocate(Parser *, size_t bytes);
const char *parser_slice(Parser *, const char *from, const char *to);
void parser_fail(Parser *, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
void names_put(Parser *, Names *, Name);
Name *names_get(Names *, const char *text, size_t length);
void cursor_blank(Cursor *);
const char *cursor_word(Parser *, Cursor *);           // letters, digits and _ $ . % @; NULL for other characters
bool cursor_take(Cursor *, char);
void cursor_expect(Parser *, Cursor *, char);
int64_t cursor_integer(Parser *, Cursor *);
int type_bytes(const char *type);                      // size of .u32, .b8, ..., 0 for others; .pred has 4

void body_read(Parser *, FunctionText *);              // builds the program of an entry
Operand builder_register(Builder *, int bytes);
Operand builder_constant(Builder *, uint64_t bits, int bytes);
Operand builder_symbol(Builder *, Name *);             // a constant with the address
Operand builder_special(Builder *, int special, int line);
Instruction *builder_emit(Builder *, const char *text);
void builder_branch(Builder *, const char *label);
Name *builder_name(Builder *, const char *text, size_t length);
struct Callee *builder_callee(Builder *, const char *name);

void decode(Builder *, char *statement, const char *original);
void flow_join(Parser *, Program *, int begin, int end);           // finds where the sides of branches meet again
