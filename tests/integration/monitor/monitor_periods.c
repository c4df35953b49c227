/* Windows with periods, and windows of several threads. */
#define _GNU_SOURCE
#include "../common/seconds.h"
#include "monitorbook.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIGURES = sizeof(MPIX_Monitor_figures) / sizeof(uint64_t), THREADS = 4, ROUNDS = 50 };

/* All reports of a window, added up. */
struct added {
    struct seen last;
    uint64_t figures[FIGURES], mpi_time, events, number, missed;
    int end_at; /* the function ends its window when this report comes; 0: it does not */
    int ended;  /* what that returned */
    MPIX_Monitor_request request;
};

static void add(const MPIX_Monitor_report *report, void *own)
{
    struct added *added = own;
    uint64_t words[FIGURES];
    memcpy(words, &report->period->sum, sizeof words);
    for (int i = 0; i < FIGURES; i++)
        added->figures[i] += words[i] == MPIX_MONITOR_UNKNOWN ? 0 : words[i];
    added->mpi_time += report->period->mpi_time_ns;
    added->events += report->period->events;
    EXPECT(report->sequence, added->last.reports + 1);
    if (report->reason == MPIX_MONITOR_AT_PERIOD) {
        EXPECT(report->number, added->number + 1 + report->missed);
        EXPECT(report->due_ns, report->whole->begin_ns + report->number * report->period_ns);
        EXPECT(report->last, 0);
        added->number = report->number;
        added->missed += report->missed;
    } else {
        EXPECT(report->last, 1);
    }
    if (added->last.reports) /* one begins where the other ended */
        EXPECT(report->period->begin_ns, added->last.period.end_ns);
    note(report, &added->last);
    if (added->end_at && added->last.reports == added->end_at)
        added->ended = MPIX_End_monitor(&added->request, NULL);
}

static void compare(const struct added *added)
{
    uint64_t whole[FIGURES];
    memcpy(whole, &added->last.whole.sum, sizeof whole);
    for (int i = 0; i < FIGURES; i++)
        if (whole[i] != MPIX_MONITOR_UNKNOWN)
            EXPECT(added->figures[i], whole[i]);
    EXPECT(added->mpi_time, added->last.whole.mpi_time_ns);
    EXPECT(added->events, added->last.whole.events);
}

static void own_end(void)
{
    static struct added added;
    added.end_at = 3;
    MPIX_Monitorhandle handle = handle_of("own end", &added.last);
    handle.own = &added;
    handle.period_ns = 2000000;
    EXPECT(MPIX_Start_monitor(&added.request, &handle, add), MPIX_MONITOR_OK);
    for (uint64_t begin = now_ns(); __atomic_load_n(&added.last.reports, __ATOMIC_ACQUIRE) < 4;) {
        usleep(1000);
        if (now_ns() - begin > 30000000000u)
            break;
    }
    usleep(5000); /* no other one comes */
    EXPECT(added.last.reports, 4);
    EXPECT(added.ended, MPIX_MONITOR_OK);
    EXPECT(added.last.report.reason, MPIX_MONITOR_AT_END);
    compare(&added);
}

