/*
 * Collectives of all kinds, blocking or put into the pool. What a process puts in and gets out is reckoned from the
 * buffers' view; with MPI_IN_PLACE it counts as if the data had stood in the other buffer.
 */
#ifndef TALLY_COLLECTIVES_H
#define TALLY_COLLECTIVES_H

#include "tally_book.h"
#include "tally_draw.h"

void collective_run(struct book *book, enum book_op op, bool nonblocking, struct draw *draw);

#endif
