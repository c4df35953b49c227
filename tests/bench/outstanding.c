/*
 * outstanding [MOST]: what posting and completing a request costs while 100, 1,000, ... MOST others are outstanding.
 *
 * One process posts N receives from itself, sends N messages past the recorder, and completes the receives. It does so
 * in turn with MPI_* and with PMPI_*, which a recorder in front of MPI_* does not see: both in one run, on the same
 * memory. Prints a line for each N and each way to complete them:
 *
 *     WAY N POST-NATIVE POST-RECORDED DONE-NATIVE DONE-RECORDED
 *
 * in ns of processor time a request, of the shortest round,
 *
 * in order, in reverse order and in random order by MPI_Wait; all with one MPI_Waitall; with one MPI_Testsome; 64 at a
 * time with MPI_Waitany.
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TAG = 7, WAITANY_ARRAY = 64, ROUNDS_LEAST = 3, REQUESTS_LEAST = 300000 };

/* The functions that are measured. */
struct entry {
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*wait)(MPI_Request *, MPI_Status *);
    int (*waitall)(int, MPI_Request *, MPI_Status *);
    int (*testsome)(int, MPI_Request *, int *, int *, MPI_Status *);
    int (*waitany)(int, MPI_Request *, int *, MPI_Status *);
};

static const struct entry entries[2] = {{PMPI_Irecv, PMPI_Wait, PMPI_Waitall, PMPI_Testsome, PMPI_Waitany},
                                        {MPI_Irecv, MPI_Wait, MPI_Waitall, MPI_Testsome, MPI_Waitany}};

static MPI_Request *requests;
static MPI_Status *statuses;
static int *in, *order, *indices;

/* Processor time: a round is longer than a busy machine lets a process run at once. */
static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void wait_each(const struct entry *entry, int n)
{
    for (int i = 0; i < n; i++)
        entry->wait(&requests[order[i]], MPI_STATUS_IGNORE);
}

static void wait_all(const struct entry *entry, int n)
{
    entry->waitall(n, requests, statuses);
}

static void test_some(const struct entry *entry, int n)
{
    for (int done = 0, some = 0; done < n; done += some)
        entry->testsome(n, requests, &some, indices, statuses);
}

static void wait_any(const struct entry *entry, int n)
{
    for (int from = 0; from < n; from += WAITANY_ARRAY) {
        int count = n - from < WAITANY_ARRAY ? n - from : WAITANY_ARRAY, index;
        for (int i = 0; i < count; i++)
            entry->waitany(count, &requests[from], &index, MPI_STATUS_IGNORE);
    }
}

static void order_forward(int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
}

static void order_back(int n)
{
    for (int i = 0; i < n; i++)
        order[i] = n - 1 - i;
}

static void order_random(int n)
{
    order_forward(n);
    srand(1);
    for (int i = n - 1; i > 0; i--) {
        int other = (int)(rand() / (RAND_MAX + 1.0) * (i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static const struct {
    const char *name;
    void (*arrange)(int n);
    void (*complete)(const struct entry *entry, int n);
} ways[] = {
    {"wait-in-order", order_forward, wait_each}, {"wait-reverse", order_back, wait_each},
    {"wait-random", order_random, wait_each},    {"waitall", order_forward, wait_all},
    {"testsome", order_forward, test_some},      {"waitany-64", order_forward, wait_any},
};

static void round_run(const struct entry *entry, int n, void (*complete)(const struct entry *, int), double best[2])
{
    double begin = now_ns(), posted, sent;
    for (int i = 0; i < n; i++)
        entry->irecv(&in[i], 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &requests[i]);
    posted = now_ns();
    for (int i = 0; i < n; i++)
        PMPI_Send(&i, 1, MPI_INT, 0, TAG, MPI_COMM_SELF);
    sent = now_ns();
    complete(entry, n);
    double times[2] = {(posted - begin) / n, (now_ns() - sent) / n};
    for (int i = 0; i < 2; i++)
        if (best[i] == 0 || times[i] < best[i])
            best[i] = times[i];
    for (int i = 0; i < n; i++)
        if (in[i] != i || requests[i] != MPI_REQUEST_NULL) {
            fprintf(stderr, "outstanding: message %d of %d is wrong\n", i, n);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

int main(int argc, char *argv[])
{
    int most = argc > 1 ? atoi(argv[1]) : 1000000;
    MPI_Init(&argc, &argv);
    requests = calloc((size_t)most, sizeof *requests);
    statuses = calloc((size_t)most, sizeof *statuses);
    in = calloc((size_t)most, sizeof *in);
    order = calloc((size_t)most, sizeof *order);
    indices = calloc((size_t)most, sizeof *indices);
    if (!requests || !statuses || !in || !order || !indices)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
        for (int n = 100; n <= most; n *= 10) {
            double best[2][2] = {{0}};
            ways[way].arrange(n);
            for (int round = 0; round < ROUNDS_LEAST || round * n < REQUESTS_LEAST; round++)
                for (int i = 0; i < 2; i++)
                    round_run(&entries[i], n, ways[way].complete, best[i]);
            printf("%s %d %.1f %.1f %.1f %.1f\n", ways[way].name, n, best[0][0], best[1][0], best[0][1], best[1][1]);
            fflush(stdout);
        }
    MPI_Finalize();
    return 0;
}
