/*
 * waits DIRECTORY            makes processes wait for each other, and writes down when each call began
 * waits --crash ROUNDS       the last process kills itself after so many rounds of ping-pong between the first and it
 *
 * Each case has a communicator of its own, which is named after it. One process comes late, by DELAY_MS; all write into
 * DIRECTORY/RANK a line "case NAME BEGIN" for the call of the case, in nanoseconds of CLOCK_MONOTONIC, "late NAME
 * NANOSECONDS" for how long it computed before, and "sent COMM DEST MESSAGES BYTES" for the messages of the case
 * "matrix". analyze.py makes of these what the analysis has to say.
 */
#include "../common/mpi4.h"

#include <mpi.h>

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DELAY_MS = 150, LARGE_BYTES = 4 << 20, ROUNDS = 40, PEERS_MAX = 16 };

static int rank, size;
static FILE *notes;
static char *large;
static MPI_Comm sync_comm;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Takes so long, on no processor. */
static void compute(const char *name, int ms)
{
    uint64_t begin = now_ns(), end = begin + (uint64_t)ms * 1000000;
    for (uint64_t now = begin; now < end; now = now_ns()) {
        struct timespec rest = {0, (long)(end - now)};
        nanosleep(&rest, NULL);
    }
    fprintf(notes, "late %s %llu\n", name, (unsigned long long)(now_ns() - begin));
}

static void begins(const char *name)
{
    unsigned long long ns = now_ns();
    fprintf(notes, "case %s %llu\n", name, ns);
}

static MPI_Comm case_open(const char *name)
{
    MPI_Comm comm;
    MPI_Comm_dup(sync_comm, &comm);
    MPI_Comm_set_name(comm, name);
    MPI_Barrier(sync_comm);
    return comm;
}

/* ---- messages: 0 waits, 1 is late -------------------------------------------------------------------------------- */

static void send_late(const char *name, MPI_Comm comm)
{
    int value = 1;
    compute(name, DELAY_MS);
    begins(name);
    MPI_Send(&value, 1, MPI_INT, 0, 3, comm);
}

static void sender_recv(const char *name, MPI_Comm comm)
{
    int value;
    if (rank == 1)
        send_late(name, comm);
    if (rank != 0)
        return;
    begins(name);
    MPI_Recv(&value, 1, MPI_INT, 1, 3, comm, MPI_STATUS_IGNORE);
}

static void sender_any(const char *name, MPI_Comm comm)
{
    int value;
    if (rank == 1)
        send_late(name, comm);
    if (rank != 0)
        return;
    begins(name);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
}

