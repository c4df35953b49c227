#include "exporter/usefultime.h"

#include "base/pair.h"
#include "figures/figures.h"

#include <string.h>

enum { ATTEMPTS = 4, CALLS_MOST = 1024 };

/* These calls lie outside of the run time. */
static bool is_end_of_run(const char *call)
{
    static const char *const ends[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init",
                                       "MPI_Session_finalize"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(call, ends[i]) == 0)
            return true;
    return false;
}

/* Time in calls that have returned. */
static uint64_t returned_ns(const struct run_reader *run)
{
    const struct figures figures = {run};
    uint64_t calls[CALLS_MOST], ends = 0, all = figures_one(&figures, "mpit_mpi_time", VARIABLE_TIMER, NULL);
    size_t count = figures_read(&figures, "mpit_call_time", VARIABLE_TIMER, NULL, calls, CALLS_MOST);
    for (uint32_t kind = 0; kind < count && kind < CALLS_MOST; kind++)
        if (calls[kind] && is_end_of_run(run_reader_call_name(run, kind)))
            ends += calls[kind];
    return all > ends ? all - ends : 0;
}

/* The calls under way. */
struct under_way {
    uint64_t ns, threads;
    uint64_t mark; /* the same as long as no call begins or ends */
};

static struct under_way under_way_read(const struct live_process *process)
{
    struct under_way is = {.ns = 0};
    for (size_t i = 0; i < process->run.thread_count; i++) {
        const struct thread_record *thread = process->run.threads[i];
        if (!thread || __atomic_load_n(&thread->end_ticks, __ATOMIC_RELAXED))
            continue;
        uint64_t since = __atomic_load_n(&thread->state.since, __ATOMIC_ACQUIRE);
        uint32_t call = __atomic_load_n(&thread->state.call, __ATOMIC_ACQUIRE);
        is.threads++;
        is.mark = 31 * is.mark + since + call;
        /* in MPI_Finalize it is after the run */
        if (call && !process->run.header.finalize_ticks)
            is.ns += live_between(process, since, process->now_ticks);
    }
    return is;
}

/* A call that returns meanwhile would be counted twice, or not at all. */
static uint64_t mpi_ns_read(struct live_process *process, uint64_t *threads)
{
    struct under_way before, after;
    uint64_t returned;
    for (int i = 0; i < ATTEMPTS; i++) {
        live_now(process);
        before = under_way_read(process);
        loads_order();
        returned = returned_ns(&process->run);
        loads_order();
        after = under_way_read(process);
        if (before.mark == after.mark)
            break;
    }
    *threads = before.threads;
    return returned + before.ns;
}

static uint64_t run_ns_read(const struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    uint64_t end = header->finalize_ticks ? header->finalize_ticks : process->now_ticks;
    uint64_t all = live_between(process, header->init_ticks, end);
    uint64_t off_ns = live_between(process, 0, run_off_ticks(header, end));
    return all > off_ns ? all - off_ns : 0;
}

static uint64_t ticks_grown(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

void useful_time_take(struct useful_time *time, struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    uint64_t threads;
    time->known = header->init_ticks && header->timed == 1 && !header->timed_changed && !header->filter[0];
    if (!time->known)
        return;
    uint64_t mpi_ns = mpi_ns_read(process, &threads), run_ns = run_ns_read(process);
    uint64_t more = threads > time->seen_threads ? threads : time->seen_threads;
    uint64_t run = ticks_grown(run_ns, time->seen_run_ns),
             mpi = ticks_grown(mpi_ns, time->seen_mpi_ns) / (more ? more : 1);
    if (run_reader_is_torn(&process->run))
        return;
    time->run_ns += run;
    time->useful_ns += ticks_grown(run, mpi);
    time->seen_run_ns += run;
    time->seen_mpi_ns = mpi_ns;
    time->seen_threads = threads;
}
