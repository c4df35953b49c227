/* A server of tables: it waits by MPI_Waitsome for the requests of all clients (persistent receives) and interpolates 5 ms for each answer, one after
 * the other. Four clients ask at once. Fixed: the server only names the table, and each client interpolates by itself. */
#include <mpi.h>
#include "bench.h"

enum { ROUNDS = 50, ASK = 4, ANSWER = 5, MOST = 16 };
static int rank, size;
static MPI_Request asked[MOST];
static int question[MOST];

static void interpolate(void)
{
    bench_work(0.005); /* @cause */
}

static void answer(int client)
{
    double value = question[client];
    if (bench.sick)
        interpolate();                                                   /* @cause */
    MPI_Send(&value, 1, MPI_DOUBLE, client + 1, ANSWER, MPI_COMM_WORLD); /* @cause */
}

static void server(void)
{
    int left[MOST], open = (size - 1) * ROUNDS;
    for (int c = 0; c < size - 1; c++) {
        left[c] = ROUNDS;
        MPI_Recv_init(&question[c], 1, MPI_INT, c + 1, ASK, MPI_COMM_WORLD, &asked[c]);
        MPI_Start(&asked[c]);
    }
    while (open > 0) {
        int count, which[MOST];
        MPI_Waitsome(size - 1, asked, &count, which, MPI_STATUSES_IGNORE); /* @cause */
        for (int i = 0; i < count; i++, open--) {
            answer(which[i]);
            if (--left[which[i]] > 0)
                MPI_Start(&asked[which[i]]);
        }
    }
    for (int c = 0; c < size - 1; c++)
        MPI_Request_free(&asked[c]);
}

static double look_up(int i)
{
    double value;
    MPI_Sendrecv(&i, 1, MPI_INT, 0, ASK, &value, 1, MPI_DOUBLE, 0, ANSWER, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE); /* @symptom */
    return value;
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(rank);
    if (rank == 0)
        server();
    else
        for (int i = 0; i < ROUNDS; i++) {
            look_up(i);
            if (!bench.sick)
                interpolate();
            bench_work(0.003);
        }
    bench_end();
    MPI_Finalize();
    return 0;
}
