/*
 * The records of requests that end: how, and with which message.
 *
 * completion.c finds the requests that a call has ended. Here each becomes a record after the call.
 */
#ifndef MPIT_PROBES_ENDING_H
#define MPIT_PROBES_ENDING_H

#include "requests/request.h"

/* True if this request failed. A truncated message has arrived, with the size of the receive buffer. */
bool request_failed(const MPI_Status *status, int result);
/* True if it is a receive whose message was truncated. *corrected is its status with the size of the receive buffer.
 * MPICH's status still has the size of the last message of the library's request object. */
bool request_cut_off(const struct request *request, const MPI_Status *status, int result, MPI_Status *corrected);
bool request_receives(const struct request *request);

/* Writes its record. `status` may be NULL: its message is not known. */
void request_record(struct log *log, const struct request *request, const MPI_Status *status, bool failed);
/* Writes the record of an active request whose end will be missed: its levels go down. */
void gone_record(struct log *log, const struct request *request, unsigned kind);
/* Adds the communicator that a request has made, if it makes one and did not fail. Call it after all records of the
 * call: the new communicator may take the place of one that only a request referred to. */
void comm_completed(struct log *log, const struct request *request, const MPI_Status *status, int result);
/* The same when MPI_Request_get_status has found the request of this handle complete. The program may use and free the
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

/* True for a message that is not large. */
HOT bool bytes_are_small(uint64_t bytes)
{
    if (__builtin_expect(bytes >= COMPARED_LOAD(&knob_small_limit), 0))
        return false;
    if (bytes >= SMALL_MOST) /* for the compiler, which cannot know that the limit is at most this */
        __builtin_unreachable();
    return true;
}

#endif
