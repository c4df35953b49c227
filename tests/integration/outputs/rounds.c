/* rounds DIRECTORY SECONDS: rounds of messages of each rank to itself, for so long. No rank waits for another one.
 *
 * Makes DIRECTORY/started.RANK with the first round. Prints how many calls of MPI_Sendrecv were made, and how long the
 * longest round took. */
#include "../common/seconds.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MESSAGES = 20, PAUSE_US = 500 };

static void started(const char *directory, int rank)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/started.%d", directory, rank);
    close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    long calls = 0;
    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double longest = 0, last = now(), end = last + atof(argv[2]);
    while (last < end) {
        for (int i = 0; i < MESSAGES; i++, calls++) {
            int out = i, in = -1;
            MPI_Sendrecv(&out, 1, MPI_INT, rank, 1, &in, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += in != i;
        }
        if (calls == MESSAGES)
            started(argv[1], rank);
        usleep(PAUSE_US);
        double current = now();
        if (current - last > longest)
            longest = current - last;
        last = current;
    }
    printf("rank %d: %ld calls, longest round %.3f s, %d wrong\n", rank, calls, longest, wrong);
    fflush(stdout);
    MPI_Finalize();
    return wrong != 0;
}
