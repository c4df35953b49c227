/*
 * monitorcost: what opening and closing a monitor window takes, with so many communicators in use.
 *
 *     monitorcost [COMMUNICATORS [THREADS]]
 *
 * Without MPI: a book that was filled with sends, receives and collectives, and the snapshots that MPIX_Start_monitor
 * and MPIX_End_monitor take under their lock, all options on. Prints nanoseconds, and pairs of clock reads of this run;
 * the least, and the median, of many. "cold": other memory was walked through in between.
 */
#include "registry/commreuse.h"
#include "monitor/difference.h"
#include "ledgerfixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 2001, COMMS_MOST = 1000, LEDGERS_MOST = 64, COLD_BYTES = 8 << 20 };

static struct comm *comms[COMMS_MOST];
static int comm_count = 10, thread_count = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct snapshot begin, end;
static struct difference difference;
static char *walked;

/* Sizes of 1 byte to 64 KiB, both ways, and four kinds of collectives. */
static void comm_use(struct ledger *ledger, struct comm *comm)
{
    static const enum call kinds[] = {CALL_MPI_Barrier, CALL_MPI_Allreduce, CALL_MPI_Bcast, CALL_MPI_Alltoall};
    struct view *view = view_of(ledger, comm);
    view_page_select(view, 1);
    for (unsigned i = 0; i <= 16; i++)
        for (unsigned way = 0; way < 2; way++) {
            struct event event = {.begin = clock_now(),
                                  .duration = 100,
                                  .kind = way ? CALL_MPI_Send : CALL_MPI_Recv,
                                  .comm = (uint16_t)comm->slot,
                                  .peer = 1,
                                  .bytes = UINT64_C(1) << i};
            fold(&ledger->tally, &view->tally, &event, NULL);
        }
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct event event = {.begin = clock_now(),
                              .duration = 100,
                              .kind = (uint16_t)kinds[i],
                              .comm = (uint16_t)comm->slot,
                              .bytes = 8};
        fold(&ledger->tally, &view->tally, &event, NULL);
    }
}

static void window_open(void)
{
    pthread_mutex_lock(&lock);
    snapshot_take(&begin, NULL, difference_parts(127), SNAPSHOT_BEGIN);
    snapshot_open(&begin);
    pthread_mutex_unlock(&lock);
}

static void window_close(void)
{
    pthread_mutex_lock(&lock);
    snapshot_take(&end, NULL, difference_parts(127), SNAPSHOT_END);
    snapshot_close(&begin);
    pthread_mutex_unlock(&lock);
}

static void clocks(void)
{
    __asm__ volatile("" ::"r"(clock_now()), "r"(clock_now()));
}

static void both(void)
{
    window_open();
    window_close();
}

static void deliver(void)
{
    difference_make(&difference, &begin, &end, NULL, 127);
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* In between each communicator is used, as by a program. */
static void measure(const char *what, void (*body)(void), bool cold, struct ledger *ledger, double pair, double *least)
{
    static double ns[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < comm_count && ledger; i++)
            comm_use(ledger, comms[i]);
        for (size_t i = 0; i < COLD_BYTES && cold; i += 64)
            walked[i]++;
        uint64_t before = clock_now();
        body();
        ns[round] = (double)clock_ns(book.scale, clock_now() - before);
    }
    qsort(ns, ROUNDS, sizeof ns[0], by_size);
    double one = ns[0], middle = ns[ROUNDS / 2];
    if (least)
        *least = one;
    printf("%-34s least %7.0f ns", what, one);
    if (pair > 0)
        printf(" (%5.1f pairs)", one / pair);
    printf(", median %7.0f ns\n", middle);
}

int main(int argc, char **argv)
{
    struct run_problem problem;
    struct ledger *ledgers[LEDGERS_MOST];
    char name[64];
    double pair = 0;
    comm_count = argc > 1 ? atoi(argv[1]) : comm_count;
    thread_count = argc > 2 ? atoi(argv[2]) : thread_count;
    if (comm_count < 1 || comm_count > COMMS_MOST || thread_count < 1 || thread_count > LEDGERS_MOST)
        return fprintf(stderr, "monitorcost: 1 to %d communicators, 1 to %d threads\n", COMMS_MOST, LEDGERS_MOST), 2;
    clock_open();
    walked = calloc(1, COLD_BYTES);
    if (!walked || run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem) != 0 || book_open() != 0)
        return 2;
    book.scale = clock_calibrate();
    for (int t = 0; t < thread_count; t++)
        if (!(ledgers[t] = ledger_make(t + 1)))
            return 2;
    for (int i = 0; i < comm_count; i++) {
        snprintf(name, sizeof name, "comm#%d", i);
        comms[i] = book_comm_add(&(struct comm_facts){.handle = (uint64_t)i + 1, .size = 16, .name = name});
        for (int t = 0; t < thread_count && comms[i]; t++)
            comm_use(ledgers[t], comms[i]);
    }
    if (!snapshot_prepare(&begin) || !snapshot_prepare(&end))
        return 2;
    printf("%d communicators, %d threads\n", comm_count, thread_count);
    measure("a pair of clock reads", clocks, false, NULL, 0, &pair);
    measure("open and close", both, false, NULL, pair, NULL);
    measure("open and close, all in use between", both, false, ledgers[0], pair, NULL);
    measure("open and close, cold", both, true, ledgers[0], pair, NULL);
    measure("the difference, for the report", deliver, false, NULL, pair, NULL);
    window_open();
    for (int i = 0; i < comm_count; i++)
        comm_use(ledgers[0], comms[i]);
    window_close();
    measure("the same, all in use between", deliver, false, NULL, pair, NULL);
    return 0;
}
