/* Tomography. Rank 0 reads the projection from a file in each iteration (a real read; a slow file system is emulated by a sleep), and scatters its
 * rows; the others wait in MPI_Scatterv. It is the same projection each time. Fixed: it is read once and kept. */
#include <mpi.h>
#include "bench.h"

enum { ITERATIONS = 30, WORDS = 4000 };
static int rank, size, parts[64], begins[64];
static double projection[WORDS], rows[WORDS];
static FILE *store;

static void read_projection(void)
{
    double begin = bench_clock(CLOCK_MONOTONIC);
    rewind(store);
    if (fread(projection, sizeof(double), WORDS, store) != WORDS)
        MPI_Abort(MPI_COMM_WORLD, 4);
    bench_sleep(0.024 * bench.scale - (bench_clock(CLOCK_MONOTONIC) - begin)); /* @cause */
    bench.planned += 0.024 * bench.scale;
    bench.work += bench_clock(CLOCK_MONOTONIC) - begin;
}

static void distribute_rows(void)
{
    MPI_Scatterv(projection, parts, begins, MPI_DOUBLE, rows, parts[rank], MPI_DOUBLE, 0,
                 MPI_COMM_WORLD); /* @cause @symptom */
}

static void back_project(void)
{
    bench_work(0.012);
}

static double compare(double x)
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
    for (int i = 0; i < size; i++) {
        begins[i] = WORDS * i / size;
        parts[i] = WORDS * (i + 1) / size - begins[i];
    }
    if (rank == 0) {
        store = tmpfile();
        fwrite(projection, sizeof(double), WORDS, store);
        setvbuf(store, 0, _IONBF, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    double x = 1;
    for (int i = 0; i < ITERATIONS; i++) {
        if (rank == 0 && (bench.sick || i == 0))
            read_projection(); /* @cause */
        distribute_rows();     /* @cause @symptom */
        back_project();
        x = compare(x) / size; /* @cause */
    }
    bench_end();
    if (store)
        fclose(store);
    MPI_Finalize();
    return 0;
}
