/*
 * Reuse of the slots of freed communicators.
 *
 *   freed ──> comm ──> comm ──> ... ──> comm            in the order in which their last references were dropped
 *              └ the next communicator is made from it: same slot, views and cells. Its counts are added to a sum
 *                (commsum.h), and its record goes to the run file's past (commpast.h)
 *
 * A freed communicator keeps its slot and its figures until COMMS_KEPT others have been freed after it. So a program
 * that makes few shows all of them by name. It is used again only when it has no reference left:
 *
 *   holds   its own life, until MPI_Comm_free has returned. Living children (their end is charged to it). Windows and
 *           files that were made on it. Persistent requests, and others while threads run at once.
 *           Otherwise these are looked at (comm_pending_visit)
 *   bound   handles of MPI_T, whose readers must never see another communicator's values
 *   calls   calls of other threads on it, as their live states in the run file show
 *
 * New requests never refer to a freed communicator. So one scan of the requests that hold nothing is valid for all
 * communicators that were freed before it. The next scan is only needed for communicators freed since, or found then.
 *
 * Who may run with whom: `holds` belongs to the thread in MPI, with locked instructions only under MPI_THREAD_MULTIPLE.
 * Any thread changes `bound`. Everything else happens under the registry's lock, in a thread that makes or frees a
 * communicator. Only readers that walk through all communicators look at one without references. They see its cells
 * before or after.
 */
#ifndef MPIT_AGGREGATE_COMMREUSE_H
#define MPIT_AGGREGATE_COMMREUSE_H

#include "registry/book.h"

enum { COMMS_KEPT = 256, COMM_SUMS_MOST = 256 };

/* Calls `found` with the communicator of each request that does not hold it. NULL: there are no such requests. */
extern LIBRARY_LOCAL void (*comm_pending_visit)(void (*found)(struct comm *comm));

/* Called when the last reference was dropped. */
void comm_abandoned(struct comm *comm);

static inline void comm_hold(struct comm *comm)
{
    if (book_is_shared())
        __atomic_add_fetch(&comm->holds, 1, __ATOMIC_RELAXED);
    else
        comm->holds++;
}

/* Drops a reference. Release and acquire: all accesses by the other holders are done. */
static inline void comm_let_go(struct comm *comm)
{
    uint32_t left = book_is_shared() ? __atomic_sub_fetch(&comm->holds, 1, __ATOMIC_ACQ_REL) : --comm->holds;
    if (__builtin_expect(left == 0, 0))
        comm_abandoned(comm);
}

static inline void comm_bind(const struct comm *comm)
{
    __atomic_add_fetch(&((struct comm *)(uintptr_t)comm)->bound, 1, __ATOMIC_RELAXED);
}

static inline void comm_unbind(const struct comm *comm)
{
    __atomic_sub_fetch(&((struct comm *)(uintptr_t)comm)->bound, 1, __ATOMIC_RELEASE);
}

/* Returns a freed communicator's place for a new one, without a name, handle or figures. NULL: there is none that
 * may be used. `needed`: also one that would be kept. Called under the registry's lock. The record is complete again
 * after comm_describe (book.c). */
struct comm *comm_reuse(const struct comm_facts *facts, bool needed);

#endif
