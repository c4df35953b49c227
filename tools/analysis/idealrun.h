/*
 * The ideal run: the same run on a network that takes no time. It splits communication efficiency into serialization and
 * transfer (share/doc/analyze.md).
 *
 *   recorded   computes ──> MPI call ─────────────> computes ──> MPI call ─> ...     a clock for each rank
 *   ideal      computes ──> waits if it has to ─> computes ──> ...
 *
 * Time between calls is kept as it was measured. A call ends when all that it needs has begun on the other ranks, in
 * ideal time. So no ideal time is later than the recorded one.
 *
 * The trace does not tell for each call what it needs. So each ideal time is a pair of bounds: the call waited for
 * nothing, or for all that may have been. Often both lead to the same end.
 */
#ifndef MPIT_TOOLS_IDEALRUN_H
#define MPIT_TOOLS_IDEALRUN_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds on the time line of the job. */
struct ideal {
    uint64_t least, most;
};

struct ideal_clock {
    uint64_t at_ns;     /* recorded time */
    struct ideal now;   /* ideal time then */
    uint64_t useful_ns; /* between calls, so far */
};

/* What a call needs: the latest of all. */
static inline void ideal_need(struct ideal *need, struct ideal from)
{
    need->least = from.least > need->least ? from.least : need->least;
    need->most = from.most > need->most ? from.most : need->most;
}

/* What a call may need, or not. */
static inline void ideal_may_need(struct ideal *need, struct ideal from)
{
    ideal_need(need, (struct ideal){0, from.most});
}

void ideal_clock_start(struct ideal_clock *clock, uint64_t ns);
/* The rank computes until then. */
void ideal_clock_compute(struct ideal_clock *clock, uint64_t until_ns);
/* A call ends. */
void ideal_clock_call(struct ideal_clock *clock, uint64_t end_ns, const struct ideal *need);
/* A call in the past needed `from`. The rank has computed for `since_ns` since then. */
void ideal_clock_amend(struct ideal_clock *clock, struct ideal from, uint64_t since_ns);

/* The result. Times are the longest of all ranks. */
struct ideal_run {
    uint64_t run_ns, useful_ns;
    struct ideal ideal_ns; /* run time on the ideal network */
    uint64_t unsure;       /* calls whose needs are not known */
};

/* Adds a rank that has ended. */
void ideal_run_add(struct ideal_run *run, const struct ideal_clock *clock, uint64_t start_ns);

struct ideal_split {
    double communication, serialization, transfer;
};

/* Returns false if the bounds are too far apart. `split` then has communication alone. */
bool ideal_run_split(const struct ideal_run *run, struct ideal_split *split);

#endif
