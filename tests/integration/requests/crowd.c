/*
 * crowd NUMBER...
 *
 * So many requests under way at once in each process, half of them receives, half of them sends to the next process:
 * what one costs to post and to complete, and whether mpit has counted them all. Prints a line for each number. Exit
 * status 0: all is right; 1: not; 77: mpit is not there.
 *
 * With mpit_buffer_limit_bytes too small for the number, what is lost must be said to be lost, the limit must hold, and
 * nothing may stay pending.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 4, ROUNDS = 2 };

struct watch {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count;
};

static int rank, size, absent, failures;

static struct watch watch_open(const char *name, int class, MPI_Comm *comm)
{
    struct watch w = {.count = 0};
    int index;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS) {
        absent = 1;
        return w;
    }
    MPI_T_pvar_session_create(&w.session);
    MPI_T_pvar_handle_alloc(w.session, index, comm, &w.handle, &w.count);
    if (class == MPI_T_PVAR_CLASS_COUNTER)
        MPI_T_pvar_start(w.session, w.handle);
    return w;
}

static unsigned long long watch_sum(const struct watch *w)
{
    unsigned long long values[64] = {0}, sum = 0;
    if (absent || w->count > 64)
        return 0;
    MPI_T_pvar_read(w->session, w->handle, values);
    for (int i = 0; i < w->count; i++)
        sum += values[i];
    return sum;
}

static struct watch sends, receives, pending_sends, pending_receives, losses, bytes;

static unsigned long long limit_get(void)
{
    MPI_T_cvar_handle handle;
    unsigned long long limit = 0;
    int index, count;
    if (MPI_T_cvar_get_index("mpit_buffer_limit_bytes", &index) != MPI_SUCCESS)
        return 0;
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, &limit);
    MPI_T_cvar_handle_free(&handle);
    return limit;
}

static void expect(int holds, const char *what, unsigned long long is, unsigned long long expected)
{
    if (holds)
        return;
    failures++;
    printf("process %d: %s: %llu, expected %llu\n", rank, what, is, expected);
}

struct times {
    double receive, send, complete;
};

static struct times crowd_run(MPI_Comm comm, int half, MPI_Request *requests, int *data)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    struct times t;
    MPI_Barrier(comm);
    double begin = MPI_Wtime();
    for (int i = 0; i < half; i++)
        MPI_Irecv(&data[half + i], 1, MPI_INT, left, 0, comm, &requests[i]);
    t.receive = MPI_Wtime() - begin;
    MPI_Barrier(comm);
    begin = MPI_Wtime();
    for (int i = 0; i < half; i++)
        MPI_Isend(&data[i], 1, MPI_INT, right, 0, comm, &requests[half + i]);
    t.send = MPI_Wtime() - begin;
    if (!absent && !watch_sum(&losses)) {
        unsigned long long value = watch_sum(&pending_sends) + watch_sum(&pending_receives);
        expect(value == 2 * (unsigned long long)half, "pending", value, 2 * (unsigned long long)half);
    }
    begin = MPI_Wtime();
    MPI_Waitall(2 * half, requests, MPI_STATUSES_IGNORE);
    t.complete = MPI_Wtime() - begin;
    for (int i = 0; i < half; i++)
        expect(data[half + i] == left + i, "what arrived", (unsigned long long)data[half + i],
               (unsigned long long)(left + i));
    return t;
}

static double least(double one, double other)
{
    return one < other ? one : other;
}

static void crowd(MPI_Comm comm, int number)
{
    int half = number / 2;
    MPI_Request *requests = malloc(2 * (size_t)half * sizeof *requests);
    int *data = malloc(2 * (size_t)half * sizeof *data);
    unsigned long long before_sends = watch_sum(&sends), before_receives = watch_sum(&receives);
    unsigned long long before_losses = watch_sum(&losses), held = 0, all = (unsigned long long)half * ROUNDS;
    struct times best = {1e9, 1e9, 1e9};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < half; i++) {
            data[i] = rank + i;
            data[half + i] = -1;
        }
        struct times t = crowd_run(comm, half, requests, data);
        best =
            (struct times){least(best.receive, t.receive), least(best.send, t.send), least(best.complete, t.complete)};
        expect(round == 0 || watch_sum(&bytes) == held, "memory that is not used again", watch_sum(&bytes), held);
        held = watch_sum(&bytes);
    }
    unsigned long long lost = watch_sum(&losses) - before_losses, is = watch_sum(&sends) - before_sends;
    if (!absent) {
        expect(is == all, "sends", is, all);
        is = watch_sum(&receives) - before_receives;
        expect(lost ? is < all && is + lost >= all : is == all, "receives", is, all);
        is = watch_sum(&pending_sends) + watch_sum(&pending_receives);
        expect(is == 0, "still pending", is, 0);
        expect(held <= limit_get(), "memory over the limit", held, limit_get());
    }
    if (rank == 0)
        printf("%8d requests: ns to post a receive %5.0f, a send %5.0f, to complete one %5.0f; %llu lost, %llu KiB\n",
               2 * half, best.receive / half * 1e9, best.send / half * 1e9, best.complete / half / 2 * 1e9, lost,
               held / 1024);
    fflush(stdout);
    free(requests);
    free(data);
}

int main(int argc, char **argv)
{
    int provided, all = 0;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    sends = watch_open("mpit_send_count", MPI_T_PVAR_CLASS_COUNTER, &comm);
    receives = watch_open("mpit_recv_count", MPI_T_PVAR_CLASS_COUNTER, &comm);
    pending_sends = watch_open("mpit_pending_sends", MPI_T_PVAR_CLASS_LEVEL, &comm);
    pending_receives = watch_open("mpit_pending_recvs", MPI_T_PVAR_CLASS_LEVEL, &comm);
    losses = watch_open("mpit_events_lost", MPI_T_PVAR_CLASS_COUNTER, NULL);
    bytes = watch_open("mpit_buffer_bytes", MPI_T_PVAR_CLASS_SIZE, NULL);
    for (int i = 1; i < argc; i++)
        crowd(comm, atoi(argv[i]));
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    MPI_T_finalize();
    MPI_Finalize();
    return absent ? 77 : all != 0;
}
