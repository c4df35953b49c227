/* Call sites, useful time and efficiencies of windows: the program knows where it calls MPI, how often, and how long it
 * rests. */
#include "monitorbook.h"

#include <mpi.h>

#include <stdint.h>
#include <string.h>
#include <time.h>

enum { SITES_MOST = 8, REST_MS = 50 };

/* What a function has seen of a report. */
struct sites_seen {
    uint32_t count;
    MPIX_Monitor_site site[SITES_MOST];
    uint64_t innermost[SITES_MOST];
    char function[SITES_MOST][32], module[SITES_MOST][512];
    uint64_t duration_ns, inside_ns, mpi_time_ns, useful_ns;
    uint32_t threads;
};

static void sites_note(const MPIX_Monitor_report *report, void *own)
{
    struct sites_seen *seen = own;
    const MPIX_Monitor_interval *whole = report->whole;
    seen->count = MPIX_Monitor_site_count(whole);
    for (uint32_t i = 0; i < seen->count && i < SITES_MOST; i++) {
        const MPIX_Monitor_site *site = MPIX_Monitor_site_at(whole, i);
        seen->site[i] = *site;
        seen->innermost[i] = site->frame_count ? site->frames[0] : 0;
        snprintf(seen->function[i], sizeof seen->function[i], "%s", site->function);
        snprintf(seen->module[i], sizeof seen->module[i], "%s", site->module);
    }
    seen->duration_ns = whole->duration_ns;
    seen->inside_ns = whole->inside_ns;
    seen->mpi_time_ns = whole->mpi_time_ns;
    seen->useful_ns = MPIX_Monitor_useful_ns(whole);
    seen->threads = whole->threads;
}

static void rest(int ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
}

static void __attribute__((noinline, noclone)) barriers_here(int calls)
{
    for (int i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_SELF);
}

static void __attribute__((noinline, noclone)) barriers_there(int calls)
{
    for (int i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_SELF);
}

