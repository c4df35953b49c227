/*
 * Finds the records of one communicator in several processes.
 *
 *   of_number[world rank][number] ──> comms[] ──> members[]     world rank of each rank in it
 *
 * Records with the same name belong together: names agree on all ranks (src/probes/communicators/communicator.c). If a
 * process has a name several times, its k-th record matches the k-th of the other processes. If two processes claim the
 * same rank, as after a split by host, records are separated by host. Members whose run file is missing are filled in
 * from the ranks without a file.
 *
 * Invariant: parents come before their children. The members of a communicator are distinct ranks of the job.
 */
#ifndef MPIT_TOOLS_TRACECOMMS_H
#define MPIT_TOOLS_TRACECOMMS_H

#include "trace/tracejob.h"

#define NO_COMM UINT32_MAX

struct trace_comm {
    const char *name;
    const char *label; /* the name that a member gave it (label.h), or "" for none */
    uint32_t parent;   /* index, or NO_COMM */
    bool self;         /* each member has its own: MPI_COMM_SELF and communicators made from it */
    bool inter;
    bool has_events; /* its creation is in the archive */
    bool partial;    /* some of its members are left out */
    int32_t size, remote_size;
    int32_t *members; /* NULL where self */
    int32_t *remote;  /* the other group of an inter-communicator */
};

struct trace_comms {
    struct trace_comm *list;
    size_t count;
    uint32_t **of_number; /* by rank, then by the communicator's number in the rank's file (reader.h) */
    int32_t ranks;
};

/* Returns 0, or -1 with the report's error set. Release it in both cases. */
int trace_comms_open(struct trace_comms *comms, struct trace_job *job, struct otf2_report *report);
void trace_comms_release(struct trace_comms *comms);
/* Marks the communicators with members that are left out. */
void trace_comms_select(struct trace_comms *comms, const struct trace_job *job);

/* Returns the communicator with this number in this process's file, or NO_COMM if it is not known. */
static inline uint32_t trace_comm_find(const struct trace_comms *comms, const struct trace_job *job, int32_t world_rank,
                                       uint32_t number)
{
    const struct run_reader *run = job->ranks[world_rank].run;
    return run && number < run->comm_count ? comms->of_number[world_rank][number] : NO_COMM;
}

/* Returns the number of ranks that a message may come from or go to, as seen from this member. */
static inline int32_t trace_comm_peers(const struct trace_comm *comm, const struct comm_record *record)
{
    return comm->inter ? record->remote_size : record->size;
}

#endif
