/*
 * The neighbors of this process in a topology, as a neighborhood collective sees them: how many blocks it gets and puts
 * in, and which places have no process (the edge of a Cartesian grid that is not periodic).
 *
 * MPI is asked once a communicator: when it is made, if there is a trace, or at its first neighborhood collective. The
 * answer stays with the communicator until its place is used again. Threads that ask at once agree on one answer.
 */
#ifndef MPIT_PROBES_TOPOLOGY_H
#define MPIT_PROBES_TOPOLOGY_H

#include "registry/book.h"
#include "native.h"

struct log;

struct topology {
    int32_t sources, destinations; /* blocks of the buffers, one a neighbor */
    int32_t senders, receivers;    /* of these: processes */
    bool edged;                    /* some are MPI_PROC_NULL, of sources and destinations alike */
    bool unknown;                  /* it is not known which these are: */
    int ranks[];                   /* the sources */
};

const struct topology *topology_learn(struct comm *comm, MPI_Comm handle);

static inline const struct topology *topology_of(struct comm *comm, MPI_Comm handle)
{
    const struct topology *known = __atomic_load_n(&comm->topology, __ATOMIC_ACQUIRE); /* pairs with topology_learn */
    return known ? known : topology_learn(comm, handle);
}

/* Records the sources of a new communicator, if it has a topology and there is a trace. First a record without a
 * process: it has one. Call it after the record of its creation. */
void topology_record(struct log *log, MPI_Comm comm);

#endif
