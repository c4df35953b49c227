/*
 * The other way round: mpit's variables as software-defined events of PAPI, so that a tool which knows PAPI reads them:
 *
 *     sde:::mpit::mpit_mpi_time      sde:::mpit::mpit_call_count:MPI_Send      sde:::mpit::mpit_send_bytes
 *
 * Sums alone; those that are bound to a communicator for MPI_COMM_WORLD. libsde is loaded where mpit_sde asks for it,
 * in sight of PAPI, which looks for it when it is initialized: that has to happen behind MPI_Init. A read costs what a
 * read of the variable costs, and nobody pays before.
 */
#ifndef MPIT_PROBES_SDE_H
#define MPIT_PROBES_SDE_H

/* MPI is initialized. */
void sde_publish(void (*say)(const char *format, ...));

#endif
