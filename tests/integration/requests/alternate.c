/*
 * Small messages on two communicators by turns, all under way at once. The libraries return one handle for many of
 * them; which is which says the variable alone. Those of one communicator are completed first: it has all of its own
 * then. In blocks, what is completed first was posted last, behind all of the other one.
 *
 * alternate turns|blocks single|multiple
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMS = 2, MESSAGES = 500 };

static void handle_start(MPI_T_pvar_session session, MPI_Comm *comm, MPI_T_pvar_handle *handle)
{
    int index, elements;
    if (MPI_T_pvar_get_index("mpit_p2p_count", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, comm, handle, &elements) != MPI_SUCCESS || elements != 1 ||
        MPI_T_pvar_start(session, *handle) != MPI_SUCCESS) {
        printf("mpit_p2p_count cannot be read\n");
        exit(2);
    }
}

int main(int argc, char *argv[])
{
    static MPI_Request requests[COMMS][MESSAGES];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[COMMS];
    MPI_Comm comms[COMMS];
    int rank, provided, word = 0, faults = 0;
    if (argc != 3)
        return 2;
    int in_blocks = strcmp(argv[1], "blocks") == 0;
    MPI_Init_thread(&argc, &argv, strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
        handle_start(session, &comms[c], &handles[c]);
    }
    for (int i = 0; i < COMMS * MESSAGES && rank == 0; i++) {
        int c = in_blocks ? i / MESSAGES : i % COMMS, message = in_blocks ? i % MESSAGES : i / COMMS;
        MPI_Isend(&word, 1, MPI_INT, 1, message, comms[c], &requests[c][message]);
    }
    for (int turn = 0; turn < COMMS; turn++) {
        int c = in_blocks ? COMMS - 1 - turn : turn;
        for (int i = 0; i < MESSAGES && rank == 1; i++)
            MPI_Recv(&word, 1, MPI_INT, 0, i, comms[c], MPI_STATUS_IGNORE);
        if (rank == 0)
            MPI_Waitall(MESSAGES, requests[c], MPI_STATUSES_IGNORE);
        for (int k = 0; k < COMMS; k++) {
            unsigned long long count = 0, wanted = (in_blocks ? k >= c : k <= c) ? MESSAGES : 0;
            MPI_T_pvar_read(session, handles[k], &count);
            if (count != wanted) {
                printf("rank %d, %d of %d waited for: communicator %d has %llu messages\n", rank, turn + 1, COMMS, k,
                       count);
                faults++;
            }
        }
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return faults ? EXIT_FAILURE : 0;
}
