/*
 * Where a job spent its time, from its samples.
 *
 *   stacks ──> sums        of all of it, by MPI function, by place of a call, by function, by path
 *   tallies ─> exact       the same shares by the recorder's timers, if they cover the same span
 *
 * A sample has a `weight`, the number of timer periods that it represents. A share is the time of its samples over the
 * time of all samples. Its precision depends on the number of periods. Each period counts as one look at the thread,
 * because a thread with a longer sample stayed in one place for all of it. With n periods (of unequal length p: n =
 * (sum p)^2 / sum p^2), a share s is within 1.96 sqrt(s (1 - s) / n) of the true one in 95 of 100 cases, if the samples
 * are independent. For shares near 0 and 1 this error would be 0. So two samples of each kind are added first, after
 * Agresti and Coull.
 */
#ifndef MPIT_TOOLS_PROFILE_H
#define MPIT_TOOLS_PROFILE_H

#include "calls.h"
#include "base/keytable.h"
#include "profile/stacks.h"

#include <jansson.h>
#include <stdio.h>

enum { PROFILE_STATES = MPIT_STATE_STALL_OTHER + 1 };

struct profile_sum {
    uint64_t samples, ns, on_cpu_ns;
    uint64_t state_ns[PROFILE_STATES];
};

/* An MPI function. */
struct profile_call {
    struct keyed keyed; /* of its name's frame */
    struct profile_sum sum;
    const struct frame *frame;
    uint64_t exact_ns; /* by the timers */
};

/* A place where the program calls MPI, and which function. */
struct profile_site {
    struct keyed keyed; /* frames of the call and of the caller, place */
    struct profile_sum sum;
    const struct frame *caller;
    const char *file;
    unsigned line;
    const struct frame *call;
};

/* A function of the program. */
struct profile_function {
    struct keyed keyed; /* frame */
    const struct frame *frame;
    uint64_t self_ns, mpi_ns, total_ns; /* itself, the MPI functions that it called, and all callees */
    uint64_t last_sample;               /* the number of the last sample that contains it */
};

/* A line of a function. */
struct profile_line {
    struct keyed keyed; /* frame, place */
    const struct frame *frame;
    const char *file;
    unsigned line;
    uint64_t self_ns, mpi_ns;
};

/* A function on a path of calls. */
struct profile_node {
    struct keyed keyed;                /* number of the parent, frame */
    struct profile_node *first, *next; /* children, in any order */
    struct profile_node *parent;
    const struct frame *frame; /* NULL: the root */
    uint64_t number;
    struct profile_sum sum, self; /* with and without callees */
    const char *file;             /* place of execution, or NULL for several */
    unsigned line;
    bool several;
};

/* A process, or a thread of one. */
struct profile_share {
    struct keyed keyed; /* number of the run file, stream */
    struct profile_sum sum;
    int32_t rank; /* -1: it has none */
    uint32_t pid;
    int32_t tid; /* of a thread */
    char name[18];
};

struct profile_exact {
    const char *none;                                       /* why a comparison is not possible, or NULL if it is */
    uint64_t ns[PROFILE_STATES], inside_ns[PROFILE_STATES]; /* timers and samples of the same span, and of MPI's
                                                             * states */
    uint64_t span_ns;                                       /* time of these samples */
    uint64_t threads_ns, covered_ns; /* the time of all threads that called MPI, and the sampled part of it */
    double squares;                  /* of the periods of the samples, in ns */
    bool agrees;
};

struct profile {
    struct stacks stacks;
    struct profile_sum sum;
    double squares;          /* of periods, in ns */
    uint64_t streams, ranks; /* that have samples */
    uint64_t period_least_ns, period_most_ns;
    struct keytable calls, sites, functions, lines, nodes, processes, threads;
    struct profile_node *root;
    uint64_t node_count;
    const struct run_reader *last_run; /* of the sample before */
    uint32_t last_stream;
    struct profile_exact exact;
};

/* Returns 0, or -1 without memory. Release it in both cases. */
int profile_open(struct profile *profile, const struct run_job *job, const struct selection *selection, bool internal);
void profile_release(struct profile *profile);

/* Returns the number of periods of equal length with the same precision: of all samples, and of the compared ones. */
double profile_samples(const struct profile *profile);
/* Returns the possible error of a share of `ns` in `whole`, at this many standard errors (1.96: 95 of 100 cases). */
double profile_error(double ns, double whole, double samples, double standard_errors);
/* All of MPI's stalls. */
uint64_t profile_stall_ns(const uint64_t state_ns[PROFILE_STATES]);

/* The number of standard errors within which all shares of the comparison must be. */
#define PROFILE_STANDARD_ERRORS 1.96
#define PROFILE_FAMILY_ERRORS 2.69 /* 95 of 100 cases for seven of them together */

/* Writes it as text, or as JSON (a new reference, or NULL without memory). */
int profile_print(struct profile *profile, FILE *out);
json_t *profile_json(struct profile *profile);

#endif
