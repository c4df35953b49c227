/*
 * clockreads: the least that any recorder with begin and end of a call adds to it. Preloaded, it reads the clock
 * before and after MPI_Send and MPI_Recv and keeps the two, and nothing more.
 */
#include <mpi.h>

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static volatile uint64_t begun, ended;

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    begun = ticks();
    int result = PMPI_Send(data, count, type, dest, tag, comm);
    ended = ticks();
    return result;
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    begun = ticks();
    int result = PMPI_Recv(data, count, type, source, tag, comm, status);
    ended = ticks();
    return result;
}
