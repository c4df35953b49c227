/*
 * A tool that knows PAPI and not mpit reads mpit's variables as software-defined events.
 *
 *     MPIT_SDE=1 sdetool        status 1: a figure is wrong, 77: PAPI has no such events here
 */
#include <mpi.h>

#include <papi.h>
#include <stdio.h>

enum { CALLS = 12, BYTES = 100 };

int main(int argc, char *argv[])
{
    static const char *const names[] = {"sde:::mpit::mpit_call_count:MPI_Barrier", "sde:::mpit::mpit_send_count",
                                        "sde:::mpit::mpit_send_bytes", "sde:::mpit::mpit_mpi_time"};
    enum { NAMES = sizeof names / sizeof names[0] };
    long long values[NAMES] = {0};
    char out[BYTES] = "", in[BYTES];
    int rank, set = PAPI_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set) != PAPI_OK)
        return 77;
    for (int i = 0; i < NAMES; i++)
        if (PAPI_add_named_event(set, names[i]) != PAPI_OK) {
            printf("there is no %s\n", names[i]);
            return 77;
        }
    MPI_Barrier(MPI_COMM_WORLD);
    PAPI_start(set);
    for (int i = 0; i < CALLS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Sendrecv(out, BYTES, MPI_BYTE, rank, 1, in, BYTES, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    PAPI_stop(set, values);
    int good = values[0] == CALLS && values[1] == CALLS && values[2] == (long long)CALLS * BYTES && values[3] > 0;
    printf("%s PAPI reads %lld barriers, %lld messages of %lld bytes, %lld ns\n", good ? "ok" : "not ok", values[0],
           values[1], values[2], values[3]);
    MPI_Finalize();
    return !good;
}
