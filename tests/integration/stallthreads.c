/*
 * Threads that wait at once are all stalled, though MPI lets only one of them make progress; and mpit_stall_fraction
 * begins when its handle is allocated.
 *
 *     mpirun -n 2 stallthreads [MILLISECONDS]
 *
 * Rank 1 is late with a message to each thread of rank 0, a few times; one of them has to be right. Status 1: none was.
 */
#include <mpi.h>

#include "stalls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 3, SLOTS = 7, STALL_RECV = 3, TRIES = 10 };

static MPI_T_pvar_session session;

static void *receive(void *tag)
{
    int one;
    MPI_Recv(&one, 1, MPI_INT, 1, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

/* Of all threads together, in waits; and the fraction beside what it has to be. */
static double receivers(double *fraction, double *share)
{
    unsigned long long before[SLOTS], after[SLOTS];
    int tags[THREADS], rest;
    pthread_t threads[THREADS];
    MPI_T_pvar_handle stall = handle_of(session, "mpit_stall_time", MPI_T_PVAR_CLASS_TIMER);
    MPI_T_pvar_read(session, stall, before);
    MPI_T_pvar_handle part = handle_of(session, "mpit_stall_fraction", MPI_T_PVAR_CLASS_PERCENTAGE);
    double begun = now();
    for (int i = 0; i < THREADS; i++) {
        tags[i] = i;
        rest = pthread_create(&threads[i], NULL, receive, &tags[i]);
        if (rest != 0)
            exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    double lasted = now() - begun;
    MPI_T_pvar_read(session, part, fraction);
    MPI_T_pvar_read(session, stall, after);
    double stalled = (double)(after[STALL_RECV] - before[STALL_RECV]) * 1e-9;
    *share = stalled / (lasted * (THREADS + 1)); /* this thread has called MPI, too */
    MPI_T_pvar_handle_free(session, &part);
    MPI_T_pvar_handle_free(session, &stall);
    return stalled;
}

int main(int argc, char **argv)
{
    int provided, rank, right = 0;
    double late = argc > 1 ? atof(argv[1]) * 1e-3 : 0.1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_pvar_session_create(&session);
    for (int tries = 0; !right && tries < TRIES; tries++) {
        double fraction = 0, share = 0, stalled = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            stalled = receivers(&fraction, &share);
            double waits = stalled / late;
            right =
                waits > THREADS * 0.9 && waits < THREADS * 1.3 && fraction - share < 0.05 && share - fraction < 0.05;
            printf("%s: %d threads were stalled for %.2f times the wait, fraction %.3f, which should be %.3f\n",
                   right ? "ok" : "no", THREADS, waits, fraction, share);
        } else {
            compute(late);
            for (int i = 0; i < THREADS; i++)
                MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
        MPI_Bcast(&right, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (!right && rank == 0)
        printf("WRONG\n");
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return !right;
}
