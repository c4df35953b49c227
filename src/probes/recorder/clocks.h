/*
 * The clocks of the job's nodes, measured when MPI_Init ends, and again around MPI_Finalize (mpit_clock_sync). The
 * leaders of the nodes connect to each other (clocks_tcp.h). They send no message of MPI, and each wait has a bound.
 *
 * One process of each running kernel measures. Readers take its measurements for all processes of the kernel
 * (tools/job/timeline.h).
 */
#ifndef MPIT_PROBES_CLOCKS_H
#define MPIT_PROBES_CLOCKS_H

#include <stdbool.h>

/* Call these in order: before and after the library's MPI_Init, before and after its MPI_Finalize. Only for a process
 * with MPIT_OUTPUT set. `traced`: the job has a trace, or a brief one. */
void clocks_expect(bool traced);
void clocks_begin(bool traced);
void clocks_end(bool traced);
void clocks_ended(void);

#endif
