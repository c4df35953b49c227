/*
 * A window with option `other`: it asks for the counters of the system itself, and has those that were asked for by
 * name. The program knows how many pages it touches inside of its receives, and outside; says "pages right" or what is
 * wrong. With an argument, perf::PAGE-FAULTS has to be there.
 */
#include <mpit/monitor.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 2048, OUTSIDE = 700, MORE = 300 /* of the library's own */, P2P = 1 };

static int failures;

static void within(const char *what, unsigned long long value, unsigned long long least)
{
    if (value >= least && value <= least + MORE)
        return;
    fprintf(stderr, "%s: %llu, not %llu to %llu\n", what, value, least, least + MORE);
    failures++;
}

static void told(const MPIX_Monitor_report *report, void *own)
{
    const MPIX_Monitor_interval *whole = report->whole;
    const char *name = (const char *)own;
    unsigned found = 0;
    within("page faults inside of MPI", whole->other.os_faults, PAGES);
    for (unsigned i = 0; i < whole->other.counter_count; i++) {
        const MPIX_Monitor_counter *counter = MPIX_Monitor_counter_at(whole, i);
        if (!name || strcmp(counter->name, name) != 0)
            continue;
        found++;
        within("page faults in receives", counter->places[P2P], PAGES);
        within("page faults outside of MPI", counter->places[0], OUTSIDE);
    }
    if (found != (name != NULL)) {
        fprintf(stderr, "%u counters of the name %s\n", found, name ? name : "(none)");
        failures++;
    }
}

/* Pages that nobody has touched, and that stay small. */
static char *pages(size_t count)
{
    size_t bytes = count * (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(2);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

int main(int argc, char **argv)
{
    int rank, bytes = PAGES * (int)sysconf(_SC_PAGESIZE);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *out = pages(PAGES), *warm = pages(PAGES), *in = pages(PAGES), *outside = pages(OUTSIDE);
    memset(out, 1, (size_t)bytes);
    /* what the library needs of its own for messages of this size */
    MPI_Sendrecv(out, bytes, MPI_BYTE, rank ^ 1, 0, warm, bytes, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    handle.other = 1;
    handle.own = argc > 1 ? "perf::PAGE-FAULTS" : NULL;
    if (MPIX_Start_monitor(&request, &handle, told) != MPIX_MONITOR_OK)
        return 1;
    MPI_Barrier(MPI_COMM_WORLD); /* counters are read from the first call on */
    memset(outside, 1, (size_t)OUTSIDE * (size_t)sysconf(_SC_PAGESIZE));
    MPI_Sendrecv(out, bytes, MPI_BYTE, rank ^ 1, 0, in, bytes, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (MPIX_End_monitor(&request, &handle) != MPIX_MONITOR_OK)
        return 1;
    if (!failures)
        puts("pages right");
    MPI_Finalize();
    return failures != 0;
}
