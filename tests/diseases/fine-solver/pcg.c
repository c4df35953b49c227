/* Nothing is wrong: even work, persistent halo requests that are done while inner cells are computed, and a dot product (MPI_Iallreduce) that overlaps the
 * preconditioner. */
#include <mpi.h>
#include "bench.h"

enum { STEPS = 50, WORDS = 300 };

int main(int argc, char **argv)
{
    int rank, size, left, right, periodic = 1;
    static double out[2][WORDS], in[2][WORDS];
    double mine = 1, dot = 0;
    MPI_Request halo[4], reduction;
    MPI_Comm ring;
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Comm_rank(ring, &rank);
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    MPI_Recv_init(in[0], WORDS, MPI_DOUBLE, left, 0, ring, &halo[0]);
    MPI_Recv_init(in[1], WORDS, MPI_DOUBLE, right, 1, ring, &halo[1]);
    MPI_Send_init(out[0], WORDS, MPI_DOUBLE, right, 0, ring, &halo[2]);
    MPI_Send_init(out[1], WORDS, MPI_DOUBLE, left, 1, ring, &halo[3]);
    MPI_Barrier(ring);
    bench_begin(rank);
    for (int i = 0; i < STEPS; i++) {
        MPI_Startall(4, halo);
        bench_work(0.012);
        MPI_Waitall(4, halo, MPI_STATUSES_IGNORE);
        bench_work(0.003);
        MPI_Iallreduce(&mine, &dot, 1, MPI_DOUBLE, MPI_SUM, ring, &reduction);
        bench_work(0.007);
        MPI_Wait(&reduction, MPI_STATUS_IGNORE);
    }
    bench_end();
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&halo[i]);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
