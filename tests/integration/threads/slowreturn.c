/* Preloaded behind mpit: MPI_Wait returns late. The library has given the request back by then, and mpit has not seen it:
 * its handle may be another thread's. */
#include <mpi.h>

#include <unistd.h>

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int result = PMPI_Wait(request, status);
    usleep(1);
    return result;
}
