/*
 * The recorder's life in a process: from the first of MPI_Init and MPI_Session_init to the last of MPI_Finalize and
 * MPI_Session_finalize.
 */
#ifndef MPIT_PROBES_RECORDER_H
#define MPIT_PROBES_RECORDER_H

#include "thread/log.h"

/* MPI_Init begins: starts the run. False: this process takes no part (other ABI, MPIT_DISABLE). True and probe->log
 * NULL: it records nothing (no memory), but takes part in all joint steps. */
bool recorder_start(struct probe *probe, enum call kind);
/* MPI_Init has returned. */
void recorder_started(struct probe *probe, enum call kind, int result);
/* MPI is initialized, whether MPI_Init has returned to the wrapper or not. */
void recorder_ready(void);

/* A library below MPI is being opened. If it is to be recorded in a process without MPI, the run begins here, and ends
 * with the process. */
void recorder_start_below(void);

/* MPI_Finalize begins: completes the figures, and measures the clocks. True: call recorder_finished afterwards. */
bool recorder_finish(struct probe *probe);
/* MPI_Finalize has returned: ends the run, unless sessions are open. */
void recorder_finished(struct probe *probe, int result);

/* The same for a session. `edge`: the run begins or ends with this call. */
struct session_probe {
    struct probe probe;
    bool edge;
};

bool recorder_session_start(struct session_probe *session, enum call kind);
void recorder_session_started(struct session_probe *session, enum call kind, int result, uint64_t handle);
bool recorder_session_finish(struct session_probe *session, uint64_t handle);
void recorder_session_finished(struct session_probe *session, int result, uint64_t handle);

/* MPI_Abort begins. */
void recorder_aborting(struct probe *probe);

/* Returns the output directory, or NULL. */
const char *recorder_directory(void);
/* MPIT_OUTPUT as it was set, absolute. It is a part of the number of the job (job.h). */
const char *recorder_asked(void);

#endif
