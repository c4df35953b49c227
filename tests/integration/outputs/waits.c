/*
 * waits DIRECTORY            makes processes wait for each other, and writes down when each call began
 * waits --crash ROUNDS       the last process kills itself after so many rounds of ping-pong between the first and it
 *
 * Each case has a communicator of its own, which is named after it. One process comes late, by DELAY_MS; all write into
 * DIRECTORY/RANK a line "case NAME BEGIN" for the call of the case, in nanoseconds of CLOCK_MONOTONIC, "late NAME
 * NANOSECONDS" for how long it computed before, and "sent COMM DEST MESSAGES BYTES" for the messages of the case
 * "matrix". analyze.py makes of these what the analysis has to say.
 */
#include "../common/seconds.h"
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

/* What process 0 does before its call, the call, and what it does after it. */
#define PAIR_CASE(name, late, before, call, after)                                                                     \
    static void name(const char *called, MPI_Comm comm)                                                                \
    {                                                                                                                  \
        if (rank == 1)                                                                                                 \
            late(called, comm);                                                                                        \
        if (rank != 0)                                                                                                 \
            return;                                                                                                    \
        before;                                                                                                        \
        begins(called);                                                                                                \
        call;                                                                                                          \
        after;                                                                                                         \
    }

static int value;
static MPI_Request request;
static MPI_Message message;

PAIR_CASE(sender_recv, send_late, , MPI_Recv(&value, 1, MPI_INT, 1, 3, comm, MPI_STATUS_IGNORE), )
PAIR_CASE(sender_any, send_late, , MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE), )
PAIR_CASE(sender_wait, send_late, MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request),
          MPI_Wait(&request, MPI_STATUS_IGNORE), )
PAIR_CASE(sender_start, send_late, (MPI_Recv_init(&value, 1, MPI_INT, 1, 3, comm, &request), MPI_Start(&request)),
          MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_Request_free(&request))
PAIR_CASE(sender_probe, send_late, , MPI_Probe(MPI_ANY_SOURCE, 3, comm, MPI_STATUS_IGNORE),
          MPI_Recv(&value, 1, MPI_INT, 1, 3, comm, MPI_STATUS_IGNORE))
PAIR_CASE(sender_mprobe, send_late, , MPI_Mprobe(1, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE),
          MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE))

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

PAIR_CASE(receiver_ssend, receive_late, , MPI_Ssend(large, 1, MPI_CHAR, 1, 3, comm), )
PAIR_CASE(receiver_large, receive_late, , MPI_Send(large, LARGE_BYTES, MPI_CHAR, 1, 3, comm), )
PAIR_CASE(receiver_wait, receive_late, MPI_Issend(large, 1, MPI_CHAR, 1, 3, comm, &request),
          MPI_Wait(&request, MPI_STATUS_IGNORE), )

/* ---- collectives ------------------------------------------------------------------------------------------------- */

#define COLLECTIVE_CASE(name, late, call)                                                                              \
    static void name(const char *called, MPI_Comm comm)                                                                \
    {                                                                                                                  \
        if (rank == late)                                                                                              \
            compute(called, DELAY_MS);                                                                                 \
        begins(called);                                                                                                \
        call;                                                                                                          \
    }

static int sum;

COLLECTIVE_CASE(last_barrier, size - 1, MPI_Barrier(comm))
COLLECTIVE_CASE(last_allreduce, 0, MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm))
COLLECTIVE_CASE(root_bcast, 1, MPI_Bcast(&value, 1, MPI_INT, 1, comm))
COLLECTIVE_CASE(root_reduce, 1, MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, comm))
COLLECTIVE_CASE(prefix_scan, 0, MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, comm))

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
#define CASE(name)                                                                                                     \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
    CASE(sender_recv),    CASE(sender_any),      CASE(sender_wait),   CASE(sender_start),
    CASE(sender_waitall), CASE(sender_sendrecv), CASE(sender_probe),  CASE(sender_mprobe),
#if HAS_MPI4
    CASE(sender_parts),
#endif
    CASE(receiver_ssend), CASE(receiver_large),  CASE(receiver_wait), CASE(last_barrier),
    CASE(last_allreduce), CASE(last_ibarrier),   CASE(root_bcast),    CASE(root_reduce),
    CASE(prefix_scan),    CASE(last_split),      CASE(matrix),
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
