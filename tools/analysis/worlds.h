/*
 * Worlds: the same run with one thing changed. Each rank has a clock for each world, and all advance together.
 *
 *   recorded   computes ──> MPI call: waits, then works ──────────> computes ──> ...
 *   world k    computes as long as the world says ──> waits if it has to, then works ──> ...
 *
 * A call needs calls of other ranks: the send of the message that it receives, the arrivals at its collective. It ends
 * when all of these have begun, plus its own work. Its work is what the trace has beyond the wait. So the recorded world
 * ends when the run did, and the difference of another world to it is what the change gains.
 *
 * Two worlds are always there. On the free network MPI calls do no work, and time between calls is as recorded: that
 * splits communication efficiency into serialization and transfer (share/doc/analyze.md). The trace does not tell for
 * each call what it needs. So the free network has two bounds: the call waited for nothing, or for all that may have
 * been. Often both lead to the same end.
 */
#ifndef MPIT_TOOLS_WORLDS_H
#define MPIT_TOOLS_WORLDS_H

#include "findings/curekind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transfer_times;
struct segments;

enum { WORLD_RECORDED, WORLD_FREE_LEAST, WORLD_FREE_MOST, WORLDS_FIXED, WORLDS_MOST = 40 };

struct cure {
    enum cure_kind kind;
    uint32_t segment;
    int32_t rank;
    enum call_group group;
    double left; /* CURE_BALANCED of a segment that only this rank has: the share of its time that is not spread */
};

enum { CURES_MOST = 6 };

struct world {
    struct cure cures[CURES_MOST];
    size_t count;
};

/* Bits of worlds. */
typedef uint64_t world_set;

/* What a question of the user changes in a world. */
struct world_change {
    double latency_ns, byte_ns; /* added to the way of each message, and of each of its bytes (network.h) */
    double computing;           /* how much longer computation takes: 1 as long as recorded, */
    int32_t rank;               /* of this rank. -1: of all */
};

/* The worlds of a reading, and what they need to know of the reading before. */
struct world_plan {
    size_t count; /* of worlds */
    struct world worlds[WORLDS_MOST];
    const struct segments *figures; /* of the reading before */
    const double *crowded;          /* by rank: the share of its time without a processor that goes if each rank has one
                                     * of its own, as in all worlds but the fixed ones. NULL: they have one */
    const double *factors;          /* of computation in CURE_EVEN, by rank, */
    const double *work_factors;     /* of work in MPI in CURE_EVEN_WORK, */
    const double *had;              /* and of computation in CURE_ON_PROCESSOR */
    const double *usual_ns;         /* work of a call, by place */
    const uint8_t *groups;          /* enum call_group, by place */
    uint32_t place_count, segment_count;
    const struct world_change *changes; /* by world. NULL: none */
    double latency_ns, byte_ns;         /* of the recorded run, if there are changes */
    const world_set *calls;             /* worlds in which the calls of a place are free, by place. NULL: none */
    world_set *segments;                /* worlds that change a segment, by its number */
    world_set free[CALL_GROUPS], cheap[CALL_GROUPS];
    world_set receives_early, posts_early, sends_early, progress, locks_short, even, even_work, at_once, any_order;
    world_set on_processor, placed;
    /* Of the order of ranks in CURE_PLACEMENT. NULL: there is none. Then: */
    const uint32_t *better_hosts; /* host of each rank, below host_count. As it is now: */
    const uint32_t *hosts;
    size_t host_count;
    const struct transfer_times *times; /* of the run's messages */
};

/* Fills in the sets. Returns 0, or -1 without memory. */
int world_plan_open(struct world_plan *plan);
void world_plan_release(struct world_plan *plan);

/* A computation of a rank. */
struct computation {
    int32_t rank;
    uint32_t segment;
    uint64_t visit; /* of the rank to the segment */
    double ns;      /* as recorded, */
    double off_ns;  /* and the part of it without a processor */
};

/* How long it takes in each world. `plan` may be NULL: as recorded. */
void world_plan_compute(const struct world_plan *plan, const struct computation *is, double *times, size_t count);

static inline enum call_group world_plan_group(const struct world_plan *plan, uint32_t place)
{
    return plan && place < plan->place_count ? plan->groups[place] : GROUP_NONE;
}

struct world_clock {
    uint64_t from_ns;    /* begin, recorded */
    uint64_t at_ns;      /* recorded time */
    uint64_t useful_ns;  /* between calls, so far, */
    uint64_t off_ns;     /* a part of it: without a processor, */
    uint64_t stalled_ns; /* and in calls that found nothing to do */
    uint64_t before_ns;  /* the computation after `before` */
    /* By world: */
    double *times;  /* ns since the begin of the job, */
    double *before; /* before the last computation, or before the one that several sends follow, */
    double *useful; /* between calls, so far, */
    double *work;   /* and in them, without waits */
};

/* Takes the later of two times, in each world. */
static inline void world_times_join(double *times, const double *others, size_t count)
{
    for (size_t k = 0; k < count; k++)
        times[k] = others[k] > times[k] ? others[k] : times[k];
}

/* The free network. Times are nanoseconds, the longest of all ranks. */
struct ideal {
    uint64_t least, most;
};

struct ideal_run {
    uint64_t run_ns, useful_ns;
    struct ideal ideal_ns;        /* run time on the free network */
    uint64_t unsure;              /* calls whose needs are not known */
    double world_ns[WORLDS_MOST]; /* run time of each world */
};

struct ideal_split {
    double communication, serialization, transfer;
};

/* Returns false if the bounds are too far apart. `split` then has communication alone. */
bool ideal_run_split(const struct ideal_run *run, struct ideal_split *split);

#endif
