/* A nested ocean model. Rank 0 runs the coarse basin and feeds the two fine shelves (ranks 1 and 2) with boundary values of the last step,
 * which are ready when the step begins. It computes its inner sea first and sends then. Fixed: it sends first. Work is even. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 30, POINTS = 200 };
static int rank, size;
static double boundary[POINTS];

static void inner_sea(void)
{
    bench_work(0.016); /* @cause */
}

static void feed_shelves(void)
{
    for (int to = 1; to < size; to++)
        MPI_Send(boundary, POINTS, MPI_DOUBLE, to, 11, MPI_COMM_WORLD); /* @cause */
}

static void coast(void)
{
    bench_work(0.008);
}

static void nest(void)
{
    MPI_Recv(boundary, POINTS, MPI_DOUBLE, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @symptom */
}

static void shelf(void)
{
    bench_work(0.024);
}

static double volume(double x)
{
    double sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* @cause */
    return sum;
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bench_begin(rank);
    double x = 1;
    for (int step = 0; step < STEPS; step++) {
        if (rank > 0) {
            nest();
            shelf();
        } else if (bench.sick) {
            inner_sea();
            feed_shelves(); /* @cause */
            coast();
        } else {
            feed_shelves();
            inner_sea();
            coast();
        }
        x = volume(x) / size; /* @cause */
    }
    bench_end();
    MPI_Finalize();
    return 0;
}
