/* The traffic that all languages make (languages.F90, languages.py); also compiled as C++. Prints a checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { K = 4 };

static int rank, size, right, left;
static long sum;

static void expect(int met, int line)
{
    if (met)
        return;
    fprintf(stderr, "rank %d: line %d is not as expected\n", rank, line);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define EXPECT(condition) expect(condition, __LINE__)

static void point_to_point(MPI_Comm comm)
{
    int out[K], in[K], i, index, ready, indices[K];
    MPI_Request requests[2 * K];
    MPI_Status status, statuses[2 * K];
    for (i = 0; i < K; i++)
        out[i] = 10 * rank + i;
    MPI_Sendrecv(out, K, MPI_INT, right, 1, in, K, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
    sum += in[K - 1];
    MPI_Sendrecv(out, K, MPI_INT, right, 2, in, K, MPI_INT, MPI_ANY_SOURCE, 2, comm, &status);
    EXPECT(status.MPI_SOURCE == left && status.MPI_TAG == 2);
    for (int way = 0; way < 2; way++) {
        for (i = 0; i < K; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, left, 10 + i, comm, &requests[i]);
        for (i = 0; i < K; i++)
            MPI_Isend(&out[i], 1, MPI_INT, right, 10 + i, comm, &requests[K + i]);
        MPI_Waitall(2 * K, requests, way ? statuses : MPI_STATUSES_IGNORE);
        EXPECT(!way || (statuses[K - 1].MPI_SOURCE == left && statuses[K - 1].MPI_TAG == 10 + K - 1));
        sum += in[0] + in[K - 1];
    }
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    MPI_Irecv(in, K, MPI_INT, left, 20, comm, &requests[1]);
    MPI_Send(out, K, MPI_INT, right, 20, comm);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    EXPECT(index == 1 && requests[1] == MPI_REQUEST_NULL);
    MPI_Irecv(in, K, MPI_INT, left, 21, comm, &requests[1]);
    MPI_Ssend(out, K, MPI_INT, right, 21, comm);
    MPI_Waitsome(2, requests, &ready, indices, statuses);
    EXPECT(ready == 1 && indices[0] == 1);
    MPI_Isend(out, K, MPI_INT, right, 22, comm, &requests[0]);
    MPI_Probe(left, 22, comm, &status);
    MPI_Get_count(&status, MPI_INT, &ready);
    EXPECT(ready == K);
    MPI_Recv(in, K, MPI_INT, left, 22, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Recv_init(in, K, MPI_INT, left, 23, comm, &requests[0]);
    MPI_Send_init(out, K, MPI_INT, right, 23, comm, &requests[1]);
    for (i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    sum += in[1];
    MPI_Send(out, K, MPI_INT, MPI_PROC_NULL, 24, comm);
}

/* Completion calls with no requests; data that is packed and reduced here; a buffer that is given back. */
static void alone(MPI_Comm comm)
{
    enum { BUFFER = 1 << 16 };
    MPI_Request none[1] = {MPI_REQUEST_NULL};
    MPI_Status status, statuses[1];
    char packed[sizeof(int)];
    int flag = 0, index = 0, ready = 0, indices[1], out = 7 + rank, in = 0, at = 0, bytes;
    void *buffer = malloc(BUFFER), *back;
    for (int i = 0; i < 3; i++) {
        MPI_Waitall(0, none, statuses);
        MPI_Testall(0, none, &flag, MPI_STATUSES_IGNORE);
        EXPECT(flag);
        MPI_Waitany(0, none, &index, &status);
        EXPECT(index == MPI_UNDEFINED);
        flag = 0;
        MPI_Testany(0, none, &index, &flag, MPI_STATUS_IGNORE);
        EXPECT(flag);
        MPI_Waitsome(0, none, &ready, indices, statuses);
        MPI_Testsome(0, none, &ready, indices, statuses);
        MPI_Startall(0, none);
    }
    MPI_Pack(&out, 1, MPI_INT, packed, sizeof packed, &at, comm);
    at = 0;
    MPI_Unpack(packed, sizeof packed, &at, &in, 1, MPI_INT, comm);
    MPI_Reduce_local(&out, &in, 1, MPI_INT, MPI_SUM);
    EXPECT(in == 2 * out);
    sum += in;
    MPI_Buffer_attach(buffer, BUFFER);
    MPI_Bsend(&out, 1, MPI_INT, right, 30, comm);
    MPI_Recv(&in, 1, MPI_INT, left, 30, comm, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&back, &bytes);
    free(buffer);
    sum += in;
}

