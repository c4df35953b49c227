/*
 * Finds the begin of a function without a name. Stripped files still have unwind information for each function
 * (.eh_frame), and a sorted table of their begins (.eh_frame_hdr).
 *
 * This information is checked as far as possible: the entry of the table must cover the address.
 */
#ifndef MPIT_TOOLS_FUNCTIONSTART_H
#define MPIT_TOOLS_FUNCTIONSTART_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the begin of the function that covers the address, both as in the file. Returns false if none is known. */
bool function_start(Elf *elf, uint64_t address, uint64_t *start);

#endif
