/*
 * The job that the run files belong to: its ranks, their hosts, and one time line for all of them (timeline.h).
 *
 *   ranks[world rank] ──> run file, or NULL where there is none
 *        └ host  ──> hosts[]     one for each host name on each running kernel
 *
 * The archive has the time stamps as each node's own clock had them, and ClockOffset records that say what a reader has
 * to add: zero where the nodes' clocks were not measured. One mapping for all processes of a kernel keeps the order
 * that the counter has; mappings of their own would differ by the error of the calibration, which over a long run is
 * more than a message takes.
 *
 * Times are nanoseconds since the begin of the first process (line.origin_ns).
 */
#ifndef MPIT_TOOLS_OTF2_JOB_H
#define MPIT_TOOLS_OTF2_JOB_H

#include "calls.h"
#include "otf2_instruments.h"
#include "otf2_report.h"
#include "select.h"
#include "timeline.h"

#include <stdbool.h>

struct trace_rank {
    const struct run_reader *run; /* NULL: no file */
    uint32_t host;
    bool ended;            /* it reached MPI_Finalize: its end is known */
    bool left_out;         /* by the selection: its location stays empty */
    bool complete;         /* ended, and nothing of its trace is missing */
    uint64_t *event_count; /* of the archive, by thread */
    uint64_t *written;     /* how many records each thread's cell had counted when the conversion began */
};

struct trace_job {
    struct trace_rank *ranks;
    int32_t size;
    const struct run_header **hosts; /* of one process on each */
    size_t host_count;
    struct timeline line;             /* of the processes that have a rank */
    uint64_t last_ns;                 /* of the events written so far: the later of stamp and time */
    uint32_t region_of[CALL_COUNT];   /* + 1; 0: not used yet. Readers want regions numbered in order, without gaps */
    uint16_t region_kind[CALL_COUNT]; /* of calls, by region */
    uint32_t region_count;
    struct trace_instruments instruments; /* their regions have the numbers before those of calls */
    bool in_part; /* a trace was switched on or off: messages and collectives cannot be matched, and are left out */
    /* likewise where a filter or MPI_Pcontrol may have taken one end of them */
    bool no_messages, no_collectives;
    bool no_accesses, no_transfers;    /* of windows and files: some of their functions may be missing */
    const struct selection *selection; /* NULL: all of it */
    /* A communicator that has processes of other jobs, and cannot be in the archive; NULL: there is none. What was sent
     * and received on all of them, and is left out. */
    const char *foreign_name;
    uint64_t foreign_sent, foreign_received;
};

/* Returns 0, or -1 with the report's error set. Release it in both cases. */
int trace_job_open(struct trace_job *job, const struct run_reader *runs, size_t count, struct otf2_report *report);
void trace_job_release(struct trace_job *job);
/* Takes only a part of it, which has to stay there. */
void trace_job_select(struct trace_job *job, const struct selection *selection, struct otf2_report *report);

/* run_reader_wake, for the report. */
int trace_run_wake(const struct run_reader *run, struct otf2_report *report);

/* Nanoseconds since the origin. What lies outside of the process's life is moved to its nearer end. */
uint64_t trace_time(const struct trace_job *job, const struct trace_rank *rank, uint64_t ticks);
/* The same as the node's own clock had it: what the archive holds, with ClockOffset records beside it. */
uint64_t trace_stamp(const struct trace_job *job, const struct trace_rank *rank, uint64_t ticks);

/* The thread that stands for the process; 0 when it has none. */
uint32_t trace_rank_first_thread(const struct trace_rank *rank);
/* Does this thread have a location in the archive? The first one has, whether the file knows it or not. */
bool trace_rank_has_location(const struct trace_rank *rank, uint32_t thread);
/* How many threads to ask for. */
uint32_t trace_rank_thread_end(const struct trace_rank *rank);

/* The region of a call, a new one when it is used first. */
uint32_t trace_region(struct trace_job *job, unsigned kind);

static inline uint64_t trace_location(int32_t world_rank, uint32_t thread)
{
    return (uint64_t)thread << 32 | (uint32_t)world_rank;
}

#endif
