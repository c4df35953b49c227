/*
 * The running jobs, as seen in the files of their processes. mpit-top and mpit-exporter use them.
 *
 *   live ── jobs[] ──> processes[] ──> run_reader      one for each process: only tables, no events
 *        └─ finder: the files that are known, open or not (livefind.h)
 *
 * How they are found: every process of this user (or of all users) on this node holds its run file open, in a spool or
 * in memory (/proc/PID/fd), or its file is in a spool of the user. A spool also has the files of dead processes. /proc is scanned once in LIVE_SCAN_NS, and less often if
 * that takes long. A named path (a run directory, a run file) is read instead, whether its processes live or not.
 *
 * The program takes no part. Files are mapped read-only, and their contents are not trusted. If a file cannot be read
 * at a look (it is just being made, damaged, or gone), `problem` has the reason, and the next look tries again. A file
 * is opened again when its tables have changed. Most looks find no change, and read one page of a process. The results
 * of a look are valid until the next look. One thread.
 *
 * A process that has ended stays, with its last figures, even if its file is gone. So does a job, for LIVE_ENDED_NS,
 * with `alive` false. A job of named paths stays to the end. Processes that are still in MPI_Init have no job yet. They
 * are together under number 0.
 *
 * A file may be truncated while it is mapped. Reads then return zeros, and live_is_whole returns false. A caller that
 * has read the counters of a process must ask it, and drop its results. (The guard is a handler of SIGBUS, from
 * live_files_open on.)
 */
#ifndef MPIT_TOOLS_LIVE_H
#define MPIT_TOOLS_LIVE_H

#include "base/linkage.h"
#include "reader/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LIVE_SCAN_NS UINT64_C(1000000000)
#define LIVE_ENDED_NS UINT64_C(30000000000)

struct live_process {
    char *path;            /* of its run file, or /proc/PID/fd/N for a file in memory */
    bool readable;         /* `run` is open */
    struct run_reader run; /* its tables, without chunks, so no events can be read from it */
    bool here;             /* it can be seen from here: of this node, and not in a container apart */
    bool clock;            /* it uses the clocks of this node's kernel */
    pid_t pid;             /* its number here. 0: it is not here */
    bool alive;            /* it still exists, even after MPI_Finalize. If it is not here: no end is recorded */
    uint64_t now_ticks;    /* time of the look by its clock. After its end: the end, as far as known */
    uint64_t now_ns;       /* the same since its begin */
    char problem[512];     /* "" */
};

struct live_finder;

struct live_job {
    uint64_t job;
    uint64_t since;                 /* number of the look that saw it first */
    struct live_process *processes; /* by world rank */
    size_t count;
    int32_t world_size;
    bool alive; /* one of its processes is */
};

struct live {
    struct live_job *jobs; /* in the order of their begin */
    size_t job_count;
    uint64_t looks;
    uint64_t realtime_ns; /* of the last look */
    char **paths;         /* the named paths */
    size_t path_count;
    struct live_finder *finder;
};

/* `paths` is empty for the user's running jobs. Returns 0, or -1 without memory. Copies the paths. */
MUST_CHECK int live_files_open(struct live *live, const char *const *paths, size_t count);
/* Without named paths: selects jobs of all users whose memory and files the caller may read. root may read all. */
void live_of_all_users(struct live *live);
/* Looks again. Returns 0, or -1 with a reason: no memory, or a named path without a run. */
MUST_CHECK int live_look(struct live *live, char error[512]);
void live_close(struct live *live);

/* Updates the time of a process that is still alive, right before its counters are read. */
void live_now(struct live_process *process);
/* Sends it a signal if it is still the process of its file, and belongs to the owner of the file. Returns NULL, or why it was not sent. */
const char *live_signal(const struct live_process *process, int number);
/* Returns whether the data read since the look was in the process's file. */
bool live_is_whole(const struct live_process *process);

/* Returns nanoseconds between two times of a process's clock, or 0 if `to` is not after `from`. */
uint64_t live_between(const struct live_process *process, uint64_t from_ticks, uint64_t to_ticks);

/* What a thread does. A call under way is in no counter yet: a tool adds the time of the call so far. The state and the
 * counters match: the thread was in the same call before and after the read. So the sum is continuous when the call
 * returns. After some attempts the call counts as just begun. */
struct live_thread {
    bool alive;
    uint64_t end_ticks;              /* 0 while it lives */
    struct thread_state state;       /* call 0: it is outside of MPI, or has ended */
    uint64_t stalled;                /* the call stalls. 0: it works, or that is unknown */
    uint64_t since_ns, stall_ns;     /* how long the call lasts, and stalls now. 0: it is not timed */
    uint64_t mpi_ticks, stall_ticks; /* in calls that have returned */
};
/* Reads thread i. A thread without a record is all zero. */
void live_thread_read(const struct live_process *process, size_t i, struct live_thread *thread);

/* Returns the sum of a variable over blocks first .. end - 1, of one thread or ANY_THREAD. values[count] gets it by
 * slot. record: NULL if the file has no such variable. */
uint64_t live_sum(const struct run_reader *run, const struct variable_record *record, size_t first, size_t end,
                  uint32_t thread, uint64_t *values, size_t count);
/* Returns a number that grows when a slot goes to another communicator, and is odd meanwhile. Call it before and after
 * the counters are read: if the number is the same, the counters are of the same communicators. */
uint64_t live_comm_changes(const struct run_reader *run);

#endif
