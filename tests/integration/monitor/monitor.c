/*
 * Monitor windows against a program that counts for itself.
 *
 *     monitor MODE [FILE]     single: MPI_Init; threads: MPI_THREAD_MULTIPLE; absent: mpit is not loaded;
 *                             known, below: a part of single, and collectives over UCX
 *
 * Reports go to a function that compares them, and to FILE as JSON; what the sums of a window must be is printed as
 * "expect NAME key=value ...", for monitor.py. Two processes.
 */
#define _GNU_SOURCE
#include "monitorbook.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int rank, failures;
const char *file;
static char buffer[1 << 17];

/* In one write: lines of the other process may come between, and not inside. */
void say(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    EXPECT(write(STDOUT_FILENO, text, (size_t)bytes), bytes);
}

void note(const MPIX_Monitor_report *report, void *own)
{
    struct seen *seen = own;
    seen->reports++;
    seen->report = *report;
    seen->period = *report->period;
    seen->whole = *report->whole;
    seen->comm_count = report->whole->comm_count < COMMS_SEEN ? report->whole->comm_count : COMMS_SEEN;
    for (uint32_t i = 0; i < seen->comm_count; i++) {
        seen->comms[i] = *MPIX_Monitor_comm_at(report->whole, i);
        snprintf(seen->names[i], sizeof seen->names[i], "%s", seen->comms[i].label);
    }
    seen->coll_count = report->whole->coll_count < COMMS_SEEN ? report->whole->coll_count : COMMS_SEEN;
    for (uint32_t i = 0; i < seen->coll_count; i++)
        seen->colls[i] = *MPIX_Monitor_coll_at(report->whole, i);
    if (report->whole->call_before_count)
        snprintf(seen->before, sizeof seen->before, "%s", MPIX_Monitor_before_at(report->whole, 0)->function);
    if (report->whole->call_after_count)
        snprintf(seen->after, sizeof seen->after, "%s", MPIX_Monitor_after_at(report->whole, 0)->function);
}

MPIX_Monitorhandle handle_of(const char *name, struct seen *seen)
{
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    memset(seen, 0, sizeof *seen);
    handle.name = name;
    handle.own = seen;
    handle.file = file;
    return handle;
}

/* One message from rank 0 to rank 1. */
void message(int bytes, MPI_Comm comm)
{
    if (rank == 0)
        MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, comm);
    else
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
}

static const struct seen *comm_named(const struct seen *seen, const char *label, const MPIX_Monitor_comm **comm)
{
    for (uint32_t i = 0; i < seen->comm_count; i++)
        if (strcmp(seen->names[i], label) == 0)
            *comm = &seen->comms[i];
    return seen;
}

