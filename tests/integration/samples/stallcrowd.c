/*
 * Waits of known length where processors are scarce: more processes than processors, or others beside them.
 *
 *     mpirun -n N stallcrowd [MILLISECONDS [CASE]]
 *
 * The last rank comes late by MILLISECONDS, which it sleeps or computes. The others wait in a call until it comes. Each
 * one adds up how long its calls took (they need some microseconds themselves), and by how much mpit_stall_time grew.
 * Calls that return before the last rank came do not count. For each case and rank the stalls are to be within 90 and
 * 130 per cent of the waits. Prints a line for each case. Status 1: one was wrong, 77: stalls are not known.
 */
#include <mpi.h>

#include "stalls.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 7, ROUNDS = 4, RANKS_MOST = 16 };

static int rank, ranks, last, faults;
static double late = 0.008;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle stall_handle;
static MPI_Win window;
static int *memory;
static int one, two;
static MPI_Request requests[2];
static MPI_Status statuses[2]; /* gcc warns of MPICH's MPI_STATUSES_IGNORE */
static MPI_Comm made;

static double stalled(void)
{
    unsigned long long slots[SLOTS];
    double sum = 0;
    MPI_T_pvar_read(session, stall_handle, slots);
    for (int i = 0; i < SLOTS; i++)
        sum += (double)slots[i] * 1e-9;
    return sum;
}

/* Of its own processor time, however long that takes. */
static void burn(void)
{
    for (double until = processor_used() + late; processor_used() < until;)
        ;
}

/* ---- the cases: what those that wait call, and what the last one does when it comes ---- */

DOES(nothing, )
DOES(receive, MPI_Recv(&one, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
DOES(send_all, for (int tag = 1; tag < 3; tag++) for (int to = 0; to < last; to++)
                   MPI_Send(&one, 1, MPI_INT, to, tag, MPI_COMM_WORLD))
DOES(receive_second, MPI_Recv(&two, 1, MPI_INT, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
DOES(receive_both, receive(); receive_second())
DOES(probe, MPI_Probe(last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
DOES(post, MPI_Irecv(&one, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &requests[0]);
     MPI_Irecv(&two, 1, MPI_INT, last, 2, MPI_COMM_WORLD, &requests[1]))
DOES(wait_one, MPI_Wait(&requests[0], MPI_STATUS_IGNORE))
DOES(wait_other, MPI_Wait(&requests[1], MPI_STATUS_IGNORE))
DOES(wait_all, MPI_Waitall(2, requests, statuses))
DOES(barrier, MPI_Barrier(MPI_COMM_WORLD))
DOES(reduce, MPI_Reduce(&one, &two, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD))
DOES(allreduce, MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))
DOES(fence, MPI_Win_fence(0, window))
DOES(lock_own, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, window))
DOES(unlock, MPI_Win_unlock(last, window))
DOES(get_locked, lock_own(); MPI_Get(&two, 1, MPI_INT, last, 0, 1, MPI_INT, window); MPI_Win_flush(last, window);
     unlock())
DOES(duplicate, MPI_Comm_dup(MPI_COMM_WORLD, &made))
DOES(split, MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made))
DOES(free_made, MPI_Comm_free(&made))

static const struct test {
    const char *name;
    void (*early)(void), (*waits)(void), (*before)(void), (*comes)(void), (*after)(void), (*after_last)(void);
} tests[] = {
    {"Recv", nothing, receive, nothing, send_all, receive_second, nothing},
    {"Probe", nothing, probe, nothing, send_all, receive_both, nothing},
    {"Wait", post, wait_one, nothing, send_all, wait_other, nothing},
    {"Waitall", post, wait_all, nothing, send_all, nothing, nothing},
    {"Barrier", nothing, barrier, nothing, barrier, nothing, nothing},
    {"Reduce", nothing, reduce, nothing, reduce, nothing, nothing},
    {"Allreduce", nothing, allreduce, nothing, allreduce, nothing, nothing},
    {"Win_fence", nothing, fence, nothing, fence, nothing, nothing},
    {"Win_lock, get, flush", nothing, get_locked, lock_own, unlock, nothing, nothing},
    {"Comm_dup", nothing, duplicate, nothing, duplicate, free_made, free_made},
    {"Comm_split", nothing, split, nothing, split, free_made, free_made},
};

struct sum {
    double waited, stalled;
};

static void round_do(const struct test *test, bool sleeps, struct sum *sum)
{
    double came = 0, begun = 0, ended = 0, before = 0, after = 0;
    if (rank == last)
        test->before();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) {
        if (sleeps)
            usleep((useconds_t)(late * 1e6));
        else
            burn();
        came = now();
        test->comes();
        test->after_last();
    } else {
        test->early();
        before = stalled();
        begun = now();
        test->waits();
        ended = now();
        after = stalled();
        test->after();
    }
    MPI_Barrier(MPI_COMM_WORLD); /* only now may the last one lock anew */
    MPI_Bcast(&came, 1, MPI_DOUBLE, last, MPI_COMM_WORLD);
    if (rank != last && ended > came && came - begun > late / 2) {
        sum->waited += ended - begun;
        sum->stalled += after - before;
    }
}

static void run(const struct test *test, bool sleeps)
{
    struct sum own = {0, 0}, all[RANKS_MOST];
    for (int i = 0; i < ROUNDS; i++)
        round_do(test, sleeps, &own);
    MPI_Gather(&own, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    bool right = true;
    for (int i = 0; i < last; i++)
        right = right && all[i].stalled >= 0.9 * all[i].waited && all[i].stalled <= 1.3 * all[i].waited;
    printf("%s: %s, %s:", right ? "ok" : "WRONG", test->name, sleeps ? "sleeps" : "computes");
    for (int i = 0; i < last; i++)
        printf(" stalled %.1f of %.1f ms", all[i].stalled * 1e3, all[i].waited * 1e3);
    printf("\n");
    faults += !right;
}

int main(int argc, char **argv)
{
    int provided;
    unsigned long long known = 0;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    last = ranks - 1;
    if (argc > 1)
        late = atof(argv[1]) / 1e3;
    MPI_T_pvar_session_create(&session);
    stall_handle = handle_of(session, "mpit_stall_time", MPI_T_PVAR_CLASS_TIMER);
    MPI_T_pvar_read(session, handle_of(session, "mpit_stall_known", MPI_T_PVAR_CLASS_GENERIC), &known);
    if (!known)
        exit(77);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        for (int sleeps = 0; sleeps < 2; sleeps++)
            if (argc < 3 || strcmp(argv[2], tests[i].name) == 0)
                run(&tests[i], sleeps);
    MPI_Win_free(&window);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return faults != 0;
}