static void __attribute__((noinline, noclone)) messages(int calls, int bytes)
{
    static char out[1000], in[1000];
    for (int i = 0; i < calls; i++)
        MPI_Sendrecv(out, bytes, MPI_CHAR, 0, 1, in, bytes, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* 0 to 2: the function that an address is in. They follow each other in any order, and are small. */
static int function_of(uint64_t address)
{
    const uint64_t begin[3] = {(uintptr_t)barriers_here, (uintptr_t)barriers_there, (uintptr_t)messages};
    int found = -1;
    for (int i = 0; i < 3; i++)
        if (begin[i] < address && (found < 0 || begin[i] > begin[found]))
            found = i;
    return found >= 0 && address - begin[found] < 1000 ? found : -1;
}

static struct sites_seen watched(int callsites)
{
    static struct sites_seen seen;
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    memset(&seen, 0, sizeof seen);
    handle.callsites = callsites;
    handle.own = &seen;
    barriers_there(3); /* before the window */
    EXPECT(MPIX_Start_monitor(&request, &handle, sites_note), MPIX_MONITOR_OK);
    barriers_here(7);
    messages(5, 100);
    rest(REST_MS);
    barriers_there(11);
    EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_OK);
    EXPECT(handle.callsites, callsites); /* it is not one of the options that END resets */
    barriers_here(2);                    /* behind it */
    return seen;
}

static void site_check(const struct sites_seen *seen, uint32_t i)
{
    static const struct {
        const char *function;
        uint64_t calls, messages, bytes;
    } wanted[3] = {{"MPI_Barrier", 7, 0, 0}, {"MPI_Barrier", 11, 0, 0}, {"MPI_Sendrecv", 5, 5, 500}};
    const MPIX_Monitor_site *site = &seen->site[i];
    int which = function_of(seen->innermost[i]);
    EXPECT_TRUE(which >= 0);
    if (which < 0)
        return;
    EXPECT(strcmp(seen->function[i], wanted[which].function), 0);
    EXPECT(site->count, wanted[which].calls);
    EXPECT(site->sent, wanted[which].messages);
    EXPECT(site->received, wanted[which].messages);
    EXPECT(site->sent_bytes, wanted[which].bytes);
    EXPECT(site->received_bytes, wanted[which].bytes);
    EXPECT_TRUE(site->stall_time_ns <= site->time_ns + 1 || site->stall_time_ns == MPIX_MONITOR_UNKNOWN);
    EXPECT_TRUE(site->offset > 0 && (seen->innermost[i] - site->offset) % 4096 == 0); /* where the file is mapped */
    EXPECT_TRUE(site->frame_count >= 2 && !seen->module[i][0]);                       /* and main, of the program */
}

static void call_sites(void)
{
    struct sites_seen all = watched(64), few = watched(2), none = watched(0);
    EXPECT(all.count, 3);
    uint64_t time_ns = 0;
    for (uint32_t i = 0; i < all.count && i < SITES_MOST; i++) {
        site_check(&all, i);
        time_ns += all.site[i].time_ns;
        EXPECT_TRUE(i == 0 || all.site[i].time_ns <= all.site[i - 1].time_ns);
    }
    EXPECT_TRUE(time_ns <= all.mpi_time_ns + 3 && time_ns + 3 >= all.mpi_time_ns); /* rounded for each site */
    EXPECT(few.count, 2);
    for (uint32_t i = 0; i < few.count && i < SITES_MOST; i++)
        site_check(&few, i);
    EXPECT(none.count, 0);
}

static void useful_time(void)
{
    struct sites_seen seen = watched(0);
    EXPECT_TRUE(seen.threads > 0);
    EXPECT(seen.useful_ns, seen.duration_ns - seen.inside_ns / seen.threads);
    EXPECT_TRUE(seen.useful_ns >= REST_MS * UINT64_C(1000000));
}

/* Rank r rests r + 1 times as long as rank 0, and they wait for each other. */
static void efficiencies(void)
{
    static struct sites_seen seen;
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    MPIX_Monitor_efficiency is = {0, 0, 0};
    uint64_t useful[2] = {0}, duration[2] = {0};
    handle.own = &seen;
    MPI_Barrier(MPI_COMM_WORLD);
    MPIX_Start_monitor(&request, &handle, sites_note);
    for (int i = 0; i < 4; i++) {
        rest(REST_MS * (rank + 1));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPIX_End_monitor(&request, &handle);
    MPI_Allgather(&seen.useful_ns, 1, MPI_UINT64_T, useful, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    MPI_Allgather(&seen.duration_ns, 1, MPI_UINT64_T, duration, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    EXPECT(MPIX_Monitor_efficiencies(useful, duration, 2, &is), 1);
    EXPECT_TRUE(is.load_balance > 0.6 && is.load_balance < 0.9); /* 0.75, if no rest takes longer */
    EXPECT_TRUE(is.parallel / (is.load_balance * is.communication) > 0.999999);
    EXPECT_TRUE(is.parallel / (is.load_balance * is.communication) < 1.000001);
    EXPECT_TRUE(is.communication > 0 && is.communication <= 1); /* figures_of_efficiencies has exact ones */
}

static void figures_of_efficiencies(void)
{
    const uint64_t useful[3] = {500, 1000, 600}, duration[3] = {2000, 1900, 2000};
    const uint64_t unknown[2] = {500, MPIX_MONITOR_UNKNOWN}, zero[2] = {0, 0};
    MPIX_Monitor_efficiency is = {7, 7, 7};
    EXPECT(MPIX_Monitor_efficiencies(useful, duration, 0, &is), 0);
    EXPECT(MPIX_Monitor_efficiencies(unknown, duration, 2, &is), 0);
    EXPECT(MPIX_Monitor_efficiencies(useful, unknown, 2, &is), 0);
    EXPECT(MPIX_Monitor_efficiencies(zero, zero, 2, &is), 0);
    EXPECT_TRUE(is.parallel == 7 && is.load_balance == 7 && is.communication == 7);
    EXPECT(MPIX_Monitor_efficiencies(useful, duration, 3, &is), 1);
    EXPECT_TRUE(is.parallel == 0.35 && is.load_balance == 0.7 && is.communication == 0.5);
    EXPECT(MPIX_Monitor_efficiencies(zero, duration, 2, &is), 1);
    EXPECT_TRUE(is.parallel == 0 && is.load_balance == 1 && is.communication == 0);
}

static void sites_refused(void)
{
    static const int bad[] = {-1, MPIX_MONITOR_CALLSITES_MOST + 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
        MPIX_Monitor_request request;
        handle.callsites = bad[i];
        EXPECT(MPIX_Start_monitor(&request, &handle, sites_note), MPIX_MONITOR_ERR_OPTION);
        EXPECT(request, MPIX_MONITOR_REQUEST_NULL);
    }
}

void sites(void)
{
    call_sites();
    useful_time();
    efficiencies();
    figures_of_efficiencies();
    sites_refused();
}
