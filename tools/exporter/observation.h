/*
 * What was seen of the running jobs, from look to look.
 *
 *   observation ── jobs[] ── processes[] ── whole     figures of the process, all communicators together
 *                     │            ├─────── comms[]   of communicators one by one, if that is wanted,
 *                     │            └─────── others    and of all others of them together
 *                     └─ ended                        what processes had counted that have gone
 *
 * Figures stand by the number of their metric (metrictable.h), and
 *
 *   - what counts never falls while its process is there, however a look met the process: a difference of cells, or a
 *     communicator that hands its slot to another one, can be seen too small for a moment, never too large;
 *   - whole = comms + others, for what adds up. Who is in comms stays there with what it had counted, also after its
 *     slot went to another one. A communicator that finds no place is one of the others for good.
 *
 * A process that has ended is looked at once more (live.h keeps its file): what is told of it last is what it had
 * counted. It stays for a while (`linger_ns`), so that whoever comes now and then sees that.
 *
 * One thread.
 */
#ifndef MPIT_TOOLS_OBSERVATION_H
#define MPIT_TOOLS_OBSERVATION_H

#include "job/live.h"
#include "exporter/metrictable.h"
#include "base/username.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The values of one metric. */
struct figure_row {
    uint64_t *values;
    bool *shown; /* once there is a series, it stays */
    size_t count;
};

struct figure_set {
    struct figure_row *rows; /* by the metric's number */
    size_t count;
    size_t shown; /* series that it has */
};

/* What all others are called together. */
#define COMM_OTHERS "other"

struct observed_comm {
    char name[COMM_NAME_BYTES];
    char label[COMM_LABEL_BYTES];
    int32_t size;
    struct figure_set figures;
    bool shown; /* what it is called */
};

enum thread_activity { ACTIVITY_OUTSIDE, ACTIVITY_WORKING, ACTIVITY_STALLED, ACTIVITY_COUNT };

struct observed_process {
    uint64_t job;
    int32_t rank;
    uint32_t pid;
    uint64_t begin_realtime_ns;

    uint64_t look;    /* the latest that saw it */
    uint64_t late;    /* the latest at which its communicators changed too often to be told one by one */
    uint64_t gone_ns; /* when it was first seen not to live (CLOCK_MONOTONIC); 0: it lives */
    char *path;       /* of its run file */
    uint32_t phase;   /* enum run_phase */
    uint64_t threads[ACTIVITY_COUNT];
    uint64_t call_ns; /* for so long has the call lasted that began first; 0: none is under way */
    char call[CALL_NAME_BYTES], call_comm[COMM_NAME_BYTES];
    struct figure_set whole, others;
    struct observed_comm *comms;
    size_t comm_count;
    bool shown; /* what is told of each process */
};

struct observed_job {
    uint64_t job;
    int32_t world_size;
    bool stall_known;
    char program[256], mpi[64];
    uid_t owner;                         /* of its run files */
    char user[USER_BYTES];               /* what the owner is called */
    struct observed_process **processes; /* by rank */
    size_t count;
    struct figure_set ended, total; /* total: of all processes, if that is wanted */
};

struct observation_choice {
    const char *patterns; /* of variables; NULL: all */
    bool by_comm;
    size_t comms_most;
    uint64_t linger_ns;
    bool named; /* what is looked at was named, so that what does not live is told, too */
};

struct observation {
    struct observation_choice choice;
    struct metric_table metrics;
    struct observed_job *jobs;
    size_t job_count;
    uint64_t looks, looks_failed;
    uint64_t unreadable_now, unreadable; /* processes whose files could not be read: at this look, at all */
    uint64_t rankless_now;               /* processes that had not got as far as having a rank */
    uint64_t refused_now;                /* their variables for which there was no metric (metrictable.h) */
    uint64_t late_now;                   /* whose communicators changed too often to be seen one by one */
    uint64_t begin_ns;
    char problem[512]; /* of the last look */
};

/* Takes in what was looked at. Returns 0, or -1 without memory. */
int observation_take(struct observation *observation, struct live *live);
/* Makes the total of a job: what its processes have counted on this node, those that have gone too. Returns 0, or -1
 * without memory. */
int observation_sum(struct observation *observation, struct observed_job *job);
void observation_free(struct observation *observation);

/* Of a set; NULL: it has nothing of that metric. */
struct figure_row *figure_row(struct figure_set *set, size_t metric);
/* Its row with room for so many slots; NULL: no memory. */
struct figure_row *figure_row_make(struct figure_set *set, const struct metric *metric, size_t number);
void figure_set_free(struct figure_set *set);
/* The value that there is when there is none. */
uint64_t figure_neutral(const struct metric *metric);

/* Reads a process's figures out of its file (observationread.c). Returns 0, or -1 without memory. */
int observation_read(struct observation *observation, struct observed_process *process, const struct run_reader *run,
                     const char *path);

#endif
