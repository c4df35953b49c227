/* Radiation transport. The opacity table is too large for each rank, so rank 0 keeps it in its memory and interpolates for whoever asks: four
 * ranks need one at once. A block of 32 KiB is the answer. Fixed: each rank has a copy and interpolates itself. */
#include <mpi.h>
#include "bench.h"

enum { RAYS = 50, WORDS = 4096, QUERY = 21 };
static int rank, size;
static double block[WORDS];

static void interpolate(void)
{
    bench_work(0.005); /* @cause */
}

static void answer_queries(void)
{
    for (int left = (size - 1) * RAYS; left > 0; left--) {
        double where[2];
        MPI_Status status;
        MPI_Recv(where, 2, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status); /* @cause */
        if (bench.sick)
            interpolate();                                                                         /* @cause */
        MPI_Send(block, WORDS, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG + 1, MPI_COMM_WORLD); /* @cause */
    }
}

static void get_opacity(int ray)
{
    double where[2] = {ray, rank};
    MPI_Send(where, 2, MPI_DOUBLE, 0, QUERY, MPI_COMM_WORLD);
    MPI_Recv(block, WORDS, MPI_DOUBLE, 0, QUERY + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @symptom */
}

static void follow_ray(void)
{
    bench_work(0.006);
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bench_begin(rank);
    if (rank == 0)
        answer_queries(); /* @cause */
    else
        for (int ray = 0; ray < RAYS; ray++) {
            get_opacity(ray); /* @symptom */
            if (!bench.sick)
                interpolate();
            follow_ray();
        }
    MPI_Barrier(MPI_COMM_WORLD);
    bench_end();
    MPI_Finalize();
    return 0;
}
