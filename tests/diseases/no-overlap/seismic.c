/* Seismic waves, pairs of ranks. The even rank of a pair sends its wave field (4 MiB) by MPI_Isend, computes a little and needs the buffer again.
 * The odd rank has posted its receive in time, but computes for long without any MPI call: the rendezvous makes no progress, and the even rank
 * waits in MPI_Waitall. Fixed: the odd rank tests between pieces of its work. Work is even. */
#include <mpi.h>
#include "bench.h"

enum { SHOTS = 25, POINTS = 1 << 19, PIECES = 15 };
static int rank, size;
static double field[POINTS];

static void sources(void)
{
    bench_work(0.010);
}

static void next_field(void)
{
    bench_work(0.025);
}

static void make_progress(MPI_Request *request)
{
    int done = 0;
    for (int i = 0; i < 64 && !done; i++)
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

static void propagate(MPI_Request *request)
{
    if (bench.sick)
        bench_work(0.030); /* @cause */
    else
        for (int i = 0; i < PIECES; i++) {
            bench_work(0.030 / PIECES);
            make_progress(request);
        }
}

static void absorb(void)
{
    bench_work(0.005);
}

static void send_side(void)
{
    MPI_Request request;
    MPI_Isend(field, POINTS, MPI_DOUBLE, rank + 1, 8, MPI_COMM_WORLD, &request);
    sources();
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); /* @symptom */
    next_field();
}

static void receive_side(void)
{
    MPI_Request request;
    MPI_Irecv(field, POINTS, MPI_DOUBLE, rank - 1, 8, MPI_COMM_WORLD, &request); /* @cause */
    propagate(&request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); /* @cause */
    absorb();
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(field, 1, sizeof field);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    for (int shot = 0; shot < SHOTS; shot++) {
        double misfit = shot, sum;
        if (rank % 2 == 0)
            send_side(); /* @symptom */
        else
            receive_side(); /* @cause */
        MPI_Allreduce(&misfit, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    bench_end();
    MPI_Finalize();
    return 0;
}
