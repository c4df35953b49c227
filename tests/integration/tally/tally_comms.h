/*
 * Communicators of every kind that the recorder knows how to name, each with a book (and, under mpit, handles that are
 * started before anything is sent on it).
 */
#ifndef TALLY_COMMS_H
#define TALLY_COMMS_H

#include "tally_book.h"
#include "tally_draw.h"

enum comm_kind {
    COMM_DUP,
    COMM_DUP_WITH_INFO,
    COMM_IDUP,
    COMM_SPLIT,
    COMM_SPLIT_SOME, /* the parent's last process gets none */
    COMM_SPLIT_TYPE,
    COMM_CREATE, /* of a group without one process */
    COMM_CART,
    COMM_CART_SUB, /* of a parent that is a grid; else a duplicate */
    COMM_KINDS,
};

/* Bind handles to communicators from now on. */
void comms_watch(bool watch);

struct book *comm_open(MPI_Comm comm, const char *name, uint64_t key);

/* NULL where this process has no part in the new communicator. `draw` is the same on all the parent's processes. */
struct book *comm_make(struct book *parent, enum comm_kind kind, const char *name, struct draw *draw, struct draw *own);

/* Releases the handles and the book; frees the communicator unless it is predefined. */
void comm_drop(struct book *book, struct book *parent);

#endif
