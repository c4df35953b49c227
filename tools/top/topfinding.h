/*
 * The sentence of mpit-top about the last interval: what stands out in the efficiencies (efficiency.h).
 *
 * Pure: no file, no clock, no global state.
 */
#ifndef MPIT_TOOLS_TOPFINDING_H
#define MPIT_TOOLS_TOPFINDING_H

#include "waiting/ward.h"
#include "summary/efficiency.h"

enum { TOP_FINDING_BYTES = RANKS_TEXT_BYTES + 96 };

/* Writes a sentence about the processes, whose efficiencies are `is` and whose ranks are in ranks[]. Writes "" if the
 * efficiencies are not known, or without memory. */
void finding_write(char text[TOP_FINDING_BYTES], const struct efficiency *is, const struct efficiency_part *parts,
                   const int32_t *ranks, size_t count);

#endif
