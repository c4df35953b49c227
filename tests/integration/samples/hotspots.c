/*
 * Ranks that wait for known functions of other ranks.
 *
 *   each round:  All ranks sweep. Rank 2 also computes chemistry, and all wait for it in MPI_Allreduce.
 *                Even rounds: rank 1 writes its log and sends. Rank 0 waits for the message.
 *                Odd rounds: rank 1 takes longer, in quick, and sends. Rank 0 takes still longer, in own_work, and does
 *                not wait.
 *                All wait in MPI_Barrier.
 *
 * So rank 1 spends most of its time before the send in quick, but rank 0 waits for write_log. In MPI_Barrier all wait for
 * own_work, though rank 0 has received since.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { SWEEP_MS = 3, CHEMISTRY_MS = 25, LOG_MS = 20, QUICK_MS = 30, OWN_MS = 60, ROUNDS = 16 };

static volatile double sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The test looks for the lines of these functions. */
#define SPEND(ms)                                                                                                      \
    do {                                                                                                               \
        for (double end = now() + (ms)*1e-3; now() < end;)                                                             \
            for (int i = 0; i < 20000; i++)                                                                            \
                sink += i * 0.5;                                                                                       \
    } while (0)

__attribute__((noinline)) static void sweep(void)
{
    SPEND(SWEEP_MS);
}

__attribute__((noinline)) static void chemistry(void)
{
    SPEND(CHEMISTRY_MS); /* the hot line of rank 2 */
}

__attribute__((noinline)) static void write_log(void)
{
    SPEND(LOG_MS); /* the hot line of rank 1 */
}

__attribute__((noinline)) static void quick(void)
{
    SPEND(QUICK_MS);
}

__attribute__((noinline)) static void own_work(void)
{
    SPEND(OWN_MS); /* the hot line of rank 0 */
}

__attribute__((noinline)) static void hand_over(int rank, int round)
{
    int value = round;
    if (rank == 1) {
        if (round % 2)
            quick();
        else
            write_log();
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else if (rank == 0) {
        if (round % 2)
            own_work();
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char *argv[])
{
    int rank, rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    double mine = 1, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; round++) {
        sweep();
        if (rank == 2)
            chemistry();
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        hand_over(rank, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
