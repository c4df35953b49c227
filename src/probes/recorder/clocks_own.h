/* This process's knowledge of its kernel's clock: a map to reference times, and the measurements in its run file. */
#ifndef MPIT_PROBES_CLOCKS_OWN_H
#define MPIT_PROBES_CLOCKS_OWN_H

#include "clock/clockmap.h"

/* By the wall clock, until a measurement is kept. Later calls do nothing. */
void clock_own_open(void);
const struct clock_map *clock_own_map(void);
/* Keeps a measurement. `reference`: this clock is the reference, and its map stays as it is. */
void clock_own_keep(struct clock_sync sync, bool reference);
/* Returns a measurement of the reference clock against itself, now. */
struct clock_sync clock_own_now(void);
/* Returns a number that is the same in all processes that share a counter. Others differ, except by chance (64
 * bits). */
uint64_t clock_own_kernel(void);
/* Stores in the run file how it went. The first trouble is kept. */
void clock_own_say(enum clock_way way, enum clock_trouble trouble);

#endif
