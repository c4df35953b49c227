/*
 * Says on standard error what a tool reads: stands in the program, and so before every library's PMPI_T_pvar_read.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    static int (*next)(MPI_T_pvar_session, MPI_T_pvar_handle, void *);
    if (!next)
        next = (int (*)(MPI_T_pvar_session, MPI_T_pvar_handle, void *))dlsym(RTLD_NEXT, "PMPI_T_pvar_read");
    int result = next(session, handle, buf), rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "spy: rank %d reads %d, result %d\n", rank, *(int *)buf, result);
    return result;
}
