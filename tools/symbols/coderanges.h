/*
 * Ranges of addresses with their owners: units, functions, symbols. They are added, sorted once, and then searched.
 */
#ifndef MPIT_TOOLS_CODERANGES_H
#define MPIT_TOOLS_CODERANGES_H

#include <stddef.h>
#include <stdint.h>

struct code_range {
    uint64_t low, high; /* `high` is after the last address */
    uint64_t reach;     /* the highest `high` up to here */
    uint64_t owner;     /* the caller's */
};

struct code_ranges {
    struct code_range *list;
    size_t count;
};

/* Adds a range. Without memory, or with millions of ranges, it is left out. */
void code_ranges_add(struct code_ranges *ranges, uint64_t low, uint64_t high, uint64_t owner);
void code_ranges_sort(struct code_ranges *ranges);
/* Returns the range that has the address, or NULL. Of several it prefers the last begin, then the shortest, then the
 * lowest owner. */
const struct code_range *code_ranges_find(const struct code_ranges *ranges, uint64_t address);

#endif
