/*
 * What the samples of older format versions are recordings of: two processes, and every number known (samples.py has
 * them).
 *
 *   mpicc -o DIRECTORY/specimen specimen.c
 *   LD_PRELOAD=OLD/lib/libmpit-mpich.so MPIT_TRACE=1 MPIT_OUTPUT=run mpirun -n 2
 * DIRECTORY/specimen
 *
 * outside of the tree, since the file has the program's place; the file of the run goes into the current directory.
 */
#include <mpi.h>

enum { EXCHANGES = 100, SENDRECVS = 3, STARTS = 2, BROADCASTS = 4, REDUCTIONS = 5, BYTES = 64, PROBES = 8000 };

static int rank, other;
static char out[EXCHANGES], in[EXCHANGES];

/* Messages of 0, 1, ... 99 bytes, three of 64, two of 32. */
static void messages(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < EXCHANGES; i++) {
        MPI_Irecv(in, EXCHANGES, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, i, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
    }
    for (int i = 0; i < SENDRECVS; i++)
        MPI_Sendrecv(out, BYTES, MPI_BYTE, other, i, in, EXCHANGES, MPI_BYTE, other, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Recv_init(in, EXCHANGES, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, BYTES / 2, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < STARTS; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void collectives(void)
{
    MPI_Comm twin, half;
    int sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int i = 0; i < BROADCASTS; i++)
        MPI_Bcast(out, BYTES, MPI_BYTE, 1, twin);
    MPI_Comm_split(twin, rank, 0, &half);
    MPI_Barrier(half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&twin);
    for (int i = 0; i < REDUCTIONS; i++)
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* A fence, a lock, and the four calls of a general epoch. */
static void accesses(void)
{
    MPI_Win win;
    MPI_Group world, peer;
    char *memory;
    MPI_Win_allocate(EXCHANGES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &peer);
    MPI_Win_fence(0, win);
    MPI_Put(out, BYTES, MPI_BYTE, other, 0, BYTES, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win);
    MPI_Put(out, BYTES, MPI_BYTE, other, 0, BYTES, MPI_BYTE, win);
    MPI_Win_unlock(other, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_post(peer, 0, win);
    MPI_Win_start(peer, 0, win);
    MPI_Get(in, BYTES, MPI_BYTE, other, 0, BYTES, MPI_BYTE, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&peer);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
}

static void files(void)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "specimen.out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, rank * BYTES, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* Fills the event buffer, so that a part of the trace is packed. */
static void probes(void)
{
    int flag;
    for (int i = 0; rank == 0 && i < PROBES; i++)
        MPI_Iprobe(1, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    messages();
    collectives();
    accesses();
    files();
    probes();
    MPI_Finalize();
    return 0;
}
