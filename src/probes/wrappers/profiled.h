/*
 * PMPI_*: calls of a profiling tool in front of mpit.
 *
 *   program ──> MPI_Recv of a tool, in the program or preloaded first ──> PMPI_Recv ──> wrapper of MPI_Recv ──> library
 *   program ──> MPI_Recv: wrapper ──> MPI_Recv of a tool behind ──> PMPI_Recv ──> library
 *
 * The program's call reaches mpit once in either order. If the program calls the tool's definition of a function,
 * PMPI_name leads to the wrapper. If the program hides its definitions, all PMPI_* do. Everywhere else PMPI_name
 * passes. So calls of a tool behind mpit, or of the library itself, are not counted a second time. The library's
 * Fortran layer is an exception (caller.h): its calls reach mpit only here. Sometimes a tool in front and a tool behind
 * define the same function. Then the call of the first to PMPI_name is not seen. PMPI_Init, PMPI_Init_thread and
 * PMPI_Finalize are always seen: the recorder is ready when the first two return, also for a tool behind.
 */
#ifndef MPIT_PROBES_PROFILED_H
#define MPIT_PROBES_PROFILED_H

/* Lets the gates pass that no tool in front of mpit needs. Call it after the next definitions were found. */
void profiled_find(void);
/* Lets all of them pass. */
void profiled_pass(void);

#endif
