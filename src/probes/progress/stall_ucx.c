/*
 * UCX: ucp_worker_progress returns the number of things that moved on. 0 is an empty poll. MPICH's ch4:ucx waits with
 * it, and so do Open MPI's pml ucx and osc ucx.
 */
#include "gate.h"
#include "progress/polling.h"

#include <stddef.h>

extern unsigned ucp_worker_progress(void *worker);

static struct native_behind progress = {.name = "ucp_worker_progress"};

/* A process may not have polled when MPI_Init returns. It is enough that the MPI library sees it. */
bool stall_ucx_here(void)
{
    return native_symbol(progress.name) != NULL;
}

static __attribute__((noinline)) unsigned progress_watched(void *worker, const void *caller)
{
    unsigned (*behind)(void *) = (unsigned (*)(void *))native_symbol_behind(&progress, caller);
    if (__builtin_expect(!behind, 0)) /* not defined: a weak reference, which finds this one */
        return 0;
    struct log *log = poll_begin();
    unsigned moved = behind(worker);
    if (log)
        poll_end(log, moved != 0);
    return moved;
}

GATE(ucp_worker_progress);
unsigned ucp_worker_progress(void *worker)
{
    unsigned (*behind)(void *) = (unsigned (*)(void *))native_symbol_known(&progress);
    struct log *log = thread_log;
    if (!behind || !poll_is_quick(log)) {
        if (behind && !log) /* a thread, or a program, without MPI */
            return behind(worker);
        return progress_watched(worker, __builtin_return_address(0));
    }
    uint64_t after = poll_quick_begin(log);
    unsigned moved = behind(worker);
    poll_quick_end(log, after, moved != 0);
    return moved;
}
