/*
 * A program whose best order of ranks is known, and that counts its bytes by node.
 *
 *     placed STEPS COMPUTE_US BYTES EVERY near|far
 *
 * In each step each rank sleeps for COMPUTE_US, and exchanges BYTES with its partner: far: the rank half of all further on, on a
 * communicator of its own, near: the rank beside it. In each EVERY-th step (0: never) it does so with the other one of these two, too.
 * Rank 0 prints the bytes of messages inside nodes and between them, and these of the far partners.
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char (*nodes)[MPI_MAX_PROCESSOR_NAME];
static long long sent[4]; /* inside, between; the same of far partners */

static void exchange(MPI_Comm comm, int partner, char *send, char *receive, int bytes)
{
    MPI_Request requests[2];
    int between = strcmp(nodes[rank], nodes[partner]) != 0;
    MPI_Irecv(receive, bytes, MPI_CHAR, partner, 0, comm, &requests[0]);
    MPI_Isend(send, bytes, MPI_CHAR, partner, 0, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    sent[between] += bytes;
    sent[2 + between] += comm != MPI_COMM_WORLD ? bytes : 0;
}

static void nodes_find(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length;
    MPI_Get_processor_name(name, &length);
    nodes = calloc((size_t)size, sizeof *nodes);
    if (!nodes)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(name, sizeof name, MPI_CHAR, nodes, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
}

int main(int argc, char *argv[])
{
    MPI_Comm pairs;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 6 || size % 2) {
        fprintf(stderr, "usage: placed STEPS COMPUTE_US BYTES EVERY near|far, with an even number of ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int steps = atoi(argv[1]), compute = atoi(argv[2]), bytes = atoi(argv[3]), every = atoi(argv[4]);
    int far = strcmp(argv[5], "far") == 0;
    char *send = calloc(1, (size_t)bytes + 1), *receive = calloc(1, (size_t)bytes + 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &pairs);
    nodes_find();
    for (int step = 0; send && receive && step < steps; step++) {
        usleep((useconds_t)compute);
        bool both = every && step % every == 0;
        if (far || both)
            exchange(pairs, (rank + size / 2) % size, send, receive, bytes);
        if (!far || both)
            exchange(MPI_COMM_WORLD, rank ^ 1, send, receive, bytes);
    }
    long long all[4];
    MPI_Reduce(sent, all, 4, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("inside %lld between %lld far_inside %lld far_between %lld\n", all[0], all[1], all[2], all[3]);
    MPI_Comm_free(&pairs);
    free(nodes);
    free(send);
    free(receive);
    MPI_Finalize();
    return 0;
}
