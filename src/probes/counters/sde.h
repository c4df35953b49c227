/*
 * The other way round: mpit's variables as software-defined events of PAPI, so that a tool which knows PAPI reads them:
 *
 *     sde:::mpit::mpit_mpi_time      sde:::mpit::mpit_call_count:MPI_Send      sde:::mpit::mpit_send_bytes
 *
 * Only sums are offered. Variables that are bound to a communicator are offered for MPI_COMM_WORLD. libsde is loaded if
 * mpit_sde asks for it. PAPI must be able to see it, and looks for it when it is initialized, so that must happen after
 * MPI_Init. A read costs as much as a read of the variable. Without reads there is no cost.
 */
#ifndef MPIT_PROBES_SDE_H
#define MPIT_PROBES_SDE_H

/* MPI is initialized. */
void sde_publish(void (*say)(const char *format, ...));

#endif
