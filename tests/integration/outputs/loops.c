/* Loops whose passes are known: loops MODE PASSES. Ranks sleep, so that few processors do for many of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PASS_MS 8

static int rank, size, passes;

static void sleep_ms(double ms)
{
    long ns = (long)(ms * 1e6);
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

static double sum_of(double own, MPI_Comm comm)
{
    double all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
    return all;
}

/* Both neighbours in a ring, and one MPI_Wait for each request. */
static void halo_exchange(void)
{
    char out[64] = "", in[2][64];
    MPI_Request requests[4];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Irecv(in[0], sizeof in[0], MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], sizeof in[1], MPI_CHAR, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, sizeof out, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, sizeof out, MPI_CHAR, left, 2, MPI_COMM_WORLD, &requests[3]);
    for (int i = 0; i < 4; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void run_even(void)
{
    for (int i = 0; i < passes; i++) {
        halo_exchange();
        sleep_ms(PASS_MS);
        sum_of(i, MPI_COMM_WORLD);
    }
}

/* Every tenth pass checks something, too. */
static void run_checked(void)
{
    for (int i = 0; i < passes; i++) {
        sleep_ms(PASS_MS);
        sum_of(i, MPI_COMM_WORLD);
        if (i % 10 == 9)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Passes 21 to 24 take longer on rank 1, and pass 31 on the last rank. */
static void run_outliers(void)
{
    for (int i = 0; i < passes; i++) {
        sleep_ms(rank == 1 && i >= 20 && i < 24 ? 80 : PASS_MS);
        sum_of(i, MPI_COMM_WORLD);
    }
}

static void run_single(void)
{
    for (int i = 0; i < passes; i++) {
        sleep_ms(rank == size - 1 && i == 30 ? 150 : PASS_MS);
        sum_of(i, MPI_COMM_WORLD);
    }
}

static void run_drift(void)
{
    for (int i = 0; i < passes; i++) {
        sleep_ms(PASS_MS + (rank == size - 1 ? 30. * i / passes : 0));
        sum_of(i, MPI_COMM_WORLD);
    }
}

/* No collectives: a ring, and a chain in which each rank has calls of its own. */
static void run_ring(void)
{
    char out[8] = "", in[8];
    for (int i = 0; i < passes; i++) {
        sleep_ms(PASS_MS);
        MPI_Sendrecv(out, sizeof out, MPI_CHAR, (rank + 1) % size, 1, in, sizeof in, MPI_CHAR, (rank + size - 1) % size,
                     1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void run_chain(void)
{
    char data[8] = "";
    for (int i = 0; i < passes; i++) {
        if (rank > 0)
            MPI_Recv(data, sizeof data, MPI_CHAR, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sleep_ms(PASS_MS);
        if (rank < size - 1)
            MPI_Send(data, sizeof data, MPI_CHAR, rank + 1, 1, MPI_COMM_WORLD);
    }
}

/* Halves of the job have loops of their own. */
static void run_halves(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < passes; i++) {
        sleep_ms(PASS_MS);
        sum_of(i, half);
    }
    MPI_Comm_free(&half);
}

/* A short loop first, through the same function. */
static void run_two(void)
{
    for (int i = 0; i < 37; i++)
        sum_of(i, MPI_COMM_WORLD);
    run_even();
}

/* No loop: each call is at a place of its own, and two are made often at once. */
static void run_none(void)
{
    double value = 1;
    for (int i = 0; i < passes; i++)
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    sleep_ms(100);
    MPI_Barrier(MPI_COMM_WORLD);
    sleep_ms(100);
    sum_of(1, MPI_COMM_WORLD);
    sleep_ms(100);
    halo_exchange();
    sleep_ms(100);
    for (int i = 0; i < passes; i++)
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* A rank gives work to those that ask. */
static void run_master(void)
{
    int work = 0;
    if (rank == 0) {
        for (int left = size - 1; left;) {
            MPI_Status status;
            MPI_Recv(&work, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            int more = passes-- > 0;
            left -= !more;
            MPI_Send(&more, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
        }
        return;
    }
    for (int more = 1; more;) {
        sleep_ms(PASS_MS + rank);
        MPI_Send(&work, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&more, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"even", run_even},   {"checked", run_checked}, {"outliers", run_outliers}, {"single", run_single},
                 {"drift", run_drift}, {"ring", run_ring},       {"chain", run_chain},       {"halves", run_halves},
                 {"two", run_two},     {"none", run_none},       {"master", run_master}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    passes = argc > 2 ? atoi(argv[2]) : 0;
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run();
    MPI_Finalize();
    return 0;
}
