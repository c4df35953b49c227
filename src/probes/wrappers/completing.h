/* Calls that complete, start, free or name requests (completion.h). */
#ifndef MPIT_PROBES_COMPLETING_H
#define MPIT_PROBES_COMPLETING_H

#include "requests/completion.h"
#include "wrappers/enter.h"

/* ---- calls on one request ---------------------------------------------------------------------------------------- */

/* A call's knowledge of its request: the handle, which MPI overwrites, and the request. */
struct single {
    uint64_t saved;
    struct request *taken;
};

HOT bool enter_single(struct probe *probe, struct single *single, enum call kind, const MPI_Request *request)
{
    if (!enter_call(probe, kind))
        return false;
    single->saved = request ? abi_handle_of_request(*request) : 0;
    single->taken = single_take(single->saved, request);
    return true;
}

/* `ended`: the call has returned it complete, or failed. */
HOT void leave_single(struct probe *probe, const struct single *single, enum call kind, MPI_Request *request,
                      int result, bool ended, const MPI_Status *status)
{
    single_leave(probe, kind, request, single->saved, single->taken, result, ended, status);
}

HOT void leave_start(struct probe *probe, const struct single *single, enum call kind, MPI_Request *request, int result)
{
    start_leave(probe, kind, request, single->saved, single->taken, result);
}

/* Raises the begin of persistent collectives for listeners. */
void starting_announce(enum call kind, int count, const MPI_Request *requests, wrapper_call call);

HOT void starting_begins(enum call kind, int count, const MPI_Request *requests)
{
    if (__builtin_expect(listened(COLLECTIVE_BEGIN), 0))
        starting_announce(kind, count, requests, wrapper_called());
}

/* ---- calls on several -------------------------------------------------------------------------------------------- */

/* `own_statuses`: the program passed no statuses. mpit asks for them all the same, because they describe the
 * messages. */
HOT bool enter_many(struct completion *c, enum call kind, int count, MPI_Request *requests, bool own_statuses)
{
    if (!enter_call(&c->probe, kind))
        return false;
    if (__builtin_expect((unsigned)count - 1 >= COMPLETION_FEW || !requests || book_is_shared(), 0)) {
        completion_take(c, kind, count, requests, own_statuses);
        return true;
    }
    c->kind = kind;
    c->handles = requests;
    c->count = count;
    c->done_count = c->quiet_count = 0;
    few_lay(c, own_statuses, false);
    for (int i = 0; i < count; i++)
        c->saved[i] = abi_handle_of_request(requests[i]);
    return true;
}

HOT MPI_Status *statuses_wanted(const struct completion *c, MPI_Status *statuses)
{
    return statuses == MPI_STATUSES_IGNORE && c->statuses ? c->statuses : statuses;
}

HOT const MPI_Status *statuses_known(const MPI_Status *statuses)
{
    return statuses == MPI_STATUSES_IGNORE ? NULL : statuses;
}

HOT void leave_all(struct completion *c, int result, bool ended, const MPI_Status *statuses)
{
    if (ended)
        completion_flush_all(c, result, statuses_known(statuses), 0);
    else
        completion_flush(c, result);
}

HOT void leave_any(struct completion *c, int result, bool ended, const int *index, const MPI_Status *status)
{
    if (ended && index && *index >= 0)
        completion_any(c, *index, result, status);
    else
        completion_flush(c, result);
}

HOT void leave_some(struct completion *c, int result, const int *outcount, const int *indices,
                    const MPI_Status *statuses)
{
    completion_done_some(c, result, outcount ? *outcount : 0, indices, statuses_known(statuses));
    completion_flush(c, result);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

HOT bool enter_free(struct completion *c, enum call kind, MPI_Request *request)
{
    if (!enter_call(&c->probe, kind))
        return false;
    completion_take_freed(c, kind, request);
    return true;
}

/* A call that names a request and completes nothing. `begin`: when the request that it found under way was posted, or
 * 0. */
void leave_named(struct probe *probe, enum call kind, int result, uint64_t begin);
/* It must not touch the request: another thread may be completing it. */
void leave_cancel(struct probe *probe, enum call kind, int result, const MPI_Request *request);
void leave_get_status(struct probe *probe, enum call kind, int result, MPI_Request request, const int *flag);
/* The call has found `complete` of the requests complete. `indices`: which ones. NULL: all from the first one on. */
void leave_get_statuses(struct probe *probe, enum call kind, int result, const MPI_Request *requests, int complete,
                        const int *indices);

#endif
