/*
 * A profiler as MPI State Profiling describes it: finds mpi_collector_api by dlsym, and asks for the thread's state at
 * every tick of a timer, in the signal handler.
 *
 *     mpirun -n 2 collector [MILLISECONDS]
 *
 * Rank 0 computes, receives a message that is late, and computes again; rank 1 is late. The ticks of each stretch have
 * to be in the state of that stretch (a tick at its edge may belong to either side), the variable mpit_state has to say
 * the same, and the ticks inside the receive have to be as many as mpit_stall_time says, within what so many ticks can
 * tell. A thread that never calls MPI is not in it. Status 1: something was wrong; 77: there is no mpi_collector_api.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include "stalls.h"

#include "mpit/collector.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { STATES = 7, TICK_MICROSECONDS = 1000, STRETCHES = 3, TRIES = 8 };

static mpi_collector_api_t state_of;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle state_handle, stall_handle;
static volatile sig_atomic_t stretch, ticks[STRETCHES][STATES], other_values, differ;
static pthread_t sampled;

/* MPI makes threads of its own, which may get the signal: it is sent on. */
static void tick(int signal)
{
    if (!pthread_equal(pthread_self(), sampled)) {
        pthread_kill(sampled, signal);
        return;
    }
    int state = state_of(NULL), shown = -1;
    if (MPI_T_pvar_read(session, state_handle, &shown) != MPI_SUCCESS || shown != state)
        differ++;
    if (state < 0 || state >= STATES)
        other_values++;
    else
        ticks[stretch][state]++;
}

static void timer_set(int microseconds)
{
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &every, NULL);
}

static void *stranger(void *seen)
{
    *(int *)seen = state_of(NULL);
    return NULL;
}

/* Ticks at the edges, and those that came while the kernel was late. */
static int judge(const char *name, int of, int state, double share)
{
    int all = 0;
    for (int i = 0; i < STATES; i++)
        all += ticks[of][i];
    int good = all >= 10 && ticks[of][state] >= all * share - 3;
    printf("%s: %s: %d of %d ticks in state %d\n", good ? "ok" : "no", name, (int)ticks[of][state], all, state);
    return !good;
}

static int sample(double late)
{
    int one = 0, faults = 0;
    unsigned long long before[STATES] = {0}, after[STATES] = {0};
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sampled = pthread_self();
    stretch = 0;
    for (int i = 0; i < STRETCHES * STATES; i++)
        ticks[i / STATES][i % STATES] = 0;
    sigaction(SIGALRM, &action, NULL);
    MPI_T_pvar_read(session, stall_handle, before);
    timer_set(TICK_MICROSECONDS);
    compute(late / 2);
    stretch = 1;
    MPI_Recv(&one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    stretch = 2;
    compute(late / 2);
    timer_set(0);
    MPI_T_pvar_read(session, stall_handle, after);
    faults += judge("computing", 0, MPIT_STATE_NOT_IN_MPI, 1);
    faults += judge("receiving what is late", 1, MPIT_STATE_STALL_RECV, 0.95);
    faults += judge("computing again", 2, MPIT_STATE_NOT_IN_MPI, 1);
    double stalled = (double)(after[MPIT_STATE_STALL_RECV] - before[MPIT_STATE_STALL_RECV]) * 1e-9;
    double seen = 0, all = 0;
    for (int i = 0; i < STRETCHES; i++)
        for (int j = 0; j < STATES; j++) {
            all += ticks[i][j];
            seen += j == MPIT_STATE_STALL_RECV ? ticks[i][j] : 0;
        }
    double share = seen / all, exact = stalled / (late + stalled);
    int few = all < 0.9 * (late + stalled) * 1e6 / TICK_MICROSECONDS; /* ticks that come together are one: no sample */
    int close = few || (share - exact < 0.05 && exact - share < 0.05);
    printf("%s: %.1f %% of the ticks are stalled, and %.1f %% of the time%s\n", close ? "ok" : "no", share * 100,
           exact * 100, few ? " (too many ticks were lost to compare them)" : "");
    if (other_values || differ)
        printf("no: %d values that are no state, %d that mpit_state did not have\n", (int)other_values, (int)differ);
    return faults + !close + (other_values || differ);
}

int main(int argc, char **argv)
{
    int rank, provided, faults = 0, early;
    double late = argc > 1 ? atof(argv[1]) * 1e-3 : 0.3;
    state_of = (mpi_collector_api_t)dlsym(RTLD_DEFAULT, "mpi_collector_api");
    if (!state_of)
        return 77;
    early = state_of(NULL);
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_pvar_session_create(&session);
    state_handle = handle_of(session, "mpit_state", MPI_T_PVAR_CLASS_STATE);
    stall_handle = handle_of(session, "mpit_stall_time", MPI_T_PVAR_CLASS_TIMER);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        pthread_t thread;
        int seen = -1;
        if (pthread_create(&thread, NULL, stranger, &seen) == 0)
            pthread_join(thread, NULL);
        int never = seen == MPIT_STATE_NOT_IN_MPI && early == MPIT_STATE_NOT_IN_MPI;
        printf("%s: before MPI_Init, and in a thread that never called MPI: not in MPI\n", never ? "ok" : "WRONG");
        faults = !never;
    }
    int wrong = 1; /* other programs may take the processor away, and ticks that are late become one */
    for (int tries = 0; wrong && tries < TRIES; tries++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            wrong = sample(late);
        } else {
            compute(late * 1.5);
            MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        }
        MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    faults += wrong;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    if (faults)
        printf("WRONG\n");
    return faults != 0;
}
