/*
 * Persistent requests while threads run at once. One thread may start a request of an array that another one tests or
 * waits for. So a persistent request stays in the table until it is freed:
 *
 *     MPI_Start    starting = true ── the call ── its records, active = true ── starting = false (release)
 *     completion   the call ── ended, and starting: waits for that (acquire) ── its records, active = false
 *
 * Only a thread that starts a request, or that got its end from the library, changes it.
 */
#ifndef MPIT_PROBES_PERSISTENCE_H
#define MPIT_PROBES_PERSISTENCE_H

#include "requests/request.h"

/* Takes the request of this handle out of the table, even if it is persistent. */
struct request *request_remove(struct log *log, uint64_t handle, const void *where);
/* MPI_Start has failed, or its records are written. */
void request_started(struct request *request);
/* A call has returned this persistent request as complete. False: it was inactive when the library looked at it. */
bool request_has_ended(const struct request *request, const MPI_Status *status);

#endif
