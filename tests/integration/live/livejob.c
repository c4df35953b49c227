/*
 * livejob DIRECTORY KIND      a job that is looked at while it runs: it stops at points that both sides know
 *
 *   rounds      waits for the file DIRECTORY/go.N, does round N, and writes DIRECTORY/did.N.RANK: what it has counted
 *               itself up to then, as "sent MESSAGES BYTES received MESSAGES BYTES collectives COUNT". Ends at go.end.
 *   deadlock    ranks 0 and 1 receive from each other; the others wait in a barrier
 *   absent      all but the last rank are in a barrier, which that one never enters, on a communicator "late ones"
 *   ahead       the same behind a nonblocking one, which is complete for the last rank alone
 *   old         rank 0 waits for rank 2 by a request of long ago, and has another one from rank 1, which waits for rank 0
 *   late        rank 0 receives from the last rank, which sends when go.1 is there; did.1.0 tells; ends at go.end
 *   uneven      the last rank is outside of MPI 2.5 times as long as the others, before each barrier; until go.end
 *   busy        messages and collectives without end, until go.end; with communicators whose names would move a cursor
 *
 * No rank speaks to another one while it waits for a file.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MOST = 100, BYTES_MOST = 100000 };

static int rank, size;
static const char *directory;
static char buffer[2][BYTES_MOST];
static long sent, sent_bytes, received, received_bytes, collectives;

static int is_there(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static void note(int round)
{
    char path[4096], ready[4096 + 8];
    snprintf(path, sizeof path, "%s/did.%d.%d", directory, round, rank);
    snprintf(ready, sizeof ready, "%s.new", path);
    FILE *file = fopen(ready, "w");
    if (!file)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fprintf(file, "sent %ld %ld received %ld %ld collectives %ld\n", sent, sent_bytes, received, received_bytes,
            collectives);
    fclose(file);
    rename(ready, path);
}

/* To the right, of sizes that grow with the round; then collectives. */
static void round_do(int round)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < 10 * round; i++) {
        int bytes = (1 << i % 16) + round, got;
        MPI_Status status;
        MPI_Sendrecv(buffer[0], bytes, MPI_CHAR, right, 1, buffer[1], BYTES_MOST, MPI_CHAR, left, 1, MPI_COMM_WORLD,
                     &status);
        MPI_Get_count(&status, MPI_CHAR, &got);
        sent++;
        sent_bytes += bytes;
        received++;
        received_bytes += got;
    }
    for (int i = 0; i < 3 * round; i++) {
        MPI_Allreduce(MPI_IN_PLACE, buffer[0], 4, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
        collectives++;
    }
}

static void rounds(void)
{
    char name[32];
    for (int round = 1; round < ROUNDS_MOST; round++) {
        snprintf(name, sizeof name, "go.%d", round);
        while (!is_there(name) && !is_there("go.end"))
            rest();
        if (is_there("go.end"))
            return;
        round_do(round);
        note(round);
    }
}

static void deadlock(void)
{
    if (rank < 2)
        MPI_Recv(buffer[0], 1, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void absent(void)
{
    MPI_Comm late;
    MPI_Comm_dup(MPI_COMM_WORLD, &late);
    MPI_Comm_set_name(late, "late ones");
    if (rank < size - 1)
        MPI_Barrier(late);
    for (;;)
        rest();
}

static void ahead(void)
{
    MPI_Request request;
    int complete = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (rank == size - 1 && !complete)
        MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    if (rank < size - 1)
        MPI_Barrier(MPI_COMM_WORLD);
    for (;;)
        rest();
}

/* Rank 0 waits for a message that it has asked for long ago, of which its flight recorder has nothing any more; what it
 * still tells of is another one, from a rank that waits for rank 0. */
static void old(void)
{
    MPI_Request requests[2];
    int flag;
    if (rank == 0) {
        MPI_Irecv(buffer[0], 1, MPI_CHAR, 2, 5, MPI_COMM_WORLD, &requests[0]);
        for (int i = 0; i < 6000; i++)
            MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Irecv(buffer[1], 1, MPI_CHAR, 1, 6, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    if (rank == 1)
        MPI_Recv(buffer[0], 1, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (;;)
        rest();
}

static void late(void)
{
    while (rank == size - 1 && !is_there("go.1"))
        rest();
    if (rank == size - 1)
        MPI_Send(buffer[0], 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(buffer[0], 1, MPI_CHAR, size - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    note(1);
    while (!is_there("go.end"))
        rest();
}

/* A rank that rests is outside of MPI, and rests as long on a busy machine. */
static void uneven(void)
{
    for (int over = 0; !over;) {
        nanosleep(&(struct timespec){0, rank == size - 1 ? 100000000 : 40000000}, NULL);
        over = rank == 0 && is_there("go.end");
        MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
}

static void busy(void)
{
    MPI_Comm odd;
    MPI_Comm_dup(MPI_COMM_WORLD, &odd);
    MPI_Comm_set_name(odd, "odd \033[2J\033[31m\a name\r\n\xff \xe2\x82\xac");
    for (int over = 0; !over;) {
        round_do(2);
        MPI_Barrier(odd);
        over = rank == 0 && is_there("go.end");
        MPI_Bcast(&over, 1, MPI_INT, 0, odd);
        rest();
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3 || (size < 2 && strcmp(argv[2], "rounds") != 0))
        MPI_Abort(MPI_COMM_WORLD, 2);
    directory = argv[1];
    if (strcmp(argv[2], "rounds") == 0)
        rounds();
    else if (strcmp(argv[2], "deadlock") == 0)
        deadlock();
    else if (strcmp(argv[2], "absent") == 0)
        absent();
    else if (strcmp(argv[2], "ahead") == 0)
        ahead();
    else if (strcmp(argv[2], "old") == 0)
        old();
    else if (strcmp(argv[2], "late") == 0)
        late();
    else if (strcmp(argv[2], "uneven") == 0)
        uneven();
    else
        busy();
    MPI_Finalize();
    return 0;
}
