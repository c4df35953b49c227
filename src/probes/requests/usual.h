/*
 * Requests in front that end or start in the usual way. The call succeeded, is in no other call and did not take long.
 * This thread posted its requests. Then the event of the call and the records of its requests are written in one go.
 *
 * Each function gets the kind of the call. The live state may have another one: a callback that was left by a jump has
 * set it.
 *
 * Each function returns false in any other case, and completion.c or starting.c does all of it.
 */
#ifndef MPIT_PROBES_USUAL_H
#define MPIT_PROBES_USUAL_H

#include "requests/completion.h"

/* Leaves a call on `count` requests that has returned the one of this variable complete. `begin`: 0 if it is only
 * counted. `front`: front_place(saved). */
bool usual_one_ended(struct log *log, uint64_t begin, enum call kind, int count, struct front_place *front,
                     uint64_t saved, const MPI_Request *where, const MPI_Status *status);

/* Leaves a call that has returned all of its requests complete. */
bool usual_all_ended(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles,
                     const uint64_t *saved, const MPI_Status *statuses);

/* Leaves a call that has returned some of its requests complete. */
bool usual_some_ended(const struct completion *c, int completed, const int *indices, const MPI_Status *statuses);

/* Leaves a call that has started one persistent request, or several. A persistent request is never beside. `place`:
 * front_place(saved). */
bool usual_one_started(struct log *log, uint64_t begin, enum call kind, struct front_place *place, uint64_t saved,
                       const MPI_Request *where);
bool usual_all_started(struct log *log, uint64_t begin, enum call kind, int count, const MPI_Request *handles,
                       const uint64_t *saved);

#endif
