/* Two groups with communicators of their own, {0,1} and {2,3}. Rank 3 takes 30 ms for a step, all others 10 ms. Its leader, rank 2, waits for it in the reduction of
 * the group, and passes the sum on to rank 0 late; rank 0 broadcasts it late to rank 1. The leaders 2 and 0 only waited. Fixed: the same work, spread evenly. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 40 };
static int rank, size;
static MPI_Comm group;

static void refine(void)
{
    double ms = 10;
    if (bench.sick && rank == 3)
        ms = 30; /* @cause */
    if (!bench.sick)
        ms = (30 + 10.0 * (size - 1)) / size;
    bench_work(ms * 1e-3); /* @cause */
}

static void group_sum(double *x)
{
    double mine = *x;
    MPI_Reduce(&mine, x, 1, MPI_DOUBLE, MPI_SUM, 0, group); /* @symptom @cause */
}

static void bridge(double *x)
{
    if (rank == 2)
        MPI_Send(x, 1, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD);
    else
        MPI_Recv(x, 1, MPI_DOUBLE, 2, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @symptom */
}

static void tell_group(double *x)
{
    MPI_Bcast(x, 1, MPI_DOUBLE, 0, group); /* @symptom */
}

int main(int argc, char **argv)
{
    double x = 1;
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &group);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    for (int i = 0; i < STEPS; i++) {
        refine();
        group_sum(&x);
        if (rank % 2 == 0)
            bridge(&x);
        if (rank < 2)
            tell_group(&x);
    }
    bench_end();
    MPI_Comm_free(&group);
    MPI_Finalize();
    return 0;
}
