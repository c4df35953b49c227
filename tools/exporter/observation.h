/*
 * The state of the running jobs, updated at each look.
 *
 *   observation ── jobs[] ── processes[] ── whole     figures of the process, all communicators together
 *                     │            ├─────── comms[]   of communicators one by one, if that is wanted,
 *                     │            └─────── others    and of all others of them together
 *                     └─ ended                        counts of processes that are gone
 *
 * Figures are stored by the number of their metric (metrictable.h), and
 *
 *   - a count never falls while its process exists, no matter when a look reads the process. If it is a difference of
 *     counters, or if a communicator gives its slot to another, it may seem too small for a moment. It never seems too
 *     large.
 *   - whole = comms + others, for figures that add up. A communicator in comms stays there with its counts, even after
 *     its slot went to another. A communicator without a place counts in others permanently.
 *
 * A process that has ended is read once more (live.h keeps its file). Its last exported values are its final counts. It
 * stays for a while (`linger_ns`), so that a client that comes rarely sees them.
 *
 * One thread.
 */
#ifndef MPIT_TOOLS_OBSERVATION_H
#define MPIT_TOOLS_OBSERVATION_H

#include "live/live.h"
#include "live/livesites.h"
#include "exporter/metrictable.h"
#include "exporter/usefultime.h"
#include "base/username.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The values of one metric. */
struct figure_row {
    uint64_t *values;
    bool *shown; /* a series that exists stays */
    size_t count;
};

struct figure_set {
    struct figure_row *rows; /* by the metric's number */
    size_t count;
    size_t shown; /* series that it has */
};

/* The common name of all other communicators. */
#define COMM_OTHERS "other"

struct observed_comm {
    char name[COMM_NAME_BYTES];
    char label[COMM_LABEL_BYTES];
    int32_t size;
    struct figure_set figures;
    bool shown; /* its name */
};

enum thread_activity { ACTIVITY_OUTSIDE, ACTIVITY_WORKING, ACTIVITY_STALLED, ACTIVITY_COUNT };

struct observed_process {
    uint64_t job;
    int32_t rank;
    uint32_t pid;
    uint64_t begin_realtime_ns;

    uint64_t look;    /* the last look that saw it */
    uint64_t late;    /* last time at which its communicators changed too often for separate figures */
    uint64_t gone_ns; /* when it was first seen dead (CLOCK_MONOTONIC), or 0 if it lives */
    char *path;       /* of its run file */
    uint32_t phase;   /* enum run_phase */
    uint64_t threads[ACTIVITY_COUNT];
    uint64_t call_ns; /* age of the oldest call under way, or 0 for none */
    char call[CALL_NAME_BYTES], call_comm[COMM_NAME_BYTES];
    struct useful_time time;
    struct figure_set whole, others;
    struct observed_comm *comms;
    size_t comm_count;
    bool shown; /* the figures of each process */
};

struct observed_job {
    uint64_t job;
    int32_t world_size;
    bool stall_known;
    char program[256], mpi[64];
    uid_t owner;           /* of its run files. Files of another user are another job */
    bool namesake;         /* of another user's job of this number, which came first */
    char user[USER_BYTES]; /* name of the owner */
    char scheduler[ORIGIN_JOB_BYTES], scheduler_job[ORIGIN_JOB_BYTES]; /* "slurm", "4711"; "" = none */
    struct observed_process **processes;                               /* by rank */
    size_t count;
    struct figure_set ended, total; /* total: of all processes, if requested */
    struct live_passes passes;      /* of its processes on this node, */
    uint64_t pass_ns, pass_age_ns;  /* when there was one last (CLOCK_MONOTONIC), and how long before the last look */
    bool shown;
};

struct observation_choice {
    const char *patterns; /* of variables, or NULL for all */
    bool by_comm;
    size_t comms_most;
    uint64_t linger_ns;
    bool named; /* the paths were named, so ended processes are exported, too */
};

struct observation {
    struct observation_choice choice;
    struct metric_table metrics;
    struct observed_job *jobs;
    size_t job_count;
    uint64_t looks, looks_failed;
    uint64_t unreadable_now, unreadable; /* processes with unreadable files: at this look, in all */
    uint64_t rankless_now;               /* processes that had no rank yet */
    uint64_t refused_now;                /* their variables without a metric (metrictable.h) */
    uint64_t late_now;                   /* whose communicators changed too often for separate figures */
    uint64_t begin_ns;
    char problem[512]; /* of the last look */
};

/* Reads the processes of the last look. Returns 0, or -1 without memory. */
int observation_take(struct observation *observation, struct live *live);
/* Makes the total of a job: the counts of its processes on this node, including ended ones. Returns 0, or -1 without
 * memory. */
int observation_sum(struct observation *observation, struct observed_job *job);
void observation_free(struct observation *observation);

/* Returns the row of a set, or NULL if the set has no figures of the metric. */
struct figure_row *figure_row(struct figure_set *set, size_t metric);
/* Returns its row with room for `number` slots, or NULL without memory. */
struct figure_row *figure_row_make(struct figure_set *set, const struct metric *metric, size_t number);
void figure_set_free(struct figure_set *set);
/* Returns the value of an empty figure. */
uint64_t figure_neutral(const struct metric *metric);

/* Reads a process's figures from its file (observationread.c). Returns 0, or -1 without memory. */
int observation_read(struct observation *observation, struct observed_process *process, const struct run_reader *run,
                     const char *path);

#endif
