// A PTX statement split into parts, for decode.c and decode_more.c.
#pragma once

#include "parser.h"

typedef struct {
    Builder *builder;
    const char *whole;                 // the statement, for messages
    Operand guard;
    bool negate;
    char *parts[12];                   // parts of the opcode, separated by points
    int part_count;
    char *operands[12];
    int count;
} Statement;

void statement_fail(Statement *, const char *why) __attribute__((noreturn));
bool statement_part(Statement *, const char *);        // whether it has the part; removes the part
void statement_need(Statement *, int operands);
Type statement_type(Statement *, const char *part);
Name *statement_register(Statement *, const char *text, Operand *);    // NULL if it is not a register
Operand statement_value(Statement *, const char *text, int bytes);     // a register, a number or an address
Operand statement_destination(Statement *, const char *text, int bytes);
Instruction *statement_emit(Statement *, int op);
int statement_list(Statement *, char *text, char *items[4]);           // splits a list {a, b}

bool decode_memory(Statement *);       // ld, st, atom, red; false for others
bool decode_other(Statement *);        // every instruction that is neither handled above nor in LANE_OPS
