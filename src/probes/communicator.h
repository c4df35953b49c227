/*
 * Communicators: from the program's handle to this thread's cells, and the names they get.
 *
 * A name is the same on all ranks of the communicator and costs no communication:
 *
 *     PARENT/OPERATION#K            K: how many communicators had been made out of the parent, this one included
 *     PARENT/split#K:COLOR          what distinguishes the children of one call
 *     PARENT/create#K:GROUP         GROUP: hash of the members' ranks in MPI_COMM_WORLD, in hexadecimal
 */
#ifndef MPIT_PROBES_COMMUNICATOR_H
#define MPIT_PROBES_COMMUNICATOR_H

#include "log.h"

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

/* How a child's name differs from its parent's. */
struct comm_origin {
    const char *operation;
    bool has_color; /* by colour, else by group where `by_group` says so */
    int color;
    bool by_group;
    uint32_t number; /* of the creation, in the parent */
};

/* Counts a creation out of `parent` (0 when the parent is not known). */
uint32_t comm_creation_number(struct view *parent);
/* Takes the new communicator in and records its creation, but for one that was made by a call that is not recorded. */
void comm_created(struct log *log, struct view *parent, const struct comm_origin *origin, MPI_Comm child, bool quiet);

#endif