static void sender_wait(const char *name, MPI_Comm comm)
{
    MPI_Request request;
    int value;
    if (rank == 1)
        send_late(name, comm);
    if (rank != 0)
        return;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request);
    begins(name);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void sender_start(const char *name, MPI_Comm comm)
{
    MPI_Request request;
    int value;
    if (rank == 1)
        send_late(name, comm);
    if (rank != 0)
        return;
    MPI_Recv_init(&value, 1, MPI_INT, 1, 3, comm, &request);
    MPI_Start(&request);
    begins(name);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

/* Two are sent, the second one late; what counts is the last. */
static void sender_waitall(const char *name, MPI_Comm comm)
{
    MPI_Request requests[2];
    int values[2] = {1, 2};
    if (rank == 1) {
        MPI_Send(&values[0], 1, MPI_INT, 0, 2, comm);
        send_late(name, comm);
    }
    if (rank != 0)
        return;
    MPI_Irecv(&values[0], 1, MPI_INT, 1, 3, comm, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, 1, 2, comm, &requests[1]);
    begins(name);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void sender_sendrecv(const char *name, MPI_Comm comm)
{
    int out = rank, in;
    if (rank == 1)
        compute(name, DELAY_MS);
    if (rank > 1)
        return;
    begins(name);
    MPI_Sendrecv(&out, 1, MPI_INT, !rank, 3, &in, 1, MPI_INT, !rank, 3, comm, MPI_STATUS_IGNORE);
}

static void sender_probe(const char *name, MPI_Comm comm)
{
    int value;
    if (rank == 1)
        send_late(name, comm);
    if (rank != 0)
        return;
    begins(name);
    MPI_Probe(MPI_ANY_SOURCE, 3, comm, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 1, 3, comm, MPI_STATUS_IGNORE);
}

static void sender_mprobe(const char *name, MPI_Comm comm)
{
    MPI_Message message;
    int value;
    if (rank == 1)
        send_late(name, comm);
    if (rank != 0)
        return;
    begins(name);
    MPI_Mprobe(1, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

#if HAS_MPI4
static void sender_parts(const char *name, MPI_Comm comm)
{
    MPI_Request request;
    int values[4] = {0};
    if (rank > 1)
        return;
    if (rank == 0)
        MPI_Precv_init(values, 4, 1, MPI_INT, 1, 3, comm, MPI_INFO_NULL, &request);
    else
        MPI_Psend_init(values, 4, 1, MPI_INT, 0, 3, comm, MPI_INFO_NULL, &request);
    if (rank == 1) {
        compute(name, DELAY_MS);
        begins(name);
    }
    MPI_Start(&request);
    if (rank == 1)
        MPI_Pready_range(0, 3, request);
    else
        begins(name);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}
#endif

static void receive_late(const char *name, MPI_Comm comm)
{
    compute(name, DELAY_MS);
    begins(name);
    MPI_Recv(large, LARGE_BYTES, MPI_CHAR, 0, 3, comm, MPI_STATUS_IGNORE);
}

static void receiver_ssend(const char *name, MPI_Comm comm)
{
    if (rank == 1)
        receive_late(name, comm);
    if (rank != 0)
        return;
    begins(name);
    MPI_Ssend(large, 1, MPI_CHAR, 1, 3, comm);
}

static void receiver_large(const char *name, MPI_Comm comm)
{
    if (rank == 1)
        receive_late(name, comm);
    if (rank != 0)
        return;
    begins(name);
    MPI_Send(large, LARGE_BYTES, MPI_CHAR, 1, 3, comm);
}

static void receiver_wait(const char *name, MPI_Comm comm)
{
    MPI_Request request;
    if (rank == 1)
        receive_late(name, comm);
    if (rank != 0)
        return;
    MPI_Issend(large, 1, MPI_CHAR, 1, 3, comm, &request);
    begins(name);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static void last_barrier(const char *name, MPI_Comm comm)
{
    if (rank == size - 1)
        compute(name, DELAY_MS);
    begins(name);
    MPI_Barrier(comm);
}

static void last_allreduce(const char *name, MPI_Comm comm)
{
    int in = rank, out;
    if (rank == 0)
        compute(name, DELAY_MS);
    begins(name);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
}

static void last_ibarrier(const char *name, MPI_Comm comm)
{
    MPI_Request request;
    if (rank == 1)
        compute(name, DELAY_MS);
    if (rank == 1)
        begins(name); /* the others wait for its begin, and not for its wait */
    MPI_Ibarrier(comm, &request);
    if (rank != 1)
        begins(name);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void root_bcast(const char *name, MPI_Comm comm)
{
    int value = 7;
    if (rank == 1)
        compute(name, DELAY_MS);
    begins(name);
    MPI_Bcast(&value, 1, MPI_INT, 1, comm);
}

static void root_reduce(const char *name, MPI_Comm comm)
{
    int in = rank, out;
    if (rank == 1)
        compute(name, DELAY_MS);
    begins(name);
    MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, comm);
}

static void prefix_scan(const char *name, MPI_Comm comm)
{
    int in = rank, out;
    if (rank == 0)
        compute(name, DELAY_MS);
    begins(name);
    MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, comm);
}

static void last_split(const char *name, MPI_Comm comm)
{
    MPI_Comm half;
    if (rank == 1)
        compute(name, DELAY_MS);
    begins(name);
    MPI_Comm_split(comm, rank % 2, 0, &half);
    MPI_Comm_free(&half);
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

/* The same draws on all processes: who sends how many bytes to whom. */
static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1103515245 + 12345;
    return (*state >> 16) % below;
}

static void matrix(const char *name, MPI_Comm comm)
{
    MPI_Comm turned;
    static unsigned long long messages[2][PEERS_MAX], bytes[2][PEERS_MAX];
    static char in[1024], out[1024];
    unsigned state = 7;
    MPI_Comm_split(comm, 0, size - rank, &turned); /* ranks the other way round */
    MPI_Comm_set_name(turned, "turned");
    for (int i = 0; i < ROUNDS * size; i++) {
        int which = (int)draw(&state, 2), from = (int)draw(&state, (unsigned)size),
            to = (int)draw(&state, (unsigned)size);
        int count = (int)draw(&state, sizeof out), tag = (int)draw(&state, 3);
        int shift = which ? size - 1 : 0, sign = which ? -1 : 1; /* world rank -> rank in the communicator */
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        if (rank == to)
            MPI_Irecv(in, sizeof in, MPI_CHAR, which ? MPI_ANY_SOURCE : from, which ? MPI_ANY_TAG : tag,
                      which ? turned : comm, &requests[0]);
        if (rank == from) {
            MPI_Isend(out, count, MPI_CHAR, shift + sign * to, tag, which ? turned : comm, &requests[1]);
            messages[which][to]++;
            bytes[which][to] += (unsigned long long)count;
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int which = 0; which < 2; which++)
        for (int to = 0; to < size; to++)
            if (messages[which][to])
                fprintf(notes, "sent %s %d %llu %llu\n", which ? "turned" : name, to, messages[which][to],
                        bytes[which][to]);
    MPI_Comm_free(&turned);
}

static const struct {
    const char *name;
    void (*run)(const char *name, MPI_Comm comm);
} cases[] = {
    {"sender_recv", sender_recv},
    {"sender_any", sender_any},
    {"sender_wait", sender_wait},
    {"sender_start", sender_start},
    {"sender_waitall", sender_waitall},
    {"sender_sendrecv", sender_sendrecv},
    {"sender_probe", sender_probe},
    {"sender_mprobe", sender_mprobe},
#if HAS_MPI4
    {"sender_parts", sender_parts},
#endif
    {"receiver_ssend", receiver_ssend},
    {"receiver_large", receiver_large},
    {"receiver_wait", receiver_wait},
    {"last_barrier", last_barrier},
    {"last_allreduce", last_allreduce},
    {"last_ibarrier", last_ibarrier},
    {"root_bcast", root_bcast},
    {"root_reduce", root_reduce},
    {"prefix_scan", prefix_scan},
    {"last_split", last_split},
    {"matrix", matrix},
};

static int crash(int rounds)
{
    int value = 0, other = rank ? 0 : size - 1;
    for (int i = 0; i < rounds && (rank == 0 || rank == size - 1); i++) {
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank)
            MPI_Send(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    }
    if (rank == size - 1)
        kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

int main(int argc, char *argv[])
{
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 3 && strcmp(argv[1], "--crash") == 0)
        return crash(atoi(argv[2]));
    snprintf(path, sizeof path, "%s/%d", argc == 2 ? argv[1] : ".", rank);
    notes = fopen(path, "w");
    large = calloc(1, LARGE_BYTES);
    if (argc != 2 || !notes || !large || size < 2 || size > PEERS_MAX) {
        fprintf(stderr, "usage: waits DIRECTORY, with 2 to %d processes\n", PEERS_MAX);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &sync_comm);
    MPI_Comm_set_name(sync_comm, "sync");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        MPI_Comm comm = case_open(cases[i].name);
        cases[i].run(cases[i].name, comm);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&sync_comm);
    if (fclose(notes) != 0)
        return 1;
    free(large);
    MPI_Finalize();
    return 0;
}
