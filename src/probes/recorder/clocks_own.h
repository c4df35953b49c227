/*
 * What this process knows of its kernel's clock: a map to reference times, and the measurements that its run file has.
 */
#ifndef MPIT_PROBES_CLOCKS_OWN_H
#define MPIT_PROBES_CLOCKS_OWN_H

#include "clock/clockmap.h"

/* By the wall clock, until something is kept. Once: later calls do nothing. */
void clock_own_open(void);
const struct clock_map *clock_own_map(void);
/* Keeps a measurement; `reference`: this clock is the reference, and its map stays as it is. */
void clock_own_keep(struct clock_sync sync, bool reference);
/* A measurement of the reference clock against itself, now. */
struct clock_sync clock_own_now(void);
/* The same in all processes that share a counter, and another one elsewhere but for chance (64 bits). */
uint64_t clock_own_kernel(void);
/* What the run file says of how it went. Trouble is kept from the first time that there was some. */
void clock_own_say(enum clock_way way, enum clock_trouble trouble);

#endif
