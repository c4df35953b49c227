/*
 * The jobs that run now, as the files of their processes show them: what mpit-top and mpit-exporter look at.
 *
 *   live ── jobs[] ──> processes[] ──> run_reader      one a process; no events, tables alone
 *        └─ finder: the files that are known, open or not (livefind.h)
 *
 * Where they are: every process of this user (or of all users) on this node holds its run file open, in a run directory
 * or in memory
 * (/proc/PID/fd), or has MPIT_OUTPUT in its environment; with a run directory come the files in it of the job's
 * processes on other nodes, and of those that have died. /proc is gone through once in LIVE_SCAN_NS, and less often
 * where that takes long. A path that is named (a run directory, a run file) is looked at instead, whether its processes
 * live or not.
 *
 * The program takes no part: files are mapped read-only, and what lies in them is untrusted. A file that cannot be read
 * at a look (it is just being made, damaged, gone) has a reason in `problem`, and the next look tries again. It is
 * opened anew when its tables have changed; most looks find that they have not, and read one page of a process. What a
 * look hands out is valid until the next one. One thread.
 *
 * A process that has ended stays, with its last figures, though its file may be gone; so does a job, which is `alive`
 * no more, for LIVE_ENDED_NS (where paths were named: to the end). Processes that are still in MPI_Init have no job
 * yet: those stand together under number 0.
 *
 * Somebody may truncate a file that is looked at. Then zeros are read there, and live_is_whole tells: who has read the
 * cells of a process asks it, and throws away what was read. (The guard is a handler of SIGBUS, from live_open on.)
 */
#ifndef MPIT_TOOLS_LIVE_H
#define MPIT_TOOLS_LIVE_H

#include "reader/reader.h"

#include <stdbool.h>
#include <stddef.h>

#define LIVE_SCAN_NS UINT64_C(1000000000)
#define LIVE_ENDED_NS UINT64_C(30000000000)

struct live_process {
    char *path;            /* of its run file; of one in memory /proc/PID/fd/N */
    bool readable;         /* `run` is open */
    struct run_reader run; /* its tables; no chunks, so no events can be read from it */
    bool here;             /* it can be seen from here: of this node, and not in a container apart */
    bool clock;            /* its clocks are those of this node's kernel */
    bool alive;            /* it is there still, also behind MPI_Finalize; if it is not here: it has not told an end */
    uint64_t now_ticks;    /* by its clock, at the look; of a process that has ended, as far as it is known: its end */
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
    struct live_job *jobs; /* those that began first come first */
    size_t job_count;
    uint64_t looks;
    uint64_t realtime_ns; /* of the last look */
    char **paths;         /* what was named */
    size_t path_count;
    struct live_finder *finder;
};

/* paths: none for the user's running jobs. Returns 0, or -1 without memory. Copies the paths. */
int live_open(struct live *live, const char *const *paths, size_t count);
/* Where no paths were named: jobs of all users, as far as the caller may read their memory and files; root may. */
void live_of_all_users(struct live *live);
/* Looks again. Returns 0, or -1 with a reason: no memory; of a named path, that there is nothing of a run. */
int live_look(struct live *live, char error[512]);
void live_close(struct live *live);

/* Takes the time of a process that is alive again, right before its cells are read. */
void live_now(struct live_process *process);
/* What was read of it since the look is what stood in its file. */
bool live_is_whole(const struct live_process *process);

/* Nanoseconds between two instants of a process's clock; 0 if `to` is not behind `from`. */
uint64_t live_between(const struct live_process *process, uint64_t from_ticks, uint64_t to_ticks);

#endif
