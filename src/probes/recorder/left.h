/* What the process has made and not freed at the end of MPI, for its run file (struct run_left). */
#ifndef MPIT_PROBES_LEFT_H
#define MPIT_PROBES_LEFT_H

/* Call it when the last MPI_Finalize or MPI_Session_finalize begins. */
void left_end(void);

#endif
