/*
 * Calls that post a request: nonblocking, persistent and partitioned messages, generalized requests.
 *
 * Partitioned requests are persistent. Each start of one is one message, of all partitions together. Calls on single
 * partitions are charged to the communicator of the request. A map of its own has it (book.partitioned), because the
 * request may be in a completion call of another thread.
 *
 * A generalized request is not a message, and is on no communicator. It is known, so that its completion does not count
 * as missed.
 */
#ifndef MPIT_PROBES_POSTING_H
#define MPIT_PROBES_POSTING_H

#include "requests/request.h"
#include "wrappers/enter.h"

void leave_isend(struct probe *probe, enum call kind, MPI_Comm comm, int result, int dest, int tag, int64_t count,
                 MPI_Datatype type, const MPI_Request *request);
void leave_irecv(struct probe *probe, enum call kind, MPI_Comm comm, int result, int source, int tag, int64_t count,
                 MPI_Datatype type, const MPI_Request *request);
/* A persistent request is made. It counts as a call. A message counts only when it is started. */
void leave_init(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, int result, int peer,
                int tag, uint64_t bytes, const MPI_Request *request);
void leave_partitioned_init(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, int result,
                            int peer, int tag, uint64_t bytes, const MPI_Request *request);
void leave_grequest(struct probe *probe, enum call kind, int result, const MPI_Request *request);
/* A flush of buffered messages was posted, which were counted as sends. */
void leave_iflush(struct probe *probe, enum call kind, int result, const MPI_Request *request);

/* A call on partitions of a request. Call it after probe_open. */
void partition_begin(struct probe *probe, enum call kind, MPI_Request request);
void leave_partition(struct probe *probe, enum call kind, int result);

HOT bool enter_partition(struct probe *probe, enum call kind, MPI_Request request)
{
    if (!probe_open(probe))
        return false;
    partition_begin(probe, kind, request);
    return true;
}

/* Both halves of a nonblocking sendrecv, as far as they are known before the call: peers, tags, bytes. */
struct halves {
    struct event send, receive;
};

struct halves halves_of(struct log *log, int result, int dest, int sendtag, int64_t sendcount, MPI_Datatype sendtype,
                        int source, int recvtag, int64_t recvcount, MPI_Datatype recvtype);
void leave_isendrecv(struct probe *probe, enum call kind, MPI_Comm comm, int result, struct halves halves,
                     const MPI_Request *request);

/* ---- for all that post ------------------------------------------------------------------------------------------- */

HOT struct posted posted_of(const struct probe *probe, enum call kind, enum request_type type,
                            const struct event *event, const MPI_Request *where)
{
    return (struct posted){.view = probe->view,
                           .begin = probe->begin,
                           .where = where,
                           .bytes = event->bytes,
                           .peer = event->peer,
                           .tag = event->tag,
                           .kind = (uint16_t)kind,
                           .type = (uint8_t)type,
                           .path = probe_path(probe),
                           .quiet = probe_is_quiet(probe)};
}

/* Puts the request that the call has posted into the table, under the handle that MPI returned. The call's leave ends
 * with posted_finish. Returns it, or NULL: there was no memory for it. */
struct request *request_post(struct probe *probe, const struct posted *posted, uint64_t handle);
/* The same for a message. Without memory its level goes down at once. */
void message_post(struct probe *probe, enum call kind, enum request_type type, const struct event *event,
                  const MPI_Request *where);

#endif
