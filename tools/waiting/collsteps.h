/*
 * The collectives that the processes of a job have begun, with their numbers on each communicator: the last ones, and those
 * that their threads are in.
 *
 *   ring of a thread ──> the last events ──> steps of a communicator, numbered from their end      (the counters say how many)
 *   live state       ──> the call that has not returned: the step after them
 *
 * Calls that make a communicator belong to the collective that follows: MPI has one order for both.
 */
#ifndef MPIT_TOOLS_COLLSTEPS_H
#define MPIT_TOOLS_COLLSTEPS_H

#include "format/reduction.h"
#include "waiting/waiting.h"

#define MADE_UNKNOWN UINT32_MAX
#define BYTES_UNKNOWN UINT64_MAX

struct step {
    const struct comm_record *comm; /* of the process */
    uint64_t begin;                 /* ticks of the process */
    uint64_t number; /* 1: the first collective there. Of a call that makes a communicator: of the next one */
    uint32_t made;   /* so many calls since the collective before made a communicator, or MADE_UNKNOWN */
    bool makes;      /* a communicator */
    bool inside;     /* it has not returned */
    uint32_t call;
    int32_t root;       /* below 0: it has none, or the communicator has two groups */
    uint32_t reduction; /* its operation (enum reduction), or REDUCTION_UNKNOWN */
    uint64_t bytes;     /* that are the same for all ranks. BYTES_UNKNOWN: not known, or they may differ */
    size_t file;        /* in the job */
    uint32_t path;
};

struct steps {
    struct step *list; /* by name of the communicator, number, and `made` */
    size_t count;
};

/* The order of the names of their communicators, and 0 for the same one. */
int step_comm_order(const struct step *a, const struct step *b);
/* `ward` has the threads of the job (waits_find). NULL: all processes have ended. Of processes that go on, nothing is known. In a
 * large job there are only the steps that threads are in. Returns 0, or -1 without memory. */
int steps_find(const struct run_job *job, const struct ward *ward, struct steps *steps);
void steps_release(struct steps *steps);

#endif
