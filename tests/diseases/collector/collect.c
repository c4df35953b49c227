/* In-situ analysis. Ranks 1 and 2 hand over blocks of 512 KiB with MPI_Isend and wait for them before they write into them again (15 ms). Rank 0 analyses the blocks
 * of the last step first (18 ms) and receives after that: a rendezvous, so both senders wait. Fixed: rank 0 receives first. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 35, BYTES = 1 << 19, HALVES = 2 };
static int rank, size;
static char block[3][HALVES][BYTES];

static void analyse(void)
{
    bench_work(0.018); /* @cause */
}

static void receive_blocks(void)
{
    MPI_Request r[2 * HALVES];
    for (int i = 0; i < 2 * HALVES; i++)
        MPI_Irecv(block[1 + i / HALVES][i % HALVES], BYTES, MPI_BYTE, 1 + i / HALVES, i % HALVES, MPI_COMM_WORLD,
                  &r[i]);                            /* @cause */
    MPI_Waitall(2 * HALVES, r, MPI_STATUSES_IGNORE); /* @cause */
}

static void hand_over(void)
{
    MPI_Request r[HALVES];
    for (int i = 0; i < HALVES; i++)
        MPI_Isend(block[0][i], BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(HALVES, r, MPI_STATUSES_IGNORE); /* @symptom */
}

static void agree(double x)
{
    double least;
    MPI_Allreduce(&x, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD); /* @cause */
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    for (int i = 0; i < STEPS; i++) {
        if (rank > 0) {
            hand_over();
            bench_work(0.015);
        } else if (bench.sick) {
            analyse();
            receive_blocks();
        } else {
            receive_blocks();
            analyse();
        }
        agree(i);
    }
    bench_end();
    MPI_Finalize();
    return 0;
}
