/*
 * Communicators: from the program's handle to this thread's counters, and the names they get.
 *
 * commname.h says how a communicator is named.
 */
#ifndef MPIT_PROBES_COMMUNICATOR_H
#define MPIT_PROBES_COMMUNICATOR_H

#include "communicators/commname.h"
#include "thread/log.h"

/* Finds the handle in the thread's cache or in the registry. Returns NULL if it is not known. */
struct view *comm_view_find(struct log *log, uint64_t handle);
/* Adds a communicator whose making was not seen. The handle must be valid. NULL: counted as lost. */
struct view *comm_view_learn(struct log *log, MPI_Comm comm);

HOT struct view *comm_view(struct log *log, MPI_Comm comm)
{
    uint64_t handle = abi_handle_of_comm(comm);
    struct ledger *ledger = &log->own;
    if (__builtin_expect(RELAXED_LOAD(&ledger->last.handle) == handle, 1))
        return ledger->last.view;
    return comm_view_find(log, handle);
}

/* Adds the two communicators that exist from the start. Call it when MPI is initialized. */
void comm_predefined_add(void);
/* Adds the communicator to the processes that spawned this world, if there are any and it is not known yet. */
void comm_parent_add(void);

/* Counts a creation out of `parent`, and returns the count. 0: the parent is not known. */
uint32_t comm_creation_number(struct view *parent);
/* Adds the new communicator, and records its creation. If the call that made it is not recorded, only adds it. */
void comm_created(struct log *log, struct view *parent, const struct comm_origin *origin, MPI_Comm child,
                  enum call kind, bool quiet);

#endif
