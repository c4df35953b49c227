/*
 * monitorwindows: what monitor windows take in a real process, and how late periods are.
 *
 *     mpit-run mpirun -n 1 monitorwindows-MPI
 *
 * Ten communicators are in use, all options are on. Least nanoseconds, less those of a clock read, of
 * MPIX_Start_monitor, and of MPIX_End_monitor with the making of its report for a function that does nothing: without
 * option `other`, once with messages on all communicators in between; with `other` (which switches the measuring on and
 * off), and with it while another window has it on. Then how late the reports of a period of 1 ms are.
 */
#define _GNU_SOURCE
#include <mpit/monitor.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COMMS = 10, ROUNDS = 1000, PERIODS_MOST = 4096 };

static uint64_t late[PERIODS_MOST];
static size_t periods;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void ignore(const MPIX_Monitor_report *report, void *own)
{
    (void)report, (void)own;
}

static void note(const MPIX_Monitor_report *report, void *own)
{
    (void)own;
    if (report->reason == MPIX_MONITOR_AT_PERIOD && periods < PERIODS_MOST)
        late[periods++] = report->late_ns;
}

static int by_size(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static MPI_Comm comms[COMMS];

static void comms_use(void)
{
    char out[8] = "1234567", in[8];
    for (int i = 0; i < COMMS; i++) {
        MPI_Request request;
        MPI_Barrier(comms[i]);
        MPI_Irecv(in, 8, MPI_CHAR, 0, 0, comms[i], &request);
        MPI_Send(out, 8, MPI_CHAR, 0, 0, comms[i]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void measure(const char *what, int other, int used)
{
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    uint64_t start = UINT64_MAX, end = UINT64_MAX, clock = UINT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        handle.other = other;
        uint64_t a = now_ns();
        MPIX_Start_monitor(&request, &handle, ignore);
        uint64_t b = now_ns();
        if (used)
            comms_use();
        uint64_t begin = now_ns();
        MPIX_End_monitor(&request, &handle);
        uint64_t c = now_ns();
        start = b - a < start ? b - a : start;
        end = c - begin < end ? c - begin : end;
        uint64_t d = now_ns();
        clock = d - c < clock ? d - c : clock;
    }
    start -= clock < start ? clock : start;
    end -= clock < end ? clock : end;
    printf("%-28s start %6llu ns, end with report %6llu ns, both %6llu ns\n", what, (unsigned long long)start,
           (unsigned long long)end, (unsigned long long)(start + end));
}

int main(int argc, char **argv)
{
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request outer;
    struct timespec second = {.tv_sec = 1};
    MPI_Init(&argc, &argv);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    comms_use();
    measure("without other", 0, 0);
    measure("all communicators used", 0, 1);
    measure("other, switched each time", 1, 0);
    handle.other = 1;
    if (MPIX_Start_monitor(&outer, &handle, ignore) == MPIX_MONITOR_ABSENT)
        printf("nothing monitors\n");
    measure("other, on already", 1, 0);
    MPIX_End_monitor(&outer, &handle);
    handle.period_ns = 1000000;
    MPIX_Start_monitor(&outer, &handle, note);
    nanosleep(&second, NULL);
    MPIX_End_monitor(&outer, &handle);
    qsort(late, periods, sizeof late[0], by_size);
    if (periods)
        printf("%zu reports of 1 ms in 1 s, late: median %llu ns, 99 of 100 below %llu ns\n", periods,
               (unsigned long long)late[periods / 2], (unsigned long long)late[periods * 99 / 100]);
    MPI_Finalize();
    return 0;
}
