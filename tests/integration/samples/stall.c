/*
 * Waits whose length the program knows, against what mpit says that the calls were stalled.
 *
 *     mpirun -n 2 stall [MILLISECONDS [CASE]]
 *
 * Each case twice: as it is, and after many short waits, when probes may look at polls less often.
 *
 * Rank 1 is late by MILLISECONDS; both note the time of the node's clock at which they came. Rank 0 reads its own
 * mpit_stall_time and mpit_work_time around the call. Time in the call without a processor is stalled, too. A case is
 * tried a few times, since other programs may take the processor away in between: one of them has to be right within 2
 * per cent. Prints a line for each case; status 1: one was wrong, 77: the variables are not there, or stalls are not
 * known.
 */
#include <mpi.h>

#include "stalls.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 7, TRIES = 12, LARGE = 64 << 20, LARGE_TRIES = 30, BUFFERED = 1 << 20 };
enum { STALL_SEND = 2, STALL_RECV, STALL_COLL, STALL_WAIT, STALL_OTHER };

static int rank, faults;
static double late = 0.1;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle stall_handle, work_handle, known_handle;
static MPI_Win window;
static int *memory;
static char *large;

struct times {
    unsigned long long stall[SLOTS], work;
};

static struct times times_read(void)
{
    struct times times;
    MPI_T_pvar_read(session, stall_handle, times.stall);
    MPI_T_pvar_read(session, work_handle, &times.work);
    return times;
}

/* ---- the cases: what rank 0 calls, and what rank 1 does when it comes ---- */

static int one, two;
static MPI_Request requests[2];

