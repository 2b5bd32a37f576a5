// Programs: the parsed form of a PTX unit, which the interpreter runs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LANES = 32 };

// An operand is the offset of a slot of LANES values. A value has 4 bytes, or 8 for 64 bits. The slot is in the
// registers of a warp. If CONSTANT is set, the slot is among the constants of the program, which all warps share.
typedef uint32_t Operand;
#define CONSTANT 0x80000000u
#define NO_OPERAND 0xffffffffu

typedef enum { GLOBAL, SHARED, LOCAL, CONST, PARAM, GENERIC } Space;

typedef struct {
    uint16_t op;
    uint8_t size, count;               // of an access: bytes per element, and number of elements of a vector
    uint8_t space, compare, flags, round;
    uint8_t to, from;                  // types of a conversion, or of an access (Type)
    bool negate;                       // negates guard
    Operand guard, d, e, a, b, c;      // e: second destination, or second element of a vector at d
    Operand more[3];                   // further elements of a vector; more sources
    int64_t immediate;                 // offset of an address
    int32_t target, join;              // of a branch: its target, and where its sides meet again (-1: at the end)
    int32_t line;                      // line in the PTX
} Instruction;

enum { FLAG_FTZ = 1, FLAG_SAT = 2, FLAG_SIGNED = 4, FLAG_NARROW_ADDRESS = 8, FLAG_WIDE = 16, FLAG_VOLATILE = 32, FLAG_SOURCE_WIDE = 64 };

typedef enum { T_U8, T_S8, T_U16, T_S16, T_U32, T_S32, T_U64, T_S64, T_F16, T_F32, T_F64, T_PRED } Type;
enum { ROUND_NONE, ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP, ROUND_RNI, ROUND_RZI, ROUND_RMI, ROUND_RPI };

typedef struct {
    const char *name;
    uint32_t offset, bytes;
} Parameter;

typedef struct {
    Operand slot;
    int special;                       // the special register that it holds
} SpecialSlot;

typedef struct Program {
    const char *name;
    bool entry;
    Instruction *code;
    const char **text;                 // text of each instruction, for reports
    int count;
    Parameter *params;
    int param_count;
    uint32_t param_bytes, register_bytes, constant_bytes, shared_bytes, local_bytes;
    uint8_t *constants;
    SpecialSlot *specials;
    int special_count;
    unsigned max_threads, required[3];
    bool dynamic_shared, warp_synchronous;
    struct Relocation { Operand slot; int variable; } *relocations;
    int relocation_count;
    struct Unit *unit;
} Program;

typedef struct {
    const char *name;
    bool constant;
    uint32_t bytes, align;
    uint8_t *initial;                  // NULL: zero
    struct Pointer { uint32_t offset; const char *symbol; int64_t addend; } *pointers;
    int pointer_count;
} Variable;

typedef struct Unit {
    struct Chunk *chunks;              // list of all its memory
    int version, target;
    Program *programs;
    int program_count;
    Variable *variables;
    int variable_count;
} Unit;

// unit_parse parses PTX. On failure, error contains position and reason. Variables get their addresses later, so
// programs have relocations for them.
Unit *unit_parse(const char *ptx, char *error, int error_bytes);
void unit_free(Unit *);
