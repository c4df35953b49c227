/* Collectives: blocking, nonblocking and persistent, of a whole communicator and of neighbors. */
#ifndef MPIT_PROBES_COLLECTIVES_H
#define MPIT_PROBES_COLLECTIVES_H

#include "wrappers/collective.h"
#include "requests/completion.h"
#include "wrappers/enter.h"
#include "wrappers/posting.h"

void leave_coll(struct probe *probe, enum call kind, int result, int32_t root, struct coll_bytes bytes);
void leave_icoll(struct probe *probe, enum call kind, int result, int32_t root, struct coll_bytes bytes,
                 const MPI_Request *request);
/* Leaves the call that makes a persistent collective. It counts as a call. A collective counts only when it is
 * started. */
void leave_coll_init(struct probe *probe, enum call kind, int result, int32_t root, struct coll_bytes bytes,
                     const MPI_Request *request);

/* Raises the begin of a collective for listeners. `call`: as for path_enter. */
void collective_announce(enum call kind, MPI_Comm comm, wrapper_call call);

HOT void collective_begins(enum call kind, MPI_Comm comm)
{
    if (__builtin_expect(listened(COLLECTIVE_BEGIN), 0))
        collective_announce(kind, comm, wrapper_called());
}

#endif
