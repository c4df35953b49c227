/*
 * Counters of single windows and files, for the variables of MPI_T that are bound to them (livevariables.h).
 *
 * Most objects have no counters. The first handle on an object makes them. They stay until the object is freed and the
 * last of its handles is gone. Then another object may get them, in the same chain. They are never unmapped.
 *
 *   chains[hash of the key] ──> object_cells ──> object_cells
 *
 * The key identifies the object: its kind, the slot of its communicator, its number. A communicator keeps its slot
 * while there is an object on it, and an object in use is not freed. So a call that finds the key of its object may add
 * to the counters of that entry. When the object is freed, the key becomes 0.
 *
 * Calls come here only while a handle of such a variable is started (DEMAND_OBJECTS, knob_object_ticks).
 *
 * Who may run with whom: object_cells_acquire takes the book's lock. Everything else is lock-free, from any thread.
 */
#ifndef MPIT_AGGREGATE_OBJECTCELLS_H
#define MPIT_AGGREGATE_OBJECTCELLS_H

#include "settings/knobs.h"
#include "registry/objects.h"

enum object_cell { OBJECT_COUNT, OBJECT_BYTES, OBJECT_TIME, OBJECT_CELLS };

struct object_cells {
    struct object_cells *next;
    uint64_t key;     /* 0: the object has been freed */
    uint32_t handles; /* that refer to it */
    uint64_t cells[OBJECT_CELLS];
};

/* The counters of the object, for one more handle; *cells NULL: no memory. False: no such object is known. */
bool object_cells_acquire(enum object_kind kind, uint64_t handle, struct object_cells **cells);
void object_cells_release(struct object_cells *cells);

static inline bool object_cells_live(const struct object_cells *cells)
{
    return __atomic_load_n(&cells->key, __ATOMIC_ACQUIRE) != 0;
}

/* The object was freed, and the book has forgotten it. Call that before its communicator is let go. */
void object_cells_close(enum object_kind kind, const struct object *object);

/* Adds the event of a call of so many ticks, or the record of an access that has completed, to the counters. */
void object_cells_add(enum object_kind kind, const struct event *event, uint64_t ticks);

/* Does somebody ask for the counters, so that events have to be added? */
static inline bool object_cells_wanted(void)
{
    return __builtin_expect(RELAXED_LOAD(&knob_object_ticks) == 0, 0);
}

#endif
