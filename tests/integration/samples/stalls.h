/* What the programs share that hold stalls against waits whose length they know. */
#ifndef MPIT_TESTS_STALLS_H
#define MPIT_TESTS_STALLS_H

#include "../common/seconds.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Seconds that the thread has had a processor. */
static inline double processor_used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void compute(double seconds)
{
    for (double until = now() + seconds; now() < until;)
        ;
}

/* DOES(name, STATEMENT...): a function for a table of cases */
#define DOES(name, ...)                                                                                                \
    static void name(void)                                                                                             \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }

/* Ends the program where there is no such variable. */
static inline MPI_T_pvar_handle handle_of(MPI_T_pvar_session session, const char *name, int class)
{
    int index, count;
    MPI_T_pvar_handle handle;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) != MPI_SUCCESS) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    if (class == MPI_T_PVAR_CLASS_TIMER)
        MPI_T_pvar_start(session, handle);
    return handle;
}

#endif