/* A message from and into absolute addresses. */
static void bottom(MPI_Comm comm)
{
    int out = 100 + rank, in = 0, one = 1;
    MPI_Aint address;
    MPI_Datatype from, to;
    MPI_Get_address(&out, &address);
    MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &from);
    MPI_Get_address(&in, &address);
    MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    MPI_Sendrecv(MPI_BOTTOM, 1, from, right, 3, MPI_BOTTOM, 1, to, left, 3, comm, MPI_STATUS_IGNORE);
    EXPECT(in == 100 + left);
    MPI_Bcast(MPI_BOTTOM, 1, from, 0, comm);
    EXPECT(out == 100);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    sum += in;
}

static void collectives(MPI_Comm comm)
{
    int value = rank + 1, other = 0, i;
    int *all = (int *)malloc(sizeof(int) * size), *counts = (int *)malloc(sizeof(int) * size),
        *displs = (int *)malloc(sizeof(int) * size);
    MPI_Request request;
    for (i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = i;
        all[i] = rank;
    }
    MPI_Barrier(comm);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(value == size * (size + 1) / 2);
    if (rank == 0)
        MPI_Reduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, 0, comm);
    else
        MPI_Reduce(&value, NULL, 1, MPI_INT, MPI_MAX, 0, comm);
    if (rank == 0)
        MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, 0, comm);
    else
        MPI_Gather(all, 1, MPI_INT, NULL, 1, MPI_INT, 0, comm);
    if (rank == 0)
        EXPECT(all[size - 1] == size - 1);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm);
    value = rank;
    MPI_Allgatherv(&value, 1, MPI_INT, all, counts, displs, MPI_INT, comm);
    EXPECT(all[left] == left);
    MPI_Alltoallv(MPI_IN_PLACE, counts, displs, MPI_INT, all, counts, displs, MPI_INT, comm);
    EXPECT(all[left] == rank);
    MPI_Scan(&value, &other, 1, MPI_INT, MPI_SUM, comm);
    sum += other;
    MPI_Ibcast(&value, 1, MPI_INT, size - 1, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(value == size - 1);
    free(all);
    free(counts);
    free(displs);
}

static void communicators(void)
{
    MPI_Comm copy, later, half, ring, row;
    MPI_Request request;
    int neighbours[2] = {0, 0}, one = 1, none = 0, outer[2] = {rank, rank}, inner[2] = {-1, -1};
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_idup(copy, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_split(later, rank % 2, -rank, &half);
    collectives(copy);
    MPI_Barrier(later);
    MPI_Barrier(half);
    MPI_Comm_set_errhandler(later, MPI_ERRORS_RETURN);
    EXPECT(MPI_Send(&rank, 1, MPI_INT, size, 5, later) != MPI_SUCCESS);
    MPI_Dist_graph_create_adjacent(copy, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, neighbours, 1, MPI_INT, ring);
    EXPECT(neighbours[0] == left);
    MPI_Neighbor_alltoallv(&rank, &one, &none, MPI_INT, neighbours, &one, &none, MPI_INT, ring);
    MPI_Ineighbor_alltoall(&rank, 1, MPI_INT, neighbours, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(neighbours[0] == left);
    MPI_Cart_create(copy, 1, &size, &none, 0, &row);
    MPI_Neighbor_alltoall(outer, 1, MPI_INT, inner, 1, MPI_INT, row);
    EXPECT(inner[0] == rank - 1); /* rank 0: nothing came */
    MPI_Comm_free(&row);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&half);
    MPI_Comm_free(&later);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    point_to_point(MPI_COMM_WORLD);
    alone(MPI_COMM_WORLD);
    bottom(MPI_COMM_WORLD);
    collectives(MPI_COMM_WORLD);
    communicators();
    MPI_Finalize();
    printf("rank %d: %ld\n", rank, sum);
    return 0;
}
