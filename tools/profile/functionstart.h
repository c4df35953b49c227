/*
 * Where a function begins whose name nobody knows: stripped files still say for each function how its stack is unwound
 * (.eh_frame), and in a sorted table where each one begins (.eh_frame_hdr).
 *
 * What a file says there is believed as far as it can be checked: the entry of the table has to cover the address.
 */
#ifndef MPIT_TOOLS_FUNCTIONSTART_H
#define MPIT_TOOLS_FUNCTIONSTART_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/* The begin of the function that covers the address, both as in the file. False: none is known to. */
bool function_start(Elf *elf, uint64_t address, uint64_t *start);

#endif
