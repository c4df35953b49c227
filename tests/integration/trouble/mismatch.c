/* mismatch CASE: three ranks or more that come to collectives that do not match, or that only seem so. The last rank is the
 * one that differs. Each collective before is in all ranks: BEFORE of them on the communicator "cells". */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEFORE = 11, LENGTH = 64 };

static int rank, size, last;
static double in[LENGTH], *out;
static MPI_Comm cells;

static void function(void)
{
    if (rank == last)
        MPI_Bcast(in, LENGTH, MPI_DOUBLE, 0, cells);
    else
        MPI_Allreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Barrier(cells);
}

static void barrier(void)
{
    if (rank == last)
        MPI_Barrier(cells);
    else
        MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, cells);
    MPI_Allreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, cells);
}

/* The first rank is the root for all others. */
static void root(void)
{
    MPI_Reduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, rank == last ? last : 0, cells);
    MPI_Barrier(cells);
}

/* In a communicator of the last two ranks. */
static void part(void)
{
    MPI_Comm pair;
    MPI_Comm_split(cells, rank >= last - 1, rank, &pair);
    MPI_Comm_set_name(pair, "pair");
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, pair);
    if (rank == last)
        MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, pair);
    else if (rank == last - 1)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, pair);
    MPI_Barrier(cells);
}

/* Right: those that have left the broadcast are in the next collective. */
static void ahead(void)
{
    MPI_Bcast(in, 1, MPI_DOUBLE, 0, cells);
    if (rank == last)
        sleep(60);
    MPI_Barrier(cells);
}

/* Each of the two orders is right by itself: a deadlock, and no mismatch. */
static void turned(void)
{
    MPI_Comm other;
    MPI_Comm_dup(cells, &other);
    MPI_Comm first = rank == last ? other : cells;
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, first);
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, first == cells ? other : cells);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"function", function}, {"barrier", barrier}, {"root", root},
                 {"part", part},         {"ahead", ahead},     {"turned", turned}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = size - 1;
    out = calloc((size_t)(LENGTH * size), sizeof *out);
    MPI_Comm_dup(MPI_COMM_WORLD, &cells);
    MPI_Comm_set_name(cells, "cells");
    for (int i = 0; i < BEFORE; i++)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    MPI_Finalize();
    free(out);
    return 0;
}
