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
 * Who may run with whom: object_cells_acquire takes the registry's lock. Everything else is lock-free, from any thread.
 */
#ifndef MPIT_AGGREGATE_OBJECTCELLS_H
#define MPIT_AGGREGATE_OBJECTCELLS_H

#include "settings/knobs.h"
#include "registry/objectnumbers.h"

enum object_cell { OBJECT_COUNT, OBJECT_BYTES, OBJECT_TIME, OBJECT_CELLS };

struct object_cells {
    struct object_cells *next;
    uint64_t key;     /* 0: the object was freed */
    uint32_t handles; /* number of its handles */
    uint64_t cells[OBJECT_CELLS];
};

/* The counters of the object, for one more handle. *cells NULL: no memory. Returns false if no such object is known. */
bool object_cells_acquire(enum object_kind kind, uint64_t handle, struct object_cells **cells);
void object_cells_release(struct object_cells *cells);

static inline bool object_cells_live(const struct object_cells *cells)
{
    return __atomic_load_n(&cells->key, __ATOMIC_ACQUIRE) != 0;
}

/*
 * Called when the object was freed, and the registry has forgotten it. Call it before the reference to its communicator
 * is dropped.
 */
void object_cells_close(enum object_kind kind, const struct object *object);

/* Adds the event of a call of `ticks`, or the record of a completed access, to the counters. */
void object_cells_add(enum object_kind kind, const struct event *event, uint64_t ticks);

/* True if the counters are wanted, so that events must be added. */
static inline bool object_cells_wanted(void)
{
    return __builtin_expect(RELAXED_LOAD(&knob_object_ticks) == 0, 0);
}

#endif