void periods(void)
{
    static struct added added;
    uint64_t messages = 0;
    MPIX_Monitorhandle handle = handle_of("periods", &added.last);
    handle.own = &added;
    handle.period_ns = 5000000;
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(MPIX_Start_monitor(&added.request, &handle, add), MPIX_MONITOR_OK);
    for (int more = 1; more; messages++) {
        message((int)(messages % 20000), MPI_COMM_WORLD);
        if (rank == 0)
            more = __atomic_load_n(&added.last.reports, __ATOMIC_RELAXED) < 20;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    EXPECT(MPIX_End_monitor(&added.request, &handle), MPIX_MONITOR_OK);
    EXPECT(added.last.whole.sum.completed, messages);
    EXPECT(added.last.whole.sum.collectives, messages);
    compare(&added);
    fprintf(stderr, "periods on rank %d: %d reports, %llu missed\n", rank, added.last.reports,
            (unsigned long long)added.missed);
    say("expect periods completed=%llu collectives=%llu\n", (unsigned long long)messages, (unsigned long long)messages);
    own_end();
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int number;
};

/* Windows on its own communicator, and on all of them, one in the other, again and again. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct seen *mine = malloc(sizeof *mine), *all = malloc(sizeof *all);
    for (int round = 0; round < ROUNDS; round++) {
        MPIX_Monitorhandle handle = handle_of("thread", mine), every = handle_of("every", all);
        MPIX_Monitor_request request, outer;
        handle.communicator = worker->comm;
        handle.file = every.file = NULL;
        MPIX_Start_monitor(&outer, &every, note);
        MPIX_Start_monitor(&request, &handle, note);
        for (int i = 0; i < worker->number + 1; i++)
            message(100 * worker->number, worker->comm);
        EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_OK);
        EXPECT(MPIX_End_monitor(&outer, &every), MPIX_MONITOR_OK);
        EXPECT(mine->whole.sum.completed, worker->number + 1);
        EXPECT(mine->comm_count, 1);
        EXPECT(mine->whole.sum.small, worker->number + 1);
        EXPECT_TRUE(all->whole.sum.completed >= mine->whole.sum.completed);
        EXPECT_TRUE(mine->comms[0].first_ns >= mine->whole.begin_ns);
        EXPECT_TRUE(mine->comms[0].last_ns <= mine->whole.end_ns);
    }
    free(mine);
    free(all);
    return NULL;
}

static void crowd(void)
{
    static struct added added;
    struct worker workers[THREADS];
    MPIX_Monitorhandle handle = handle_of("crowd", &added.last);
    handle.own = &added;
    handle.period_ns = 3000000;
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(MPIX_Start_monitor(&added.request, &handle, add), MPIX_MONITOR_OK);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    EXPECT(MPIX_End_monitor(&added.request, &handle), MPIX_MONITOR_OK);
    EXPECT(added.last.whole.sum.completed, ROUNDS * (1 + 2 + 3 + 4));
    EXPECT((rank == 0 ? added.last.whole.sum.sent_bytes : added.last.whole.sum.received_bytes),
           ROUNDS * 100 * (2 * 1 + 3 * 2 + 4 * 3));
    compare(&added);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&workers[i].comm);
    say("expect crowd completed=%d\n", ROUNDS * 10);
}

static void *receive(void *argument)
{
    int got;
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, 9, *(MPI_Comm *)argument, MPI_STATUS_IGNORE);
    return NULL;
}

/* A thread waits in MPI_Recv where windows begin and end; the report itself tells when it has come there. */
static void across(void)
{
    struct seen *seen = malloc(sizeof *seen);
    MPIX_Monitor_request request;
    MPI_Comm comm;
    pthread_t thread;
    uint64_t begin = now_ns();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    pthread_create(&thread, NULL, receive, &comm);
    do {
        MPIX_Monitorhandle handle = handle_of("probe", seen);
        handle.file = NULL;
        MPIX_Start_monitor(&request, &handle, note);
        MPIX_End_monitor(&request, &handle);
    } while (!seen->whole.before.calls && now_ns() - begin < 30000000000u);
    EXPECT(seen->whole.mpi_time_ns, 0); /* it has not returned, */
    EXPECT(seen->whole.inside_ns, seen->whole.unfinished_ns - seen->whole.begun_before_ns);
    EXPECT_TRUE(seen->whole.inside_ns >= seen->whole.duration_ns * 9 / 10); /* and is inside of the whole window */
    EXPECT_TRUE(seen->whole.inside_ns <= seen->whole.duration_ns + 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPIX_Monitorhandle handle = handle_of("across", seen);
    MPIX_Start_monitor(&request, &handle, note);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody sends before both windows are open */
    usleep(10000);
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 9, comm);
    pthread_join(thread, NULL);
    MPIX_End_monitor(&request, &handle);
    EXPECT(seen->whole.before.calls, 1);
    EXPECT(strcmp(seen->before, "MPI_Recv"), 0);
    EXPECT(seen->whole.after.calls, 0);
    EXPECT(seen->whole.sum.completed, 2);
    EXPECT_TRUE(seen->whole.mpi_time_ns > seen->whole.begun_before_ns);
    EXPECT(seen->whole.inside_ns, seen->whole.mpi_time_ns - seen->whole.begun_before_ns);
    EXPECT_TRUE(seen->whole.inside_ns <= 2 * seen->whole.duration_ns);
    EXPECT(seen->comm_count, 2);
    const MPIX_Monitor_comm *on = seen->comms[0].figures.completed ? &seen->comms[0] : &seen->comms[1];
    EXPECT(on->figures.completed, 2);
    EXPECT(on->before.calls, 1);
    EXPECT(on->first_ns, seen->whole.begin_ns);
    say("expect across completed=2\n");
    MPI_Comm_free(&comm);
    free(seen);
}

void many_threads(void)
{
    crowd();
    across();
}
