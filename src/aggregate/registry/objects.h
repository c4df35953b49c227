/*
 * Windows and files: the communicator that each was made on, and its number among those on that communicator. The
 * members of the communicator make an object together. So all of them give it the same name.
 *
 * Lock-free to read, like commmap.h. Writers take the book's lock.
 */
#ifndef MPIT_AGGREGATE_OBJECTS_H
#define MPIT_AGGREGATE_OBJECTS_H

#include "registry/book.h"

/* What stands behind a handle; comm NULL: it was made out of sight. */
struct object {
    struct comm *comm;
    uint32_t number; /* 1, 2, ...; 0: not known */
    uint32_t unit;   /* of a file: in how many bytes its view counts; 0: not known */
};

struct object objects_find(const struct objects *objects, uint64_t handle);
/* Says so, or (comm NULL) forgets the handle. Call that before MPI can give the handle to another one. */
void objects_set(struct objects *objects, uint64_t handle, struct object object);
/* What a call works on; view NULL: it was made out of sight. */
struct accessed {
    struct view *view;
    struct object object;
};

/* What a thread's last calls on windows, or on files, were on: each entry is valid while nothing has changed since. */
enum { ACCESSED_PLACES = 8 };
struct accessed_entry {
    uint64_t handle, changes;
    struct accessed on;
};
struct accessed_last {
    struct accessed_entry last;                    /* the last call */
    struct accessed_entry before[ACCESSED_PLACES]; /* and some before, by their handles */
};

/* Looks it up, and remembers it as the thread's last. */
void objects_access(struct ledger *ledger, const struct objects *objects, uint64_t handle, struct accessed_last *last,
                    struct accessed *on);

/* Has nothing changed since it was looked up? Acquire: pairs with the release in objects_set. */
static inline bool accessed_holds(const struct objects *objects, const struct accessed_entry *entry)
{
    return entry->changes == __atomic_load_n(&objects->changes, __ATOMIC_ACQUIRE);
}

static inline void objects_look(struct ledger *ledger, const struct objects *objects, uint64_t handle,
                                struct accessed_last *last, struct accessed *on)
{
    if (__builtin_expect(last->last.handle == handle && accessed_holds(objects, &last->last), 1))
        *on = last->last.on;
    else
        objects_access(ledger, objects, handle, last, on);
}

/* The next number of an object on the communicator. */
uint32_t objects_count(struct comm *comm, enum object_kind kind);
/* Notes a name in the run file, while there are not too many. `slot`: of the communicator; 0: none. */
void objects_name(enum object_kind kind, uint32_t slot, uint32_t number, uint64_t ticks, const char *name);
/* A number for a name alone (OBJECT_DELETED). */
uint32_t objects_deleted(void);

#endif
