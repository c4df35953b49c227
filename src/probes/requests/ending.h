/*
 * The records of requests that end: how, and what they brought.
 *
 * completion.c says which requests a call has ended; here each becomes a record behind the call.
 */
#ifndef MPIT_PROBES_ENDING_H
#define MPIT_PROBES_ENDING_H

#include "requests/request.h"

/* Did this request fail? A truncated message has arrived, in the size that there was room for. */
bool request_failed(const MPI_Status *status, int result);
/* It is a receive whose message was cut off: *corrected is its status with the size that there was room for. MPICH's
 * still has what the library's request object brought the last time. */
bool request_cut_off(const struct request *request, const MPI_Status *status, int result, MPI_Status *corrected);
bool request_receives(const struct request *request);

/* Its record. `status` may be NULL: what it brought is not known. */
void request_record(struct log *log, struct request *request, const MPI_Status *status, bool failed);
/* The record of one that is active, and whose end will not be seen: its levels go down. */
void gone_record(struct log *log, const struct request *request, unsigned kind);
/* Takes the communicator in that a request has made, if it makes one and did not fail. Behind all records of the call:
 * a communicator that is made may take the place of one that nothing but a request in front referred to. */
void comm_completed(struct log *log, const struct request *request, const MPI_Status *status, int result);
/* The same when MPI_Request_get_status has found the request of this handle ended: the program may use and free the
 * communicator before it completes the request. */
void comm_told(struct log *log, uint64_t handle);

HOT void timeout_mark(struct event *event, const struct tally *tally)
{
    if (event->begin && tally->end - event->begin > COMPARED_LOAD(&knob_timeout_ticks))
        event->kind |= EVENT_TIMEOUT;
}

HOT bool kind_is_partitioned(unsigned kind)
{
    return kind == CALL_MPI_Psend_init || kind == CALL_MPI_Precv_init;
}

/* A partitioned receive brings what it was made for, whatever its status says. */
HOT bool received_whole(const struct posted *posted, const MPI_Status *status)
{
    return posted->kind == CALL_MPI_Precv_init && posted->peer >= 0 && status;
}

/* A receive that ended as nearly all do: its status says what it brought. */
HOT bool received_simply(const struct posted *posted, const MPI_Status *status)
{
    return posted->peer != PEER_PROC_NULL && posted->kind != CALL_MPI_Precv_init && status && status->MPI_SOURCE >= 0 &&
           !abi_status_cancelled(status);
}

/* Is the record of this request, which has ended, one that posted_record can write? */
HOT bool ended_simply(const struct posted *posted, const MPI_Status *status)
{
    unsigned type = posted->type & POSTED_TYPE;
    if (__builtin_expect(type == REQUEST_RECV, 1))
        return received_simply(posted, status) || received_whole(posted, status);
    return type <= REQUEST_IO || type == REQUEST_COLL;
}

/* The record of what has ended as nearly all do, each with the fold of its kind alone. */
void posted_record(struct log *log, const struct posted *posted, const MPI_Status *status);

#endif
