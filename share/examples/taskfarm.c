/*
 * A program that uses the queue, and asks MPI_T what the queue's instruments say: with mpit loaded they are there.
 *
 *     mpicc -I. $(pkg-config --cflags mpit) taskfarm.c workqueue.c -o taskfarm
 *     mpirun -n 2 ./taskfarm                    runs as it is
 *     mpit-run --trace mpirun -n 2 ./taskfarm   shows the queue in the summary and in the trace
 */
#include "workqueue.h"

#include <mpit/instrument.h>

#include <stdio.h>
#include <stdlib.h>

MPIT_COUNTER(taskfarm_rounds, "Rounds that the program has made.");

enum { NUMBERS = 150, CAPACITY = 120 };

static MPI_T_pvar_session session;

static MPI_T_pvar_handle variable(const char *name, int kind, MPI_Comm comm)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index, count;
    if (MPI_T_pvar_get_index(name, kind, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count) != MPI_SUCCESS) {
        fprintf(stderr, "there is no %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_T_pvar_start(session, handle);
    return handle;
}

static unsigned long long value(MPI_T_pvar_handle handle)
{
    unsigned long long number = 0;
    MPI_T_pvar_read(session, handle, &number);
    return number;
}

static void expect(const char *name, unsigned long long found, unsigned long long wanted)
{
    if (found == wanted)
        return;
    fprintf(stderr, "%s is %llu and not %llu\n", name, found, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void capacity_set(int capacity)
{
    MPI_T_cvar_handle handle;
    int index, count;
    if (MPI_T_cvar_get_index("workqueue_capacity", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        MPI_T_cvar_write(handle, &capacity);
        MPI_T_cvar_handle_free(&handle);
    }
}

int main(int argc, char **argv)
{
    int rank, size, provided, index, number, refused = 0, left = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    int loaded = MPI_T_pvar_get_index("workqueue_puts", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS;
    MPI_T_pvar_handle puts, most, sent, rounds;
    if (loaded) {
        capacity_set(CAPACITY);
        puts = variable("workqueue_puts", MPI_T_PVAR_CLASS_COUNTER, MPI_COMM_WORLD);
        most = variable("workqueue_length", MPI_T_PVAR_CLASS_HIGHWATERMARK, MPI_COMM_WORLD);
        sent = variable("workqueue_sent_bytes", MPI_T_PVAR_CLASS_AGGREGATE, MPI_COMM_WORLD);
        rounds = variable("workqueue_transfer", MPI_T_PVAR_CLASS_COUNTER, MPI_COMM_WORLD);
    }

    for (int i = 0; i < NUMBERS; i++)
        refused += workqueue_put(i) != 0;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    if (rank % 2 == 0 && to != rank)
        workqueue_send(to, MPI_COMM_WORLD);
    else if (rank % 2 == 1)
        workqueue_receive(from, MPI_COMM_WORLD);
    mpit_add(&taskfarm_rounds, 1);
    while (workqueue_take(&number) == 0)
        left++;

    if (loaded) {
        expect("workqueue_puts", value(puts), CAPACITY);
        expect("workqueue_length, the most", value(most), CAPACITY);
        expect("workqueue_sent_bytes", value(sent), rank % 2 == 0 && to != rank ? CAPACITY * sizeof number : 0);
        expect("workqueue_transfer", value(rounds), rank % 2 == 1 || to != rank);
        expect("refused", (unsigned long long)refused, NUMBERS - CAPACITY);
    }
    printf("rank %d: %d numbers refused, %d left, mpit is %sloaded\n", rank, refused, left, loaded ? "" : "not ");
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
