/*
 * splits CASE DIRECTORY: runs that are serialized, delayed, both or neither, and that know it.
 *
 * Each process keeps the clock of an ideal run for itself: it counts the time outside of MPI, and takes the clock of
 * each message that it gets, if that is later. So messages carry clocks. Each process writes "RUN USEFUL IDEAL" into
 * DIRECTORY/RANK, in seconds. A reduction that sleeps stands for a slow network: its time is inside of MPI.
 */
#include "../common/seconds.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static double ideal, useful, last; /* last: end of the last call */
static MPI_Op slow_most;

static void compute(int milliseconds)
{
    usleep(1000 * (useconds_t)milliseconds);
}

/* Before and after each call. */
static void enter(void)
{
    double computed = now() - last;
    useful += computed;
    ideal += computed;
}

static void leave(double needs)
{
    ideal = needs > ideal ? needs : ideal;
    last = now();
}

static void slow_most_find(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        if (((double *)in)[i] > ((double *)inout)[i])
            ((double *)inout)[i] = ((double *)in)[i];
    compute(60);
}

static void together(MPI_Op op)
{
    double latest = 0;
    enter();
    MPI_Allreduce(&ideal, &latest, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    leave(latest);
}

static void send(int to)
{
    enter();
    MPI_Send(&ideal, 1, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
    leave(0);
}

static void receive(int from)
{
    double carried = 0;
    enter();
    MPI_Recv(&carried, 1, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    leave(carried);
}

static void imbalance(void)
{
    for (int step = 0; step < 4; step++) {
        compute(rank == 1 ? 200 : 50);
        together(MPI_MAX);
    }
}

static void chain(void)
{
    for (int step = 0; step < 4; step++) {
        if (step || rank)
            receive((rank + size - 1) % size);
        compute(100);
        if (step < 3 || rank < size - 1)
            send((rank + 1) % size);
    }
}

static void delay(void)
{
    for (int step = 0; step < 5; step++) {
        compute(100);
        together(slow_most);
    }
}

static void both(void)
{
    chain();
    for (int step = 0; step < 5; step++)
        together(slow_most);
}

/* A neighbor's message is awaited, by MPI_Waitall, or by polls. */
static void requests(void)
{
    for (int step = 0; step < 6; step++) {
        MPI_Request posted[2];
        MPI_Status statuses[2];
        double own, carried = 0;
        int done = 0;
        enter();
        MPI_Irecv(&carried, 1, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &posted[0]);
        leave(0);
        compute(step % 2 == rank ? 120 : 30);
        enter();
        own = ideal;
        MPI_Isend(&own, 1, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &posted[1]);
        leave(0);
        compute(20);
        while (!done) {
            enter();
            if (step < 3)
                done = MPI_Waitall(2, posted, statuses) == MPI_SUCCESS;
            else
                MPI_Testall(2, posted, &done, statuses);
            leave(done ? carried : 0);
            if (!done)
                compute(1);
        }
    }
    together(slow_most);
}

/* The receiver tells when it posted. */
static void synchronous(void)
{
    for (int step = 0; step < 3; step++) {
        double posted = 0;
        if (rank > 1)
            break;
        if (rank == 0) {
            enter();
            MPI_Ssend(&ideal, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            leave(0);
            enter();
            MPI_Recv(&posted, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            leave(posted);
            compute(150);
        } else {
            compute(150);
            receive(0);
            send(0);
        }
    }
    together(slow_most);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"imbalance", imbalance}, {"chain", chain},       {"delay", delay},
             {"both", both},           {"requests", requests}, {"synchronous", synchronous}};

int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    double start = last = ideal = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(slow_most_find, 1, &slow_most);
    for (size_t i = 0; argc > 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name) != 0)
            continue;
        char path[4096];
        cases[i].run();
        enter();
        double end = now();
        snprintf(path, sizeof path, "%s/%d", argv[2], rank);
        FILE *notes = fopen(path, "w");
        if (!notes || fprintf(notes, "%.9f %.9f %.9f\n", end - start, useful, ideal - start) < 0 || fclose(notes) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Op_free(&slow_most);
        MPI_Finalize();
        return 0;
    }
    fprintf(stderr, "splits: no such case\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
}
