/*
 * The processes of the tool that make one archive together: one process, or the processes of an MPI job (team_mpi.c).
 *
 * All processes take the same steps. Some errors are seen by one process only (a full disk, a missing file). The
 * processes exchange them before the next common step. So no process waits for another that has given up.
 */
#ifndef MPIT_TOOLS_TEAM_H
#define MPIT_TOOLS_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct OTF2_Archive_struct;

struct team {
    bool mpi; /* of an MPI job, perhaps of one process */
    int rank, size;
    int neighbours; /* number of processes on this node, including this one */
    /* Only for an MPI job. They work in place, and all processes get the same result. */
    void (*sum)(uint64_t *values, size_t count);
    void (*largest)(uint64_t *values, size_t count);
    void (*spread)(void *bytes, size_t count, int from);
    int (*prepare)(struct OTF2_Archive_struct *archive); /* gives it OTF2's collective callbacks; 0: done */
};

/* A process by itself. */
extern const struct team team_of_one;

void team_sum(const struct team *team, uint64_t *values, size_t count);
uint64_t team_largest(const struct team *team, uint64_t value);
void team_spread(const struct team *team, void *bytes, size_t count, int from);

/* Waits until all processes are here. */
void team_meet(const struct team *team);

/* The error text for a run directory that differs between the processes. */
#define TEAM_DIFFERS                                                                                                   \
    "differs between the processes that convert it: it must be on a file system that all nodes share, and the "        \
    "run must have ended"

/* Returns whether all processes have the same value here. */
bool team_same(const struct team *team, uint64_t value);

/* Returns whether one of them has failed. All processes then get the text of the first that failed. */
bool team_failed(const struct team *team, bool failed, char *text, size_t bytes);

/* Returns how many threads a process of the team should use: its processors, divided by the neighbors that share
 * them. */
unsigned team_threads(const struct team *team);

/* ---- the tool's own team: of one in mpit-dump (team_alone.c), of its MPI job in mpit-dump-MPI (team_mpi.c) ---- */

/* Call it first. Afterwards only the first process prints messages. It ends with the process. */
const struct team *team_join(int *argc, char ***argv);
/* `true`: from here on the processes may fail separately. A process that ends then ends all others, and may give its
 * reason. `false`: all processes again know how to continue. */
void team_work(bool on);

#endif
