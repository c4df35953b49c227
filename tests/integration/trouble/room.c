/* room CALLS MIB STATUS: CALLS messages to itself, with tags and sizes that cannot be packed well, a shared window of MIB MiB
 * that is filled, and a sum. Ends with STATUS. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long window_fill(long bytes)
{
    char *memory;
    MPI_Win window;
    long sum = 0;
    MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 7, (size_t)bytes);
    for (long i = 0; i < bytes; i += 4096)
        sum += memory[i];
    MPI_Win_free(&window);
    return sum;
}

int main(int argc, char **argv)
{
    int rank;
    long calls = argc > 1 ? atol(argv[1]) : 100, bytes = argc > 2 ? atol(argv[2]) << 20 : 0, sum = 0, all = 0;
    char out[64] = "", in[64];
    unsigned seed = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < calls; i++) {
        MPI_Status status;
        int count;
        seed = seed * 1103515245 + 12345;
        MPI_Sendrecv(out, (int)(seed >> 26), MPI_CHAR, rank, (int)(seed >> 8 & 0x7fff), in, sizeof in, MPI_CHAR, rank,
                     MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &count);
        sum += count + status.MPI_TAG;
    }
    if (bytes)
        sum += window_fill(bytes);
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %ld\n", all);
    MPI_Finalize();
    return argc > 3 ? atoi(argv[3]) : 0;
}
