/*
 * Timers: that they add up, and that a delay of known length is seen where it was.
 */
#ifndef TALLY_CLOCKS_H
#define TALLY_CLOCKS_H

#include "tally_book.h"
#include "tally_draw.h"

/* The times of one communicator add up. */
void clocks_check_comm(const struct book *book);

/* The times of the process, from open to check. */
void clocks_open(void);
void clocks_check(void);

/* Process 1 of `world` is late, and process 0 waits. */
void clocks_check_delay(struct book *world, struct draw *draw, struct draw *own);

#endif
