/*
 * UCX: ucp_worker_progress returns how many things have moved on, and 0 is a poll in vain. MPICH's ch4:ucx waits by it,
 * and so do Open MPI's pml ucx and osc ucx.
 */
#include "gate.h"
#include "stall.h"

#include <stddef.h>

extern unsigned ucp_worker_progress(void *worker);

static unsigned (*next_progress)(void *worker);

static bool find(void)
{
    if (!next_progress)
        next_progress = (unsigned (*)(void *))native_symbol_behind("ucp_worker_progress", "libucp.so");
    return next_progress != NULL;
}

bool stall_ucx_here(void)
{
    return find();
}

GATE(ucp_worker_progress);
unsigned ucp_worker_progress(void *worker)
{
    if (__builtin_expect(!next_progress, 0) && !find())
        return 0; /* nobody can have called it without having it */
    struct log *log = poll_begin();
    unsigned moved = next_progress(worker);
    if (log)
        poll_end(log, moved != 0);
    return moved;
}
