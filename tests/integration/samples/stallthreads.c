/*
 * Threads that wait at once are all stalled, though MPI lets only one of them make progress; and mpit_stall_fraction
 * begins when its handle is allocated. The thread that does not wait sees each of the others in its call, and for how
 * long.
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

enum { SEEN_MOST = 256 };

/* How many threads are stalled in MPI_Recv now, for at least that long; -1: the variables do not agree. */
static int waiting(double seconds)
{
    static int states[SEEN_MOST], calls[SEEN_MOST];
    static unsigned long long times[SEEN_MOST], ids[SEEN_MOST];
    MPI_T_pvar_handle handles[] = {handle_of(session, "mpit_thread_state", MPI_T_PVAR_CLASS_STATE),
                                   handle_of(session, "mpit_thread_call", MPI_T_PVAR_CLASS_STATE),
                                   handle_of(session, "mpit_thread_call_time", MPI_T_PVAR_CLASS_LEVEL),
                                   handle_of(session, "mpit_thread_id", MPI_T_PVAR_CLASS_GENERIC)};
    void *values[] = {states, calls, times, ids};
    int found = 0, call = 0;
    for (int i = 0; i < 4; i++) {
        MPI_T_pvar_read(session, handles[i], values[i]);
        MPI_T_pvar_handle_free(session, &handles[i]);
    }
    for (int i = 0; i < SEEN_MOST; i++) {
        if (states[i] != STALL_RECV || times[i] < seconds * 1e9)
            continue;
        if (!calls[i] || (call && calls[i] != call) || !ids[i])
            return -1;
        call = calls[i];
        found++;
    }
    return found;
}

/* Of all threads together, in waits; and the fraction beside what it has to be. */
static double receivers(double late, double *fraction, double *share, int *seen)
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
    const struct timespec half = {0, (long)(late * 0.5e9)};
    nanosleep(&half, NULL);
    *seen = waiting(late / 5);
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
        int seen = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            stalled = receivers(late, &fraction, &share, &seen);
            double waits = stalled / late;
            right = waits > THREADS * 0.9 && waits < THREADS * 1.3 && fraction - share < 0.05 &&
                    share - fraction < 0.05 && seen == THREADS;
            printf("%s: %d threads were stalled for %.2f times the wait, fraction %.3f, which should be %.3f; %d were "
                   "seen to wait\n",
                   right ? "ok" : "no", THREADS, waits, fraction, share, seen);
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
