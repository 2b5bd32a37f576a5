// Finds where the two sides of a branch meet again: the immediate post-dominator. The algorithm is that of Cooper,
// Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph of blocks.
#include <string.h>

#include "parser.h"

typedef struct {
    int begin, end;                    // instructions
    int next[2], next_count;           // successor blocks; the last block is the exit
    int order, parent;                 // position in postorder of the reversed graph; immediate post-dominator
} Block;

static int meet(Block *blocks, int a, int b) {
    while (a != b) {
        while (blocks[a].order < blocks[b].order) a = blocks[a].parent;
        while (blocks[b].order < blocks[a].order) b = blocks[b].parent;
    }
    return a;
}

void flow_join(Parser *p, Program *program, int begin, int end) {
    int size = end - begin;
    uint8_t *leads = parser_allocate(p, size + 1);
    leads[0] = 1;
    for (int i = begin; i < end; i++) {
        Instruction *at = &program->code[i];
        bool ends = at->op == OP_branch || at->op == OP_exit || at->op == OP_return || at->op == OP_trap;
        if (at->op == OP_branch) leads[at->target - begin] = 1;
        if (ends) leads[i + 1 - begin] = 1;
    }
    int *block_of = parser_allocate(p, (size + 1) * sizeof(int));
    Block *blocks = parser_allocate(p, (size + 2) * sizeof(Block));
    int count = 0;
    for (int i = 0; i < size; i++) {
        if (leads[i]) blocks[count++].begin = begin + i;
        block_of[i] = count - 1;
        blocks[count - 1].end = begin + i + 1;
    }
    int exit = count++;
    for (int k = 0; k < exit; k++) {
        Block *block = &blocks[k];
        Instruction *last = &program->code[block->end - 1];
        bool returns = last->op == OP_exit || last->op == OP_return || last->op == OP_trap;
        if (last->op == OP_branch) block->next[block->next_count++] = block_of[last->target - begin];
        if (returns) block->next[block->next_count++] = exit;
        if ((!returns && last->op != OP_branch) || last->guard != NO_OPERAND)
            block->next[block->next_count++] = k + 1;
    }
    // The reversed graph as lists, and its postorder starting at the exit.
    int *first = parser_allocate(p, (count + 1) * sizeof(int)), *into = parser_allocate(p, 2 * count * sizeof(int));
    for (int k = 0; k < exit; k++)
        for (int n = 0; n < blocks[k].next_count; n++) first[blocks[k].next[n] + 1]++;
    for (int k = 0; k < count; k++) first[k + 1] += first[k];
    int *fill = parser_allocate(p, count * sizeof(int)), *stack = parser_allocate(p, 2 * count * sizeof(int));
    for (int k = 0; k < exit; k++)
        for (int n = 0; n < blocks[k].next_count; n++) into[first[blocks[k].next[n]] + fill[blocks[k].next[n]]++] = k;
    int *postorder = parser_allocate(p, count * sizeof(int)), ordered = 0, depth = 0;
    memset(fill, 0, count * sizeof(int));
    for (int k = 0; k < count; k++) blocks[k].order = -1, blocks[k].parent = -1;
    stack[depth++] = exit;
    blocks[exit].order = -2;
    while (depth) {
        int k = stack[depth - 1];
        if (first[k] + fill[k] < first[k + 1]) {
            int from = into[first[k] + fill[k]++];
            if (blocks[from].order == -1) blocks[from].order = -2, stack[depth++] = from;
        } else {
            blocks[k].order = ordered;
            postorder[ordered++] = k;
            depth--;
        }
    }
    blocks[exit].parent = exit;
    for (bool changed = true; changed;) {
        changed = false;
        for (int n = ordered - 2; n >= 0; n--) {
            Block *block = &blocks[postorder[n]];
            int parent = -1;
            for (int s = 0; s < block->next_count; s++) {
                int next = block->next[s];
                if (blocks[next].order < 0 || blocks[next].parent < 0) continue;
                parent = parent < 0 ? next : meet(blocks, parent, next);
            }
            if (parent != block->parent) block->parent = parent, changed = true;
        }
    }
    // A block without a path to the exit is in an endless loop. The two sides of its branches never meet.
    for (int k = 0; k < exit; k++) {
        int parent = blocks[k].parent;
        program->code[blocks[k].end - 1].join = parent < 0 || parent == exit ? -1 : blocks[parent].begin;
    }
}
