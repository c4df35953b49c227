/*
 * The script of a job: what each rank computes, sends, receives and awaits, one after the other. It has no waits: a
 * simulator finds them, on another network or with other computations.
 *
 *   trace ──> analysis ──> messages, operations, times ──> steps of each rank ──> script_goal.c, script_simgrid.c
 *
 * Computation is the time between calls, and what a call takes after all has begun that it needs, without the way of its
 * messages on the recorded network (network.h). Operations of all members of a communicator are messages: rounds as in a
 * library, for nonblocking ones all rounds at once.
 *
 * Memory grows with the trace: 64 bytes a call, and 128 a message, or up to twice that.
 */
#ifndef MPIT_TOOLS_SCRIPT_H
#define MPIT_TOOLS_SCRIPT_H

#include "analysis/analysis.h"
#include "base/outputfile.h"
#include "job/rundir.h"

enum step_kind {
    STEP_COMPUTE,       /* amount: nanoseconds */
    STEP_SEND_BEGIN,    /* amount: bytes. Some have no STEP_SEND_END: the recorded one waited for nobody */
    STEP_RECEIVE_BEGIN, /* likewise: its message was never asked for */
    STEP_SEND_END,
    STEP_RECEIVE_END
};

struct step {
    enum step_kind kind;
    int32_t peer; /* world rank */
    uint32_t tag; /* no other message of the two ranks has it */
    uint64_t amount;
};

/* A message of so many bytes waits for its receive. */
enum { SCRIPT_LARGE = 65536 };

struct script_rank;
struct script_operation;

struct script {
    struct analysis analysis;
    struct script_rank *ranks; /* analysis.job.size of them */
    int32_t rank_count;
    struct script_operation *operations; /* by number */
    size_t operation_count;
    bool *matched; /* messages that were received, by number */
    size_t matched_count;
    uint64_t
        left_out; /* operations of neighbors and of inter-communicators, and those that some members did not join */
    uint64_t begin_ns; /* end of the first MPI_Init */
    double latency_ns, byte_ns;
    bool no_memory;
};

/* Calls `take` for each step of the rank, in order. */
void script_walk(const struct script *script, int32_t rank, void *data,
                 void (*take)(void *data, const struct step *step));

/* script_goal.c, script_simgrid.c */
int goal_write(const struct script *script, const char *directory, char error[OUTPUT_ERROR_BYTES]);
int simgrid_write(const struct script *script, const char *directory, char error[OUTPUT_ERROR_BYTES]);

enum script_format { SCRIPT_GOAL, SCRIPT_SIMGRID };

/* Writes the script of a job into a new directory. *left_out: operations that it lacks. Returns 0, or -1 with the reason in
 * `error`. */
int script_write(const struct run_job *job, enum script_format format, const char *directory, uint64_t *left_out,
                 char error[OUTPUT_ERROR_BYTES]);

#endif
