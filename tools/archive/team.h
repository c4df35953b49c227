/*
 * The processes of the tool that make one archive together: one, or those of an MPI job (team_mpi.c).
 *
 * All of them go the same steps. What one of them alone can find out (a full disk, a file that is not there) becomes
 * known to all where they agree, before the next step that takes all of them; so none waits for one that has given up.
 */
#ifndef MPIT_TOOLS_TEAM_H
#define MPIT_TOOLS_TEAM_H

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct team {
    bool mpi; /* of an MPI job, perhaps of one process */
    int rank, size;
    int neighbours; /* how many of them share this node, with this one */
    /* Each only of an MPI job. In place, the same on all of them afterwards. */
    void (*sum)(uint64_t *values, size_t count);
    void (*largest)(uint64_t *values, size_t count);
    void (*spread)(void *bytes, size_t count, int from);
    OTF2_ErrorCode (*prepare)(OTF2_Archive *archive); /* gives it OTF2's collective callbacks */
};

/* A process by itself. */
extern const struct team team_of_one;

void team_sum(const struct team *team, uint64_t *values, size_t count);
uint64_t team_largest(const struct team *team, uint64_t value);
void team_spread(const struct team *team, void *bytes, size_t count, int from);

/* None goes on before all are here. */
void team_meet(const struct team *team);

/* What it says of a run directory if they have not. */
#define TEAM_DIFFERS                                                                                                   \
    "is not the same to all processes that convert it: it has to be on a file system that all nodes share, and the "   \
    "run to have ended"

/* Do all of them have the same value here? */
bool team_same(const struct team *team, uint64_t value);

/* Has one of them failed? `text` is then that of the first that has, on all of them. */
bool team_failed(const struct team *team, bool failed, char *text, size_t bytes);

/* How many threads a process of the team uses by itself: its processors, shared with its neighbours where they have
 * the same ones. */
unsigned team_threads(const struct team *team);

/* ---- the tool's own team: of one in mpit-dump (team_alone.c), of its MPI job in mpit-dump-MPI (team_mpi.c) ---- */

/* To be called first; after it the others than the first say nothing. It ends with the process. */
const struct team *team_join(int *argc, char ***argv);
/* From here on they find out different things: a process that ends by itself takes all others with it, and may say why;
 * until false, which is for when all of them know how it goes on. */
void team_work(bool on);

#endif