DOES(receive, MPI_Recv(&one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
DOES(send_one, MPI_Send(&one, 1, MPI_INT, 0, 1, MPI_COMM_WORLD))
DOES(probe, MPI_Probe(1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
DOES(post, MPI_Irecv(&one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]))
DOES(post_two, post(); MPI_Irecv(&two, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]))
DOES(wait_one, MPI_Wait(&requests[0], MPI_STATUS_IGNORE))
DOES(wait_all, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE))
DOES(test_loop, for (int done = 0; !done;) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE))
DOES(send_two, send_one(); MPI_Send(&two, 1, MPI_INT, 0, 2, MPI_COMM_WORLD))
DOES(synchronous, MPI_Ssend(&one, 1, MPI_INT, 1, 3, MPI_COMM_WORLD))
DOES(receive_late, MPI_Recv(&one, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
DOES(exchange,
     MPI_Sendrecv(&one, 1, MPI_INT, 1 - rank, 4, &two, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
DOES(barrier, MPI_Barrier(MPI_COMM_WORLD))
DOES(allreduce, MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))
DOES(fence, MPI_Win_fence(0, window))
DOES(lock_get, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window); MPI_Get(&two, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
     MPI_Win_unlock(1, window))
DOES(lock_own, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window))
DOES(unlock_own, MPI_Win_unlock(1, window))
DOES(buffered, MPI_Buffer_attach(large, LARGE);
     MPI_Bsend(large + LARGE - BUFFERED, BUFFERED, MPI_BYTE, 1, 7, MPI_COMM_WORLD))
DOES(detach, void *buffer; int bytes; MPI_Buffer_detach(&buffer, &bytes))
DOES(receive_buffered, MPI_Recv(large, BUFFERED, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
DOES(nothing, )

static const struct test {
    const char *name;
    int reason; /* 0: it must not be stalled */
    void (*early)(void), (*waits)(void), (*before)(void), (*comes)(void);
    void (*after)(void); /* rank 0, to take what was probed */
} tests[] = {
    {"Recv", STALL_RECV, nothing, receive, nothing, send_one, nothing},
    {"Probe", STALL_RECV, nothing, probe, nothing, send_one, receive},
    {"Sendrecv", STALL_RECV, nothing, exchange, nothing, exchange, nothing},
    {"Ssend", STALL_SEND, nothing, synchronous, nothing, receive_late, nothing},
    {"Wait", STALL_WAIT, post, wait_one, nothing, send_one, nothing},
    {"Waitall", STALL_WAIT, post_two, wait_all, nothing, send_two, nothing},
    {"Test loop", 0, post, test_loop, nothing, send_one, nothing},
    {"Buffer_detach", STALL_SEND, buffered, detach, nothing, receive_buffered, nothing},
    {"Barrier", STALL_COLL, nothing, barrier, nothing, barrier, nothing},
    {"Allreduce", STALL_COLL, nothing, allreduce, nothing, allreduce, nothing},
    {"Win_fence", STALL_OTHER, nothing, fence, nothing, fence, nothing},
    {"Win_lock", STALL_OTHER, nothing, lock_get, lock_own, unlock_own, nothing},
};

static int rested, did_not_wait;

static void short_waits(void)
{
    enum { ROUNDS = 500, TAG = 6 };
    int token = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&token, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
}

/* Whether it was right; says how it was. */
static int tried(const struct test *test, char *said, size_t room)
{
    double came[2] = {0, 0}, without = 0; /* seconds of the call without a processor */
    struct times before, after;
    memset(&before, 0, sizeof before);
    memset(&after, 0, sizeof after);
    if (rank == 1)
        test->before(); /* holds what rank 0 wants */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rested)
        short_waits();
    if (rank == 0) {
        test->early();
        before = times_read();
        came[0] = now();
        double used = processor_used();
        test->waits();
        without = now() - came[0] - (processor_used() - used);
        after = times_read();
        test->after();
    } else {
        compute(late);
        came[1] = now();
        test->comes();
    }
    double ended = now();
    MPI_Bcast(&came[1], 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    int right = 0;
    if (rank == 0) {
        double wait = (came[1] - came[0]) * 1e9, all = 0;
        for (int i = 0; i < SLOTS; i++)
            all += (double)(after.stall[i] - before.stall[i]);
        double stalled = test->reason ? (double)(after.stall[test->reason] - before.stall[test->reason]) : 0;
        double error = test->reason ? (stalled - wait) / wait : all / wait;
        right = error > -0.02 && (test->reason ? stalled < wait * 1.02 + without * 1e9 : error < 0.02) &&
                all == stalled + (test->reason ? 0 : all);
        if (test->waits == detach && ended - came[0] < late / 10)
            did_not_wait++; /* libfabric has taken the message when the other one polled last */
        snprintf(said, room, "waited %.3f ms, stalled %.3f ms (%+.2f %%), work %.3f ms, %.3f ms in the call",
                 wait / 1e6, (test->reason ? stalled : all) / 1e6, error * 100,
                 (double)(after.work - before.work) / 1e6, (ended - came[0]) * 1e3);
    }
    MPI_Bcast(&right, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return right;
}

static void run(const struct test *test)
{
    char said[256] = "";
    int right = 0, tries = 0;
    did_not_wait = 0;
    while (!right && tries++ < TRIES)
        right = tried(test, said, sizeof said);
    MPI_Bcast(&did_not_wait, 1, MPI_INT, 0, MPI_COMM_WORLD);
    right = right || did_not_wait == TRIES; /* then there is no stall to be seen */
    if (rank == 0)
        printf("%s: %s%s: %s%s\n", right ? "ok" : "WRONG", test->name, rested ? " after short waits" : "", said,
               tries > 1 ? " (not at once)" : "");
    faults += !right;
}

/* Both are there: what the receiver does is to move data, and not to wait. */
static void run_large(void)
{
    int right = 0;
    double share = 0;
    for (int tries = 0; !right && tries < LARGE_TRIES; tries++) {
        struct times before, after;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rested)
            short_waits();
        before = times_read();
        if (rank == 0)
            MPI_Recv(large, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(large, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
        after = times_read();
        double stalled = (double)(after.stall[STALL_RECV] - before.stall[STALL_RECV]),
               work = (double)(after.work - before.work);
        share = work / (stalled + work);
        right = share > 0.5;
        MPI_Bcast(&right, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%s: large transfer%s: %.1f %% of the receive is work\n", right ? "ok" : "WRONG",
               rested ? " after short waits" : "", share * 100);
    faults += !right;
}

int main(int argc, char **argv)
{
    int provided;
    const char *only = argc > 2 ? argv[2] : NULL;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1)
        late = atof(argv[1]) / 1e3;
    MPI_T_pvar_session_create(&session);
    stall_handle = handle_of(session, "mpit_stall_time", MPI_T_PVAR_CLASS_TIMER);
    work_handle = handle_of(session, "mpit_work_time", MPI_T_PVAR_CLASS_TIMER);
    known_handle = handle_of(session, "mpit_stall_known", MPI_T_PVAR_CLASS_GENERIC);
    unsigned long long known = 0;
    MPI_T_pvar_read(session, known_handle, &known);
    if (!known)
        exit(77);
    large = malloc(LARGE);
    memset(large, rank, LARGE);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    for (rested = 0; rested < 2; rested++) {
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
            if (!only || strcmp(only, tests[i].name) == 0)
                run(&tests[i]);
        if (!only || strcmp(only, "large") == 0)
            run_large();
    }
    MPI_Win_free(&window);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return faults != 0;
}
