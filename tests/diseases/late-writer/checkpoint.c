/* A climate model writes a record of all ranks after each step, by a collective write. Rank 2 has most of the ice, which takes long to compress,
 * and comes late to the write. Fixed: the ice is spread evenly. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 32, WORDS = 512 };
static int rank, size;
static double record[WORDS];
static MPI_File file;

static void advance(void)
{
    bench_work(0.010);
}

static void compress_ice(void)
{
    double ms = 8;
    if (bench.sick && rank == 2)
        ms = 28; /* @cause */
    if (!bench.sick)
        ms = (8.0 * (size - 1) + 28) / size;
    bench_work(ms * 1e-3); /* @cause */
}

static void write_record(int step)
{
    MPI_Offset at = (MPI_Offset)(step * size + rank) * sizeof record;
    MPI_File_write_at_all(file, at, record, WORDS, MPI_DOUBLE, MPI_STATUS_IGNORE); /* @cause @symptom */
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_File_open(MPI_COMM_WORLD, "checkpoint.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    bench_begin(rank);
    for (int step = 0; step < STEPS; step++) {
        advance();
        compress_ice();
        write_record(step); /* @cause @symptom */
    }
    bench_end();
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
