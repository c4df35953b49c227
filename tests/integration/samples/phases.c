/*
 * A program that spends its time where it says: rank 1 computes in known functions and then sends; rank 0 computes less
 * and waits for it, and both exchange a large message.
 *
 *   rank 0:  main > rounds > { compute_short, receive_late > MPI_Recv, exchange_large > MPI_Sendrecv }
 *   rank 1:  main > rounds > { compute_long > { compute_outer, compute_inner }, MPI_Send,
 *                              exchange_large > MPI_Sendrecv }
 *
 * Prints, for each rank, how long it was in which of them, by a clock of its own.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SHORT_MS = 10, OUTER_MS = 20, INNER_MS = 30, LARGE = 4 << 20, LARGE_TIMES = 4 };

static volatile double sink;
static double spent[6];
static const char *const names[] = {"compute_short", "receive_late",  "exchange_large",
                                    "compute_outer", "compute_inner", "send"};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of a function that the compiler leaves where it is: its samples are its own, but for those in clock_gettime. */
#define COMPUTE(name, ms, place)                                                                                       \
    __attribute__((noinline)) static void name(void)                                                                   \
    {                                                                                                                  \
        double begin = now(), end = begin;                                                                             \
        while ((end = now()) - begin < (ms)*1e-3)                                                                      \
            for (int i = 0; i < 20000; i++)                                                                            \
                sink += i * 0.5;                                                                                       \
        spent[place] += end - begin;                                                                                   \
    }

COMPUTE(compute_short, SHORT_MS, 0)
COMPUTE(compute_outer, OUTER_MS, 3)
COMPUTE(compute_inner, INNER_MS, 4)

__attribute__((noinline)) static void compute_long(void)
{
    compute_outer();
    compute_inner();
    sink += 1;
}

__attribute__((noinline)) static void receive_late(int *value)
{
    double begin = now();
    MPI_Recv(value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the late sender */
    spent[1] += now() - begin;
}

__attribute__((noinline)) static void exchange_large(int rank, char *out, char *in)
{
    double begin = now();
    for (int i = 0; i < LARGE_TIMES; i++)
        MPI_Sendrecv(out, LARGE, MPI_CHAR, 1 - rank, 1, in, LARGE, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    spent[2] += now() - begin;
}

__attribute__((noinline)) static void rounds(int rank, int count, char *out, char *in)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (rank == 0) {
            compute_short();
            receive_late(&value);
        } else {
            compute_long();
            double begin = now();
            MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            spent[5] += now() - begin;
        }
        exchange_large(rank, out, in);
    }
}

int main(int argc, char *argv[])
{
    int rank, count = argc > 1 ? atoi(argv[1]) : 20;
    char text[512];
    size_t used = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *out = calloc(LARGE, 1), *in = calloc(LARGE, 1);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    rounds(rank, count, out, in);
    used = (size_t)snprintf(text, sizeof text, "rank %d all %.6f", rank, now() - begin);
    for (int i = 0; i < 6; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s %.6f", names[i], spent[i]);
    printf("%s\n", text);
    fflush(stdout);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
