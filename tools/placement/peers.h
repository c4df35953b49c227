/*
 * Messages that each rank sent to each other rank, from the counters that processes have for their peers. They need no trace.
 *
 *   counters of a process, by communicator and rank in it ──> ranks in MPI_COMM_WORLD, by the communicators of all processes
 */
#ifndef MPIT_TOOLS_PEERS_H
#define MPIT_TOOLS_PEERS_H

#include "job/rundir.h"
#include "trace/tracecomms.h"

struct peers {
    struct trace_job job;
    struct trace_comms comms;
};

struct peer_messages {
    int32_t from, to; /* `to` is -1: the receiver is not known */
    const char *comm; /* its name, COMM_NAME_BYTES */
    uint64_t messages, bytes;
};

/* Returns 0, or -1 with the report's error set. Release it in both cases. */
int peers_open(struct peers *peers, const struct run_job *job, struct otf2_report *report);
void peers_release(struct peers *peers);
/* Calls `take` for each rank, communicator and peer with messages. It returns 0, or -1 without memory. */
int peers_walk(const struct peers *peers, const struct run_job *job, struct otf2_report *report, void *data,
               int (*take)(void *data, const struct peer_messages *messages));

#endif