/* Sizes, kinds, numbers of processes. */
static void known(void)
{
    static const int sizes[] = {0, 1, 100, 8191, 8192, 100000};
    struct seen seen;
    MPIX_Monitorhandle handle = handle_of("known", &seen);
    MPIX_Monitor_request request;
    MPI_Comm self;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_set_name(self, "my \"self\" \\");
    message(77, MPI_COMM_WORLD); /* before the window */
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(MPIX_Start_monitor(&request, &handle, note), MPIX_MONITOR_OK);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        message(sizes[i], MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(buffer, 10, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(self);
    MPI_Barrier(self);
    usleep(20000);
    EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_OK);
    message(78, MPI_COMM_WORLD); /* behind it */
    const MPIX_Monitor_figures *sum = &seen.whole.sum;
    const uint64_t *counts = rank == 0 ? sum->sent_size_count : sum->received_size_count;
    EXPECT(seen.reports, 1);
    EXPECT(seen.report.reason, MPIX_MONITOR_AT_END);
    EXPECT(sum->sent, rank == 0 ? 6 : 0);
    EXPECT(sum->received, rank == 0 ? 0 : 6);
    EXPECT(sum->completed, 6);
    EXPECT(sum->small, 4);
    EXPECT(sum->large, 2);
    EXPECT(sum->collectives, 6);
    EXPECT(counts[0] + counts[1] + counts[7] + counts[13] + counts[14] + counts[17], 6);
    EXPECT(counts[14], 1);
    EXPECT(counts[13], 1);
    EXPECT((rank == 0 ? sum->sent_size_bytes : sum->received_size_bytes)[17], 100000);
    EXPECT(sum->coll_size_count[0], 5);
    EXPECT(sum->timeouts, getenv("MPIT_P2P_TIMEOUT_NS") ? 6 : 0);
    EXPECT(seen.report.timeout_ns, getenv("MPIT_P2P_TIMEOUT_NS") ? 1 : 0);
    EXPECT(sum->coll_transfers, MPIX_MONITOR_UNKNOWN); /* nobody watches below */
    EXPECT_TRUE(seen.whole.duration_ns >= 20000000);
    EXPECT_TRUE(seen.whole.inside_ns <= seen.whole.duration_ns - 20000000);
    EXPECT_TRUE(sum->p2p_time_ns > 0 && sum->transfer_time_ns >= sum->p2p_time_ns / 2 && sum->coll_time_ns > 0);
    EXPECT(seen.coll_count, 3);
    for (uint32_t i = 0; i < seen.coll_count; i++) {
        bool barrier = strcmp(seen.colls[i].kind, "MPI_Barrier") == 0;
        EXPECT(seen.colls[i].count, !barrier ? 1 : seen.colls[i].processes == 2 ? 3 : 2);
        EXPECT_TRUE(seen.colls[i].time_ns > 0);
        EXPECT(seen.colls[i].execution_time_ns, seen.colls[i].time_ns); /* all of them are blocking */
    }
    const MPIX_Monitor_comm *comm = NULL;
    comm_named(&seen, "my \"self\" \\", &comm);
    EXPECT_TRUE(comm != NULL);
    if (comm) {
        EXPECT(comm->size, 1);
        EXPECT(comm->figures.collectives, 2);
        EXPECT(comm->figures.completed, 0);
        EXPECT_TRUE(comm->span_ns > 0 && comm->first_ns >= seen.whole.begin_ns && comm->last_ns <= seen.whole.end_ns);
    }
    say("expect known sent=%d received=%d completed=6 small=4 large=2 collectives=6 sent_bytes=%d "
        "received_bytes=%d coll_bytes=40\n",
        rank == 0 ? 6 : 0, rank == 0 ? 0 : 6, rank == 0 ? 116484 : 0, rank == 0 ? 0 : 116484);
    MPI_Comm_free(&self);
}

static void overlapping(void)
{
    struct seen first, second, inner;
    MPIX_Monitorhandle a = handle_of("first", &first), b = handle_of("second", &second), c = handle_of("inner", &inner);
    MPIX_Monitor_request ra, rb, rc;
    MPIX_Start_monitor(&ra, &a, note);
    for (int i = 0; i < 3; i++)
        message(10, MPI_COMM_WORLD);
    MPIX_Start_monitor(&rb, &b, note);
    MPIX_Start_monitor(&rc, &c, note);
    for (int i = 0; i < 2; i++)
        message(2000, MPI_COMM_WORLD);
    MPIX_End_monitor(&rc, &c);
    EXPECT(MPIX_End_monitor(&ra, &a), MPIX_MONITOR_OK);
    for (int i = 0; i < 4; i++)
        message(10, MPI_COMM_WORLD);
    EXPECT(MPIX_End_monitor(&rb, &b), MPIX_MONITOR_OK);
    EXPECT(first.whole.sum.completed, 5);
    EXPECT(second.whole.sum.completed, 6);
    EXPECT(inner.whole.sum.completed, 2);
    /* the inner one has taken the begin of what the first saw begin */
    EXPECT(first.comm_count, 1);
    EXPECT(inner.comm_count, 1);
    EXPECT_TRUE(first.comms[0].first_ns < inner.comms[0].first_ns);
    EXPECT_TRUE(first.comms[0].last_ns == inner.comms[0].last_ns);
    EXPECT_TRUE(second.comms[0].first_ns == inner.comms[0].first_ns);
    EXPECT_TRUE(second.comms[0].last_ns > inner.comms[0].last_ns);
    EXPECT_TRUE(inner.comms[0].first_ns >= inner.whole.begin_ns);
    say("expect first completed=5\nexpect second completed=6\nexpect inner completed=2\n");
}

/* Nothing on it: no communicator, and no span. */
static void quiet(void)
{
    struct seen seen;
    MPIX_Monitorhandle handle = handle_of("quiet", &seen);
    MPIX_Monitor_request request;
    MPIX_Start_monitor(&request, &handle, note);
    MPIX_End_monitor(&request, &handle);
    EXPECT(seen.comm_count, 0);
    EXPECT(seen.whole.events, 0);
    handle.communicator = MPI_COMM_WORLD;
    MPIX_Start_monitor(&request, &handle, note);
    MPIX_End_monitor(&request, &handle);
    EXPECT(seen.comm_count, 1);
    EXPECT(seen.comms[0].span_ns, 0);
    EXPECT(seen.comms[0].first_ns, 0);
    say("expect quiet completed=0 sent=0\n");
}

static void one_communicator(void)
{
    struct seen seen;
    MPIX_Monitorhandle handle = handle_of("one", &seen);
    MPIX_Monitor_request request;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    message(5, comm);
    handle.communicator = comm;
    EXPECT(MPIX_Start_monitor(&request, &handle, note), MPIX_MONITOR_OK);
    for (int i = 0; i < 7; i++) {
        message(50, comm);
        message(60, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < 300; i++) { /* its place would go to another one */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        message(1, comm);
        MPI_Comm_free(&comm);
    }
    EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_OK);
    EXPECT(seen.whole.sum.completed, 7);
    EXPECT(seen.whole.sum.collectives, 0);
    EXPECT(seen.comm_count, 1);
    EXPECT(seen.comms[0].flags, MPIX_MONITOR_COMM_FREED);
    EXPECT((rank == 0 ? seen.whole.sum.sent_bytes : seen.whole.sum.received_bytes), 350);
    say("expect one completed=7 collectives=0\n");
}

/* Communicators that come and go, many more than have places: every message is in exactly one window. */
static void coming_and_going(void)
{
    struct seen seen, inside, before;
    MPIX_Monitorhandle handle = handle_of("churn", &seen), part = handle_of("churn part", &inside);
    MPIX_Monitorhandle alive = handle_of("churn alive", &before);
    MPIX_Monitor_request request, second, third;
    MPI_Comm old, comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &old);
    for (int i = 0; i < 9; i++)
        message(3, old); /* in none */
    uint64_t parts = 0, sums = 0;
    MPIX_Start_monitor(&third, &alive, note);
    MPIX_Start_monitor(&request, &handle, note);
    message(3, old);
    MPI_Comm_free(&old);
    for (int i = 0; i < 8; i++) {
        MPIX_Start_monitor(&second, &part, note);
        for (int j = 0; j < 100; j++) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            message(j, comm);
            MPI_Comm_free(&comm);
        }
        MPIX_End_monitor(&second, &part);
        EXPECT(inside.whole.sum.completed, 100);
        EXPECT((rank == 0 ? inside.whole.sum.sent_bytes : inside.whole.sum.received_bytes), 4950);
        parts += inside.whole.sum.completed;
    }
    MPIX_End_monitor(&request, &handle);
    MPIX_End_monitor(&third, &alive);
    EXPECT(parts, 800);
    EXPECT(seen.whole.sum.completed, 801);
    EXPECT(before.whole.sum.completed, 801);
    for (uint32_t i = 0; i < seen.comm_count; i++)
        sums += !!(seen.comms[i].flags & MPIX_MONITOR_COMM_SUM);
    EXPECT_TRUE(seen.comm_count == COMMS_SEEN || sums == 1);
    say("expect churn completed=801\nexpect churn_alive completed=801\n");
}

