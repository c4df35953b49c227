/*
 * The job that the run files belong to: its ranks, their hosts, and one time line for all of them (timeline.h).
 *
 *   ranks[world rank] ──> run file, or NULL where there is none
 *        └ host  ──> hosts[]     one for each host name on each running kernel
 *
 * An archive has the time stamps of each node's own clock, and the corrections for a reader. They are zero if the nodes'
 * clocks were not measured. All processes of a kernel use one mapping, which keeps the order of the counter. Separate
 * mappings would differ by the error of the calibration. Over a long run this error is larger than the duration of a
 * message.
 *
 * Times are nanoseconds since the begin of the first process (line.origin_ns).
 */
#ifndef MPIT_TOOLS_TRACEJOB_H
#define MPIT_TOOLS_TRACEJOB_H

#include "calls.h"
#include "trace/tracecounters.h"
#include "trace/traceinstruments.h"
#include "trace/tracereport.h"
#include "job/select.h"
#include "job/timeline.h"

#include <stdbool.h>

/* The reasons why a part of a process is left out. */
enum trace_loss {
    TRACE_LOSS_MISSING,
    TRACE_LOSS_ORPHANS,
    TRACE_LOSS_UNKNOWN,
    TRACE_LOSS_COMM,
    TRACE_LOSS_ABSENT_COMM,
    TRACE_LOSS_PEER,
    TRACE_LOSS_OBJECT,
    TRACE_LOSS_LEFT_OUT,
    TRACE_LOSS_UNMATCHED,
    TRACE_LOSS_FOREIGN_SENT, /* these two are reported for all processes together */
    TRACE_LOSS_FOREIGN_RECEIVED,
    TRACE_LOSS_COUNT
};

enum { WORLD_SIZE_MAX = 1 << 20 }; /* a higher rank is a sign of damage */

struct trace_rank {
    const struct run_reader *run; /* NULL: no file */
    uint32_t host;
    bool ended;            /* it reached MPI_Finalize: its end is known */
    bool left_out;         /* by the selection: its location stays empty */
    bool starting;         /* it has a file without a rank, which was already reported */
    bool complete;         /* ended, with a complete trace */
    uint64_t *event_count; /* of the archive, by thread */
    uint64_t *written;     /* number of records in each thread's counter when the conversion began */
    uint64_t losses[TRACE_LOSS_COUNT];
};

struct archive_content;

struct trace_job {
    uint64_t job; /* its number */
    struct trace_rank *ranks;
    int32_t size;
    const struct run_header **hosts; /* of one process on each */
    size_t host_count;
    struct timeline line;                 /* of the processes that have a rank */
    struct trace_instruments instruments; /* their regions are numbered before the calls */
    struct trace_counters counters;       /* their metrics are numbered after the instruments */
    struct archive_content *archive;      /* what is written of it (otf2_content.h). NULL: no archive is made */
    bool tallies;                         /* there need not be a trace */
    bool in_part; /* a trace was switched on or off: messages and collectives cannot be matched, and are left out */
    /* likewise if a filter or MPI_Pcontrol may have removed one end of them */
    bool no_messages, no_collectives;
    bool paused;                       /* recording was off for a while in a process, so there are none either, */
    bool pauses_met;                   /* unless the caller matches what was recorded between such times */
    bool no_accesses, no_transfers;    /* of windows and files: some of their functions may be missing */
    const struct selection *selection; /* NULL: all of it */
    /* A communicator with processes of other jobs, which cannot be in the archive. NULL if there is none. */
    const char *foreign_name;
};

/* Returns 0, or -1 with the report's error set. Release it in both cases. */
int trace_job_open(struct trace_job *job, const struct run_reader *runs, size_t count, struct otf2_report *report);
/* The same for a caller that wants the counters of the files. A trace is not required. */
int trace_job_open_tallies(struct trace_job *job, const struct run_reader *runs, size_t count,
                           struct otf2_report *report);
/* The same for a caller that sees to times when recording was off (job->paused). */
int trace_job_open_pauses(struct trace_job *job, const struct run_reader *runs, size_t count,
                          struct otf2_report *report);
void trace_job_release(struct trace_job *job);
/* Selects a part of the job. `selection` must stay valid. */
void trace_job_select(struct trace_job *job, const struct selection *selection, struct otf2_report *report);

/* run_reader_wake, for the report. */
int trace_run_wake(const struct run_reader *run, struct otf2_report *report);

/* Returns nanoseconds since the origin. A time outside the process's life is moved to the nearer end. */
uint64_t trace_time(const struct trace_job *job, const struct trace_rank *rank, uint64_t ticks);
/* Returns the nearest time in the process's life. */
static inline uint64_t trace_life_bound(const struct trace_rank *rank, uint64_t ticks)
{
    const struct run_header *header = &rank->run->header;
    if (ticks < header->begin_ticks)
        ticks = header->begin_ticks;
    if (rank->ended && ticks > header->end_ticks)
        ticks = header->end_ticks;
    return ticks;
}

/* Returns the thread that represents the process, or 0 if it has none. */
uint32_t trace_rank_first_thread(const struct trace_rank *rank);
/* Returns whether this thread has a location in the archive. The first thread has one, even if it is not in the
 * file. */
bool trace_rank_has_location(const struct trace_rank *rank, uint32_t thread);
/* Returns the end of a loop over thread numbers. */
uint32_t trace_rank_thread_end(const struct trace_rank *rank);

/* Returns the number of records to write, of the ranks first, first + step, ... */
uint64_t trace_job_records(const struct trace_job *job, int32_t first, int32_t step);
/* Reports the losses of all ranks, in their order. */
void trace_losses_tell(const struct trace_job *job, struct otf2_report *report);

#endif
