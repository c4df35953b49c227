/* MPI + OpenMP, MPI calls by the master alone (funneled), two threads a rank. On rank 3 the rows get longer (a triangle), and the static schedule gives thread 1
 * 30 ms and thread 0 10 ms: the rank comes 10 ms late to each reduction. Fixed: schedule(dynamic), 20 ms each, as on the other ranks. */
#include <mpi.h>
#include <omp.h>
#include "bench.h"

enum { STEPS = 35, ROWS = 4 };
static int rank, size;
static double row[ROWS] = {0.010, 0.010, 0.010, 0.010};

static void work_alone(double seconds)
{
    seconds *= bench.scale;
    if (bench.mode == BENCH_SPIN)
        bench_spin(seconds);
    else
        bench_sleep(seconds);
}

static void relax(void)
{
    double begin = bench_clock(CLOCK_MONOTONIC);
    if (bench.sick) {
#pragma omp parallel for schedule(static) num_threads(2)
        for (int i = 0; i < ROWS; i++) /* @cause */
            work_alone(row[i]);        /* @cause */
    } else {
#pragma omp parallel for schedule(dynamic) num_threads(2)
        for (int i = ROWS - 1; i >= 0; i--)
            work_alone(row[i]);
    }
    bench.work += bench_clock(CLOCK_MONOTONIC) - begin;
    bench.planned += bench.scale * (rank == 3 && bench.sick ? 0.030 : 0.020);
}

static double residual(double x)
{
    double sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); /* @symptom */
    return sum;
}

int main(int argc, char **argv)
{
    int provided;
    bench_arguments(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 3) {
        double triangle[ROWS] = {0.005, 0.005, 0.015, 0.015};
        memcpy(row, triangle, sizeof row);
    }
#pragma omp parallel num_threads(2)
    work_alone(0.001); /* the threads exist */
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    for (int i = 0; i < STEPS; i++) {
        relax();
        residual(i);
    }
    bench_end();
    MPI_Finalize();
    return 0;
}
