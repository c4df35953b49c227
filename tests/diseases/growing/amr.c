/* Adaptive mesh refinement. A shock grows in the part of rank 3: its work is even at first and five times as much at the end. All meet when they
 * exchange patches. Fixed: patches are spread evenly again in each step. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 36, SIZE = 8 };
static int rank, size, counts[16], begins[16];
static double out[16 * SIZE], in[16 * SIZE];

static void refine(int step)
{
    double ms = 8;
    if (bench.sick && rank == 3)
        ms += 1.1 * step; /* @cause */
    if (!bench.sick)
        ms += 1.1 * step / size;
    bench_work(ms * 1e-3); /* @cause */
}

static void exchange_patches(void)
{
    MPI_Alltoallv(out, counts, begins, MPI_DOUBLE, in, counts, begins, MPI_DOUBLE,
                  MPI_COMM_WORLD); /* @cause @symptom */
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = SIZE;
        begins[i] = i * SIZE;
    }
    bench_begin(rank);
    for (int step = 0; step < STEPS; step++) {
        refine(step);
        exchange_patches(); /* @cause @symptom */
    }
    bench_end();
    MPI_Finalize();
    return 0;
}
