#include "exporter/usefultime.h"

#include "base/number.h"
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

/* Time in the calls that lie outside of the run time, and have returned. */
static uint64_t ends_ns_read(const struct run_reader *run)
{
    uint64_t calls[CALLS_MOST], ends = 0;
    size_t count = figures_read(&(struct figures){run}, "mpit_call_time", VARIABLE_TIMER, NULL, calls, CALLS_MOST);
    for (uint32_t kind = 0; kind < count && kind < CALLS_MOST; kind++)
        if (calls[kind] && is_end_of_run(run_reader_call_name(run, kind)))
            ends += calls[kind];
    return ends;
}

/* MPI_Init or MPI_Finalize may return during the read. Then the read is repeated. */
static uint64_t mpi_ns_read(struct live_process *process, struct live_thread *threads, uint64_t *alive)
{
    const struct run_reader *run = &process->run;
    uint64_t ends, ticks, under_way;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        live_now(process);
        ends = ends_ns_read(run);
        ticks = under_way = *alive = 0;
        loads_order();
        for (size_t i = 0; i < run->thread_count; i++) {
            live_thread_read(process, i, &threads[i]);
            ticks += threads[i].mpi_ticks;
            *alive += threads[i].alive;
            if (!run->header.finalize_ticks) /* in MPI_Finalize it is after the run */
                under_way += threads[i].since_ns;
        }
        loads_order();
        if (ends_ns_read(run) == ends)
            break;
    }
    return less(live_between(process, 0, ticks), ends) + under_way;
}

static uint64_t run_ns_read(const struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    uint64_t end = header->finalize_ticks ? header->finalize_ticks : process->now_ticks;
    uint64_t all = live_between(process, header->init_ticks, end);
    uint64_t off_ns = live_between(process, 0, run_off_ticks(header, end));
    return less(all, off_ns);
}

void useful_time_take(struct useful_time *time, struct live_process *process, struct live_thread *threads)
{
    const struct run_header *header = &process->run.header;
    uint64_t alive, mpi_ns = mpi_ns_read(process, threads, &alive);
    time->known = header->init_ticks && header->timed == 1 && !header->timed_changed && !header->filter[0];
    if (!time->known)
        return;
    uint64_t run_ns = run_ns_read(process);
    uint64_t more = alive > time->seen_threads ? alive : time->seen_threads;
    uint64_t run = less(run_ns, time->seen_run_ns), mpi = less(mpi_ns, time->seen_mpi_ns) / (more ? more : 1);
    if (run_reader_is_torn(&process->run))
        return;
    time->run_ns += run;
    time->useful_ns += less(run, mpi);
    time->seen_run_ns += run;
    time->seen_mpi_ns = mpi_ns;
    time->seen_threads = alive;
}
