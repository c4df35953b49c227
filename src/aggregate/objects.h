/*
 * Windows and files: which communicator each was made on, and the how manieth it is of those that were made on it. By
 * both, all processes call an object the same: they make it together.
 *
 * Lock-free to read, as commmap.h; writers take the book's lock.
 */
#ifndef MPIT_AGGREGATE_OBJECTS_H
#define MPIT_AGGREGATE_OBJECTS_H

#include "book.h"

/* What stands behind a handle; comm NULL: it was made out of sight. */
struct object {
    struct comm *comm;
    uint32_t number; /* 1, 2, ...; 0: not known */
};

struct object objects_find(const struct objects *objects, uint64_t handle);
/* Says so, or (comm NULL) forgets the handle. Call that before MPI can give the handle to another one. */
void objects_set(struct objects *objects, uint64_t handle, struct object object);
/* The next number of an object on the communicator. */
uint32_t objects_count(struct comm *comm, enum object_kind kind);
/* Notes a name in the run file, while there are not too many. `slot`: of the communicator; 0: none. */
void objects_name(enum object_kind kind, uint32_t slot, uint32_t number, uint64_t ticks, const char *name);
/* A number for a name alone (OBJECT_DELETED). */
uint32_t objects_deleted(void);

#endif
