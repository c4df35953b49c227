/*
 * A program's own count of its MPI calls, compared with mpit_call_count. Also handles on single variables.
 *
 *     CALL(MPI_Send, ...)       makes the call, which has to succeed, and counts it
 *     callcount_compare(...)    every function that was called by CALL: the same count in mpit_call_count
 *
 * Open MPI 4 has the persistent collectives under the names MPIX_*. mpit counts them under MPI's, and so does CALL.
 */
#ifndef CALLCOUNT_H
#define CALLCOUNT_H

#include <mpi.h>
#include <stdio.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allgatherv_init MPIX_Allgatherv_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Exscan_init MPIX_Exscan_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Gatherv_init MPIX_Gatherv_init
#define MPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init
#define MPI_Neighbor_allgatherv_init MPIX_Neighbor_allgatherv_init
#define MPI_Neighbor_alltoall_init MPIX_Neighbor_alltoall_init
#define MPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init
#define MPI_Neighbor_alltoallw_init MPIX_Neighbor_alltoallw_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#define MPI_Scan_init MPIX_Scan_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scatterv_init MPIX_Scatterv_init
#endif

extern int rank, size, failures;
extern int absent; /* mpit is not there */

void counted(int code, const char *name);

#define CALL(function, ...) counted(function(__VA_ARGS__), #function)

void check(unsigned long long is, unsigned long long expected, const char *what);

struct watch {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count;
};

struct watch watch_open(const char *name, int class, void *object);
void watch_read(const struct watch *w, unsigned long long *values);
/* The first value. */
unsigned long long watch_value(const struct watch *w);
/* The value that the enumeration of `variable` (of class `class`) calls `name`. */
int slot_find(const char *variable, int class, const char *name);

/* `w`: mpit_call_count, since before the first CALL. Nothing may have been lost. */
void callcount_compare(const struct watch *w);

/* MPI_Init, ranks; MPI_T_init_thread. */
void callcount_begin(int *argc, char ***argv);
/* Prints the counts of this process as NAME=COUNT, with spaces between them. */
void callcount_print(FILE *out);

/* Says on rank 0 what all found, and ends MPI. The exit status: 0, 1, or 77 without mpit. */
int callcount_end(const char *title);

#endif
