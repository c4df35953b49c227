/* A spectral method on a 2 x 2 grid of ranks. Each step ends with a reduction in the row; only every fourth one has one in the column. Rank 3 has
 * the stiff modes. Rank 2 waits for it in the row, rank 1 in the column, and rank 0 for rank 1: a hop away. Fixed: modes are spread evenly. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 36 };
static int rank, size;
static MPI_Comm row, column;

static void transform(void)
{
    double ms = 12;
    if (bench.sick && rank == 3)
        ms = 30; /* @cause */
    if (!bench.sick)
        ms = (12.0 * (size - 1) + 30) / size;
    bench_work(ms * 1e-3); /* @cause */
}

static double sum_row(double x)
{
    double sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, row); /* @cause @symptom */
    return sum / 2;
}

static double sum_column(double x)
{
    double sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, column); /* @cause @symptom */
    return sum / 2;
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    bench_begin(rank);
    double x = rank;
    for (int step = 1; step <= STEPS; step++) {
        transform();
        x = sum_row(x); /* @cause @symptom */
        if (step % 4 == 0)
            x = sum_column(x); /* @cause @symptom */
    }
    bench_end();
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Finalize();
    return x < 0;
}
