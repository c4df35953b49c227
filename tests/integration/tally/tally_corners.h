/*
 * Point-to-point traffic outside of batches. Each leaves nothing in flight, but what it has put into the pool
 * (corner_null, corner_cancel); those are drained by the caller.
 */
#ifndef TALLY_CORNERS_H
#define TALLY_CORNERS_H

#include "tally_book.h"
#include "tally_draw.h"

/* Every function with MPI_PROC_NULL: calls, and no messages. */
void corner_null(struct book *book, struct draw *own);

/* Receives that nothing is ever sent to, cancelled. */
void corner_cancel(struct book *book, struct draw *own);

/* Sendrecv and Sendrecv_replace around the communicator, or along it with nobody at the ends. */
void corner_shift(struct book *book, struct draw *draw);

/* Persistent requests between neighbours, started again and again. */
void corner_ring(struct book *book, struct draw *draw, struct draw *own);

#endif
