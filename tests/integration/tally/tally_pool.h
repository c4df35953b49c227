/*
 * The pool: every request in flight, in one array, with null and inactive ones between, so that each completion call
 * meets all of them.
 *
 *   requests[]   what the completion calls see
 *   entries[]    entries[i] tells what requests[i] stands for, and which book it is written into when it completes
 *
 * Memory that a request uses is the pool's, until pool_clear().
 */
#ifndef TALLY_POOL_H
#define TALLY_POOL_H

#include "tally_book.h"
#include "tally_draw.h"

enum { POOL_LIMIT = 512 };

enum pool_kind { POOL_NOTHING, POOL_SEND, POOL_RECV, POOL_COLLECTIVE, POOL_COMM };

struct pool_entry {
    enum pool_kind kind;
    struct book *book;
    bool active;
    bool persistent;
    bool cancelled;
    int peer;       /* as posted */
    uint64_t bytes; /* of a send */
    /* A receive: books what arrived. Without a status it has to know by itself. */
    void (*arrived)(const struct pool_entry *entry, const MPI_Status *status);
    void *batch, *message;
    enum book_op op; /* a collective */
    uint64_t in, out;
};

/* Puts a request in; the caller stores the request where the result points. Active entries are booked as posted. */
MPI_Request *pool_add(struct pool_entry entry);

/* The collective in `request`, a place of the pool, has been posted. */
void pool_collective_posted(MPI_Request *request, uint64_t in, uint64_t out);

/* Memory that lives until pool_clear(). */
void *pool_allocate(size_t bytes);

/* Null and inactive requests. */
void pool_add_nothing(struct book *book, struct draw *draw);

/* Starts every persistent request of the kind (POOL_SEND or POOL_RECV) that is inactive and meant to be started. */
void pool_start(enum pool_kind kind, struct draw *draw);

/* Cancels the receive in `request`, a place of the pool. */
void pool_cancel(MPI_Request *request);

/* Completes everything with calls of all kinds. */
void pool_drain(struct draw *draw);

/* Frees persistent requests and the pool's memory; nothing may be active. */
void pool_clear(void);

#endif
