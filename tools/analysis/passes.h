/*
 * Passes: how often the program goes through its loop, and how long each time.
 *
 *   rank 0   call A ── computes ── call B │ call A ── computes ── call B │ call A ── computes ── call B
 *   rank 1   call A ── computes ── call B │ call A ── computes ── call B │ call A ── computes ── call B
 *                                  beat   └────────── pass 2 ──── beat   └────────── pass 3 ──── beat
 *
 * The beat is a call at one place, with one peer if it has one, that all ranks make equally often. A rank without this call may
 * have another one that is as frequent. A pass ends when the last rank ends its call. Nobody knows when the first pass began.
 *
 * The first reading of a trace counts the calls of each rank at each place. The second one measures the passes.
 */
#ifndef MPIT_TOOLS_PASSES_H
#define MPIT_TOOLS_PASSES_H

#include "base/keytable.h"
#include "summary/summary.h"

#include <stdbool.h>

enum { PASS_LENGTHS = 48 };

struct beat_sum {
    struct keyed keyed;             /* beat_key, rank */
    uint64_t count;                 /* calls of the rank, and the ends of */
    uint64_t first_ns, last_ns;     /* the first one and the last one */
    uint32_t lengths[PASS_LENGTHS]; /* times between them, by their logarithm to the base 2 */
};

/* The calls of a function at a place. `peer`: the other rank of a message, or -1. Peers are told apart modulo 256. */
uint64_t beat_key(uint32_t place, unsigned function, int32_t peer);
/* A call has ended. Returns false without memory. */
bool beat_count(struct keytable *beats, uint64_t key, int32_t rank, uint64_t end_ns);

struct beat {
    uint64_t count;    /* calls of each rank that are counted. 0: the program has no loop that can be seen */
    uint64_t *keys;    /* by rank, */
    uint64_t *skipped; /* and how many calls come before those that are counted */
};

/* Of what was read: all of a run, or a part. Where a part begins or ends, ranks may have one call more or less. */
struct beat_reading {
    int32_t ranks;
    uint64_t ns; /* how long it is */
    bool part, is_last;
};

/* Finds the beat that tells most: the passes are most of the time, and most calls are as frequent. Returns 0, or -1
 * without memory. Release it in both cases. */
int beat_find(struct beat *beat, const struct keytable *beats, const struct beat_reading *of);
void beat_release(struct beat *beat);

/* What a rank has done since the begin. */
struct pass_clock {
    uint64_t ns, useful_ns, off_ns, stalled_ns;
    double ideal_ns; /* time on the free network */
};

/* What all ranks did in a window, and how long the one was outside of MPI that was there longest. */
struct pass_sums {
    uint64_t computing_ns, off_ns, work_ns, stalled_ns, most_ns;
};

/* The longest computation of a window. */
struct pass_longest {
    uint64_t ns;
    uint32_t segment;
    int32_t rank;
};

struct passes {
    const struct beat *beat;
    int32_t ranks;
    uint64_t *ends; /* of each pass: its last rank */
    struct pass_rank *list;
    size_t window_count; /* parts with equally many passes, of which the first one, without a begin, is none */
    struct pass_sums windows[PASS_WINDOWS];
    struct pass_longest longest[PASS_WINDOWS];
    double
        ideal_ns[PASS_WINDOWS + 1]; /* where they end on the free network. The first one: where the first pass ends */
};

/* Returns NULL without memory. */
struct passes *passes_open(const struct beat *beat, int32_t ranks);
void passes_release(struct passes *passes);
/* A rank has computed in a segment (segments.h). */
void passes_compute(struct passes *passes, int32_t rank, uint32_t segment, uint64_t ns);
/* A call of a rank has ended. */
void passes_call(struct passes *passes, int32_t rank, uint64_t key, const struct pass_clock *now);
/* The window of a pass. The first pass has none: it is 1. */
size_t pass_window_of(const struct passes *passes, uint64_t pass);

#endif
