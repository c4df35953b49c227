/*
 * PMPI_*: calls of a profiling tool that stands before mpit.
 *
 *   program ──> MPI_Recv of a tool, in the program or preloaded first ──> PMPI_Recv ──> wrapper of MPI_Recv ──> library
 *   program ──> MPI_Recv: wrapper ──> MPI_Recv of a tool behind ──> PMPI_Recv ──> library
 *
 * The program's call reaches mpit once in either order. Where the tool's definition of a function is the one that the
 * program calls, PMPI_name leads to the wrapper (where the program hides its definitions: all of PMPI_* do); everywhere
 * else it passes, so that what a tool behind mpit or the library itself calls is not counted a second time; but not for
 * the library's Fortran layer (fortran.c), whose calls come to mpit nowhere else. Of a function that one tool before
 * and one behind define, what the first calls as PMPI_name is not seen. PMPI_Init, PMPI_Init_thread and PMPI_Finalize
 * always come by: the recorder is ready when the first two return, also for a tool behind.
 */
#ifndef MPIT_PROBES_PROFILED_H
#define MPIT_PROBES_PROFILED_H

/* Lets those gates pass that nobody before mpit needs; after the next definitions were found. */
void profiled_find(void);
/* Lets all of them pass. */
void profiled_pass(void);

#endif
