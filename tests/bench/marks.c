/*
 * A library that is preloaded behind mpit: what MPI_Init_thread and MPI_Finalize took of the MPI library alone. The
 * program (growth.c) looks at growth_marks and knows what the rest was. growth_marks[0] is of MPI_Init_thread, [1] of
 * MPI_Finalize: microseconds, and microseconds of processor time of this thread.
 */
#include <mpi.h>

#include <time.h>

extern double growth_marks[2][2];
double growth_marks[2][2];

static double us_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    double wall = us_of(CLOCK_MONOTONIC), processor = us_of(CLOCK_THREAD_CPUTIME_ID);
    int result = PMPI_Init_thread(argc, argv, required, provided);
    growth_marks[0][0] = us_of(CLOCK_MONOTONIC) - wall;
    growth_marks[0][1] = us_of(CLOCK_THREAD_CPUTIME_ID) - processor;
    return result;
}

int MPI_Finalize(void)
{
    double wall = us_of(CLOCK_MONOTONIC), processor = us_of(CLOCK_THREAD_CPUTIME_ID);
    int result = PMPI_Finalize();
    growth_marks[1][0] = us_of(CLOCK_MONOTONIC) - wall;
    growth_marks[1][1] = us_of(CLOCK_THREAD_CPUTIME_ID) - processor;
    return result;
}
