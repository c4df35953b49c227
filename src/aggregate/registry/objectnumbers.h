/*
 * Windows and files: the communicator that each was made on, and its number on that communicator. The members of the
 * communicator make an object together. So all of them give it the same name.
 *
 * Lock-free to read, like commmap.h. Writers take the registry's lock.
 */
#ifndef MPIT_AGGREGATE_OBJECTNUMBERS_H
#define MPIT_AGGREGATE_OBJECTNUMBERS_H

#include "registry/book.h"

/* The object of a handle. comm NULL: mpit has not seen it being made. */
struct object {
    struct comm *comm;
    uint32_t number; /* 1, 2, and so on. 0: not known */
    uint32_t unit;   /* of a file: the number of bytes of one unit of its view. 0: not known */
};

struct object objects_find(const struct objects *objects, uint64_t handle);
/* Stores that object, or (comm NULL) forgets the handle. Call the latter before MPI can reuse the handle. */
void objects_set(struct objects *objects, uint64_t handle, struct object object);
/* The object that a call uses. view NULL: mpit has not seen it being made. */
struct accessed {
    struct view *view;
    struct object object;
};

/* The objects of a thread's last calls on windows, or on files. Each entry is valid until something changes. */
enum { ACCESSED_PLACES = 8 };
struct accessed_entry {
    uint64_t handle, changes;
    struct accessed on;
};
struct accessed_last {
    struct accessed_entry last;                    /* the last call */
    struct accessed_entry before[ACCESSED_PLACES]; /* and some before, by their handles */
};

/* Looks the handle up, and stores it as the thread's last. */
void objects_access(struct ledger *ledger, const struct objects *objects, uint64_t handle, struct accessed_last *last,
                    struct accessed *on);

/* True if nothing has changed since it was looked up. Acquire: pairs with the release in objects_set. */
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
/* Stores a name in the run file, unless there are too many. `slot` of the communicator. 0: none. */
void objects_name(enum object_kind kind, uint32_t slot, uint32_t number, uint64_t ticks, const char *name);
/* A number for a name without an object (OBJECT_DELETED). */
uint32_t objects_deleted(void);

#endif
