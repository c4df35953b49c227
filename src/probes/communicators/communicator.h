/*
 * Communicators: from the program's handle to this thread's cells, and the names they get.
 *
 * How a communicator is named, commname.h says.
 */
#ifndef MPIT_PROBES_COMMUNICATOR_H
#define MPIT_PROBES_COMMUNICATOR_H

#include "communicators/commname.h"
#include "thread/log.h"

/* Looks the handle up in the thread's cache and in the book; NULL when it is not known. */
struct view *comm_view_find(struct log *log, uint64_t handle);
/* Takes a communicator in that was made out of mpit's sight; the handle must be valid. NULL: counted as lost. */
struct view *comm_view_learn(struct log *log, MPI_Comm comm);

HOT struct view *comm_view(struct log *log, MPI_Comm comm)
{
    uint64_t handle = abi_handle_of_comm(comm);
    struct ledger *ledger = &log->own;
    if (__builtin_expect(RELAXED_LOAD(&ledger->last.handle) == handle, 1))
        return ledger->last.view;
    return comm_view_find(log, handle);
}

/* The two that exist from the start; called once MPI is initialized. */
void comm_predefined_add(void);
/* That to the processes which spawned this one's world, if there are any and it is not known yet. */
void comm_parent_add(void);

/* Counts a creation out of `parent` (0 when the parent is not known). */
uint32_t comm_creation_number(struct view *parent);
/* Takes the new communicator in and records its creation, but for one that was made by a call that is not recorded. */
void comm_created(struct log *log, struct view *parent, const struct comm_origin *origin, MPI_Comm child,
                  enum call kind, bool quiet);

#endif