/* Requests that are pending where a window begins or ends. */
static void at_the_edges(void)
{
    struct seen seen;
    MPIX_Monitorhandle handle = handle_of("edges", &seen);
    MPIX_Monitor_request request;
    MPI_Request early, late;
    char first[8], second[8];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Irecv(first, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &early);
    MPIX_Start_monitor(&request, &handle, note);
    if (rank == 1) {
        MPI_Irecv(second, 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &late);
        MPI_Wait(&early, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(buffer, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    }
    MPIX_End_monitor(&request, &handle);
    if (rank == 0)
        MPI_Send(buffer, 8, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    else
        MPI_Wait(&late, MPI_STATUS_IGNORE);
    EXPECT(seen.whole.before.recvs, rank == 1);
    EXPECT(seen.whole.after.recvs, rank == 1);
    EXPECT(seen.whole.sum.received, rank == 1);
    EXPECT(seen.whole.sum.completed, 1);
    EXPECT(seen.comms[0].before.recvs, rank == 1);
    EXPECT(seen.whole.before.calls, 0);
    if (rank == 1) /* posted before: its communication begins with the window */
        EXPECT(seen.comms[0].first_ns, seen.whole.begin_ns);
    say("expect edges completed=1 received=%d\n", rank);
}

static void options(void)
{
    struct seen seen;
    MPIX_Monitorhandle handle = handle_of("traffic", &seen);
    MPIX_Monitor_request request;
    handle.pttopt = handle.coll = handle.comm = handle.msgsize = 0;
    MPIX_Start_monitor(&request, &handle, note);
    message(40, MPI_COMM_WORLD);
    MPIX_End_monitor(&request, &handle);
    EXPECT(seen.report.options, MPIX_MONITOR_PROFILE | MPIX_MONITOR_TRAFFIC);
    EXPECT(seen.whole.sum.sent_bytes + seen.whole.sum.received_bytes, 40);
    EXPECT(seen.whole.sum.completed, 0);
    EXPECT(seen.whole.sum.small, 0);
    EXPECT(seen.comm_count, 0);
    EXPECT(handle.pttopt && handle.coll && handle.comm && handle.msgsize && handle.traffic && handle.profile, 1);
    EXPECT(handle.other, 0);
    handle.profile = 0;
    seen.reports = 0;
    EXPECT(MPIX_Start_monitor(&request, &handle, note), MPIX_MONITOR_OK);
    EXPECT(request, MPIX_MONITOR_REQUEST_NULL);
    EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_OK);
    EXPECT(seen.reports, 0);
    EXPECT(handle.profile, 1);
    handle.name = "other";
    handle.other = 1;
    MPIX_Start_monitor(&request, &handle, note);
    MPI_Barrier(MPI_COMM_WORLD);
    MPIX_End_monitor(&request, &handle);
    EXPECT_TRUE(seen.whole.other.os_time_ns != MPIX_MONITOR_UNKNOWN);
    EXPECT(handle.other, 0);
    say("expect traffic sent=%d received=%d\nexpect other collectives=1\n", rank == 0, rank == 1);
}

static void ignore(const MPIX_Monitor_report *report, void *own)
{
    (void)report, (void)own;
}

static void refused(void)
{
    struct seen seen;
    MPIX_Monitorhandle good = handle_of("refused", &seen), bad;
    MPIX_Monitor_request request = 5, twice;
    EXPECT(MPIX_Start_monitor(NULL, &good, note), MPIX_MONITOR_ERR_ARGUMENT);
    bad = good, bad.coll = 7;
    EXPECT(MPIX_Start_monitor(&request, &bad, note), MPIX_MONITOR_ERR_OPTION);
    EXPECT(request, MPIX_MONITOR_REQUEST_NULL);
    bad = good, bad.period_ns = 9;
    EXPECT(MPIX_Start_monitor(&request, &bad, note), MPIX_MONITOR_ERR_PERIOD);
    bad = good, bad.file = "/nowhere/at/all";
    EXPECT(MPIX_Start_monitor(&request, &bad, note), MPIX_MONITOR_ERR_FILE);
    bad = good, bad.bytes = 8;
    EXPECT(MPIX_Start_monitor(&request, &bad, note), MPIX_MONITOR_ERR_ARGUMENT);
    bad = good, memcpy(&bad.communicator_word, &(uint64_t){0x12345678}, 8);
    EXPECT(MPIX_Start_monitor(&request, &bad, note), MPIX_MONITOR_ERR_COMM);
    EXPECT(MPIX_End_monitor(NULL, &good), MPIX_MONITOR_ERR_ARGUMENT);
    request = MPIX_MONITOR_REQUEST_NULL;
    EXPECT(MPIX_End_monitor(&request, &good), MPIX_MONITOR_OK);
    EXPECT(MPIX_Start_monitor(&request, &good, note), MPIX_MONITOR_OK);
    twice = request;
    EXPECT(MPIX_End_monitor(&request, NULL), MPIX_MONITOR_OK);
    EXPECT(request, MPIX_MONITOR_REQUEST_NULL);
    EXPECT(MPIX_End_monitor(&twice, NULL), MPIX_MONITOR_ERR_REQUEST);
    EXPECT(MPIX_Start_monitor(&request, NULL, ignore), MPIX_MONITOR_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(MPIX_Start_monitor(&twice, &good, note) == MPIX_MONITOR_ABSENT &&
                      MPIX_End_monitor(&request, &good) == MPIX_MONITOR_ABSENT
                  ? 0
                  : 1); /* of a copy of `request` */
    int status = 1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    EXPECT(status, 0);
    EXPECT(MPIX_End_monitor(&request, &good), MPIX_MONITOR_OK);
}

static int absent(void)
{
    struct seen seen;
    MPIX_Monitorhandle handle = handle_of("absent", &seen);
    MPIX_Monitor_request request = 3;
    handle.coll = 0;
    EXPECT(MPIX_Start_monitor(&request, &handle, note), MPIX_MONITOR_ABSENT);
    EXPECT(request, MPIX_MONITOR_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_ABSENT);
    EXPECT(seen.reports, 0);
    EXPECT(handle.coll, 1);
    return failures;
}

/* Transfers below collectives, where the MPI library uses what is watched. */
static void below(void)
{
    struct seen seen, unasked;
    MPIX_Monitorhandle handle = handle_of("below", &seen), without = handle_of("beside", &unasked);
    MPIX_Monitor_request request, other;
    int values[2] = {rank, 0};
    handle.other = 1;
    without.communicator = MPI_COMM_SELF;
    MPI_Barrier(MPI_COMM_WORLD);
    MPIX_Start_monitor(&request, &handle, note);
    MPIX_Start_monitor(&other, &without, note);
    for (int i = 0; i < 10; i++)
        MPI_Allreduce(&values[0], &values[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPIX_End_monitor(&other, &without);
    MPIX_End_monitor(&request, &handle);
    EXPECT(seen.whole.sum.collectives, 10);
    EXPECT_TRUE(seen.whole.sum.coll_transfers != MPIX_MONITOR_UNKNOWN && seen.whole.sum.coll_transfers >= 10);
    EXPECT_TRUE(seen.whole.sum.coll_transfer_time_ns <= seen.whole.sum.coll_time_ns);
    EXPECT_TRUE(seen.whole.other.fabric_ops >= 10 && seen.whole.other.fabric_ops != MPIX_MONITOR_UNKNOWN);
    EXPECT_TRUE(seen.whole.other.fabric_time_ns > 0 && seen.whole.sum.fabric_time_ns <= seen.whole.mpi_time_ns);
    say("expect below collectives=10\n");
}

static void single(void)
{
    known();
    overlapping();
    quiet();
    one_communicator();
    coming_and_going();
    at_the_edges();
    options();
    refused();
    sites();
    periods();
}

int main(int argc, char **argv)
{
    static struct seen last;
    bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    bool without = argc > 1 && strcmp(argv[1], "absent") == 0;
    MPIX_Monitorhandle handle = handle_of("last", &last);
    MPIX_Monitor_request request = 0;
    int provided = MPI_THREAD_SINGLE, early = MPIX_Start_monitor(&request, &handle, note);
    EXPECT(early, without ? MPIX_MONITOR_ABSENT : MPIX_MONITOR_ERR_TIME);
    file = argc > 2 ? argv[2] : NULL;
    if (threads)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (without)
        absent();
    else if (threads && provided == MPI_THREAD_MULTIPLE)
        many_threads();
    else if (argc > 1 && strcmp(argv[1], "known") == 0)
        known();
    else if (argc > 1 && strcmp(argv[1], "below") == 0)
        below();
    else if (!threads)
        single();
    handle.file = file;
    if (!without)
        EXPECT(MPIX_Start_monitor(&request, &handle, note), MPIX_MONITOR_OK);
    message(1, MPI_COMM_WORLD);
    MPI_Finalize();
    EXPECT(last.reports, !without);
    if (!without) {
        EXPECT(last.report.reason, MPIX_MONITOR_AT_FINALIZE);
        EXPECT(last.whole.sum.completed, 1);
        EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_ERR_REQUEST);
        EXPECT(MPIX_Start_monitor(&request, &handle, note), MPIX_MONITOR_ERR_TIME);
        say("expect last completed=1\n");
    }
    if (failures)
        fprintf(stderr, "%d failures on rank %d\n", failures, rank);
    return failures != 0;
}
