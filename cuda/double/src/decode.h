// A statement of PTX, taken apart for decode.c and decode_more.c.
#pragma once

#include "parser.h"

typedef struct {
    Builder *builder;
    const char *whole;                 // the statement, for messages
    Operand guard;
    bool negate;
    char *parts[12];                   // of the opcode, between its points
    int part_count;
    char *operands[12];
    int count;
} Statement;

void statement_fail(Statement *, const char *why) __attribute__((noreturn));
bool statement_part(Statement *, const char *);        // has the part, and takes it away
void statement_need(Statement *, int operands);
Type statement_type(Statement *, const char *part);
Name *statement_register(Statement *, const char *text, Operand *);    // NULL if it is none
Operand statement_value(Statement *, const char *text, int bytes);     // a register, a number or an address
Operand statement_destination(Statement *, const char *text, int bytes);
Instruction *statement_emit(Statement *, int op);
int statement_list(Statement *, char *text, char *items[4]);           // of {a, b}

bool decode_memory(Statement *);       // ld, st, atom, red; false if it is none of them
bool decode_other(Statement *);        // all that is neither this nor in LANE_OPS
