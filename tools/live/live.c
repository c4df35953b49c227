#include "live/live.h"

#include "base/array.h"
#include "base/pair.h"
#include "base/systemclock.h"
#include "figures/figures.h"
#include "jobfile/jobindex.h"
#include "live/livefind.h"
#include "base/processlife.h"
#include "job/rundir.h"
#include "base/spools.h"
#include "reader/regularfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LABELS_AT_ONCE = 256, LABELS_EVERY = 16, ATTEMPTS = 4, VALUES_MOST = 1024 };

/* A job that was shown. */
struct live_seen {
    uint64_t job;
    uint64_t since;    /* the look that saw it first */
    uint64_t alive_ns; /* when it was last seen alive */
};

/* ---- the clock of a process -------------------------------------------------------------------------------------- */

/* A process measures its factor in MPI_Init. Before that, this tool's own factor is used if both run on one kernel. */
static struct clock_scale process_scale(const struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    if (!header->clock_mult && process->clock && header->clock_kind == CLOCK_KIND_TSC)
        return clock_calibrate();
    return run_reader_scale(&process->run);
}

uint64_t live_between(const struct live_process *process, uint64_t from_ticks, uint64_t to_ticks)
{
    return to_ticks > from_ticks ? clock_ns(process_scale(process), to_ticks - from_ticks) : 0;
}

static uint64_t ticks_at(const struct live_process *process, uint64_t realtime_ns)
{
    const struct run_header *header = &process->run.header;
    if (realtime_ns < header->begin_realtime_ns)
        return header->begin_ticks;
    return header->begin_ticks + clock_ticks(process_scale(process), realtime_ns - header->begin_realtime_ns);
}

/* Returns the kernel's clock, the same for all of its processes. */
static uint64_t ticks_now(const struct live_process *process, uint64_t realtime_ns)
{
    return process->clock ? process_ticks_now(&process->run.header) : ticks_at(process, realtime_ns);
}

void live_now(struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    if (!process->readable || !process->alive || (run_phase_is_end(header->phase) && header->end_ticks))
        return;
    process->now_ticks = ticks_now(process, realtime_now());
    process->now_ns = live_between(process, header->begin_ticks, process->now_ticks);
}

static void file_time(struct live_file *file, uint64_t realtime_ns)
{
    struct live_process *process = &file->process;
    const struct run_header *header = &process->run.header;
    if (run_phase_is_end(header->phase) && header->end_ticks)
        process->now_ticks = header->end_ticks;
    else if (process->alive)
        process->now_ticks = file->last_ticks = ticks_now(process, realtime_ns);
    else if (header->end_ticks || header->end_realtime_ns)
        process->now_ticks = header->end_ticks ? header->end_ticks : ticks_at(process, header->end_realtime_ns);
    else
        process->now_ticks = file->last_ticks ? file->last_ticks : run_reader_last_ticks(&process->run);
    process->now_ns = live_between(process, header->begin_ticks, process->now_ticks);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void file_judge(struct live_file *file, const struct run_header *header)
{
    file->job = header->job;
    file->clock = process_has_this_kernel(header);
    bool held = file->holder && !process_is_here(header);
    file->here = held || process_is_here(header);
    file->alive = held ? process_is_at(header, file->holder) : process_life(header) != LIFE_GONE;
    file->ended = !file->alive;
    file->peeked = true;
}

/* Reads the header of a file that is not open. */
static void file_peek(struct live_file *file)
{
    struct run_header header;
    file->alive = false;
    if (run_header_read(file->path, live_file_extent(file), &header) && header.byte_order == RUN_BYTE_ORDER &&
        header.phase >= RUN_STARTING)
        file_judge(file, &header);
    else
        file->results = file->peeked = file->ended = job_file_parts(file->path, live_file_extent(file)) != 0;
}

/* Opens the file, again if needed. Data of a process that is gone stays valid. */
static void file_open(struct live_file *file)
{
    struct live_process *process = &file->process;
    struct run_reader fresh;
    if (run_reader_open_tables(&fresh, file->path, live_file_extent(file)) == 0 && !run_reader_is_torn(&fresh)) {
        if (file->open)
            run_reader_close(&process->run);
        process->run = fresh;
        process->problem[0] = '\0';
        file->open = true;
        return;
    }
    if (fresh.map)
        run_reader_close(&fresh);
    struct stat st;
    bool same = stat(file->path, &st) == 0 && st.st_dev == file->keyed.key[0] && st.st_ino == file->keyed.key[1];
    if (file->open && !same && !run_reader_is_torn(&process->run))
        return;
    snprintf(process->problem, sizeof process->problem, "%s",
             fresh.error[0] ? fresh.error : "became shorter while it was read");
    if (file->open)
        run_reader_close(&process->run);
    file->open = false;
}

static void file_look(struct live_file *file, uint64_t look, uint64_t realtime_ns)
{
    struct live_process *process = &file->process;
    if (!file->open || !run_reader_refresh(&process->run))
        file_open(file);
    else if (process->run.slot_count <= LABELS_AT_ONCE || look % LABELS_EVERY == 0)
        run_reader_relabel(&process->run);
    process->path = file->path;
    process->readable = file->open;
    if (file->open)
        file_judge(file, &process->run.header);
    process->here = file->here;
    process->clock = file->clock;
    process->alive = file->alive;
    process->pid = !file->here                                              ? 0
                   : file->holder && !process_is_here(&process->run.header) ? file->holder
                                                                            : (pid_t)process->run.header.pid;
    process->now_ticks = process->now_ns = 0;
    if (file->open)
        file_time(file, realtime_ns);
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

/* Its number may have gone to another process since the look. */
static bool process_is_still(const struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", (int)process->pid);
    bool same = process_is_here(header) ? process_lives(header) : process_is_at(header, process->pid);
    return same && stat(path, &st) == 0 && st.st_uid == run_reader_owner(&process->run);
}

const char *live_signal(const struct live_process *process, int number)
{
    if (!process->readable || process->pid <= 0)
        return "it is not on this node";
    int handle = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (handle < 0)
        return strerror(errno);
    const char *why = NULL;
    if (!process_is_still(process))
        why = "it has ended";
    else if (syscall(SYS_pidfd_send_signal, handle, number, NULL, 0) != 0)
        why = strerror(errno);
    close(handle);
    return why;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct live_seen *seen_of(struct live *live, uint64_t job)
{
    struct live_finder *finder = live->finder;
    for (size_t i = 0; i < finder->seen_count; i++)
        if (finder->seen[i].job == job)
            return &finder->seen[i];
    if (!ARRAY_GROWN(finder->seen, finder->seen_count))
        return NULL;
    finder->seen[finder->seen_count] = (struct live_seen){.job = job, .since = live->looks};
    return &finder->seen[finder->seen_count++];
}

/* Chooses the jobs to show: jobs with a process that is alive here, or was a moment ago. For named paths it chooses all
 * jobs. */
static int jobs_choose(struct live *live, struct keyed *const *files, uint64_t now_ns)
{
    struct live_finder *finder = live->finder;
    for (size_t i = 0; i < finder->files.count; i++) {
        struct live_file *file = (struct live_file *)(void *)files[i];
        if (!file->open && (!file->ended || !file->peeked))
            file_peek(file);
        else if (file->open)
            file_judge(file, &file->process.run.header);
        bool shows = !file->results && (live->path_count || (file->alive && file->here));
        struct live_seen *seen = shows ? seen_of(live, file->job) : NULL;
        if (shows && !seen)
            return -1;
        if (shows)
            seen->alive_ns = now_ns;
    }
    return 0;
}

static bool job_is_shown(const struct live *live, uint64_t job, uint64_t now_ns)
{
    const struct live_finder *finder = live->finder;
    for (size_t i = 0; i < finder->seen_count; i++)
        if (finder->seen[i].job == job)
            return now_ns - finder->seen[i].alive_ns < LIVE_ENDED_NS;
    return false;
}

static void seen_forget(struct live_finder *finder, uint64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < finder->seen_count; i++)
        if (now_ns - finder->seen[i].alive_ns < LIVE_ENDED_NS)
            finder->seen[kept++] = finder->seen[i];
    finder->seen_count = kept;
}

static int process_order(const void *one, const void *other)
{
    const struct live_process *a = one, *b = other;
    return ORDER(run_rank(&a->run.header), run_rank(&b->run.header)) ?: ORDER(a->run.header.pid, b->run.header.pid);
}

static uint64_t job_begin(const struct live_job *job)
{
    uint64_t begin = UINT64_MAX;
    for (size_t i = 0; i < job->count; i++)
        if (job->processes[i].readable && job->processes[i].run.header.begin_realtime_ns < begin)
            begin = job->processes[i].run.header.begin_realtime_ns;
    return begin;
}

static int job_order(const void *one, const void *other)
{
    const struct live_job *a = one, *b = other;
    return ORDER(job_begin(a), job_begin(b)) ?: ORDER(a->job, b->job);
}

static void jobs_release(struct live *live)
{
    for (size_t i = 0; i < live->job_count; i++)
        free(live->jobs[i].processes);
    free(live->jobs);
    live->jobs = NULL;
    live->job_count = 0;
}

/* The look at the file may have just found its job, when MPI_Init has returned. */
static int process_add(struct live *live, const struct live_file *file, uint64_t now_ns)
{
    struct live_seen *seen = seen_of(live, file->job);
    size_t i = 0;
    while (i < live->job_count && live->jobs[i].job != file->job)
        i++;
    if (!seen)
        return -1;
    if (!seen->alive_ns)
        seen->alive_ns = now_ns;
    if (i == live->job_count) {
        if (!ARRAY_GROWN(live->jobs, live->job_count))
            return -1;
        live->jobs[live->job_count++] = (struct live_job){.job = file->job, .since = seen->since};
    }
    struct live_job *job = &live->jobs[i];
    if (!ARRAY_GROWN(job->processes, job->count))
        return -1;
    job->processes[job->count++] = file->process;
    job->alive = job->alive || file->alive;
    if (file->open && run_size(&file->process.run.header) > job->world_size)
        job->world_size = run_size(&file->process.run.header);
    return 0;
}

static int jobs_make(struct live *live, struct keyed *const *files, size_t count, uint64_t now_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct live_file *file = (struct live_file *)(void *)files[i];
        uint64_t before = file->job;
        bool starting = !before && !file->alive && !live->path_count; /* it died in MPI_Init, some time */
        file->wanted = !file->results && job_is_shown(live, file->job, now_ns) && !starting;
        if (file->wanted)
            file_look(file, live->looks, live->realtime_ns);
        else if (file->open) {
            run_reader_close(&file->process.run);
            file->open = false;
        }
        if (file->wanted && process_add(live, file, now_ns) != 0)
            return -1;
    }
    for (size_t i = 0; i < live->job_count; i++)
        qsort(live->jobs[i].processes, live->jobs[i].count, sizeof *live->jobs[i].processes, process_order);
    if (live->job_count)
        qsort(live->jobs, live->job_count, sizeof *live->jobs, job_order);
    return 0;
}

/* ---- a look ------------------------------------------------------------------------------------------------------ */

int live_files_open(struct live *live, const char *const *paths, size_t count)
{
    clock_open();
    run_reader_guard();
    *live = (struct live){0};
    live->finder = calloc(1, sizeof *live->finder);
    live->paths = calloc(count + 1, sizeof *live->paths);
    bool good = live->finder && live->paths;
    for (size_t i = 0; good && i < count; i++)
        good = (live->paths[live->path_count++] = strdup(paths[i])) != NULL;
    if (!good)
        live_close(live);
    return good ? 0 : -1;
}

/* The output directory is made only when the job ends. */
static bool live_has_spool(const char *path)
{
    struct spool_list spools;
    bool found = spools_find(&spools, path) == 0 && spools.count > 0;
    spools_release(&spools);
    return found;
}

/* Reports named paths that are missing, because one of several may be misspelled. Later a path may be gone because its
 * job is gone. */
static int missing_tell(const struct live *live, char error[512])
{
    struct stat st;
    for (size_t i = 0; live->looks == 1 && i < live->path_count; i++)
        if (stat(live->paths[i], &st) != 0) {
            int problem = errno;
            if (live_has_spool(live->paths[i]))
                continue;
            snprintf(error, 512, problem == ENOENT ? "%.300s does not exist" : "%.300s: %s", live->paths[i],
                     strerror(problem));
            return -1;
        }
    return 0;
}

/* Writes the reason why there are no jobs to show. */
static int nothing_tell(const struct live *live, char error[512])
{
    struct stat st;
    const char *path = live->paths[0];
    if (stat(path, &st) != 0)
        snprintf(error, 512, errno == ENOENT ? "%.300s does not exist" : "%.300s: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode) && run_dir_count(path) > 0)
        snprintf(error, 512, "the job in %.300s has ended; mpit-dump shows it", path);
    else if (S_ISDIR(st.st_mode))
        snprintf(error, 512, "no run file (*" RUN_FILE_SUFFIX ") in %.300s", path);
    else
        snprintf(error, 512, "%.300s is not a run file", path);
    return -1;
}

int live_look(struct live *live, char error[512])
{
    struct live_finder *finder = live->finder;
    error[0] = '\0';
    jobs_release(live);
    live->looks++;
    live->realtime_ns = realtime_now();
    uint64_t now_ns = monotonic_ns();
    int result = live_find(finder, live->paths, live->path_count);
    size_t count = finder->files.count;
    struct keyed **files = result == 0 && count ? keytable_sorted(&finder->files) : NULL;
    if (result == 0 && count)
        result = !files ? -1 : jobs_choose(live, files, now_ns) != 0 ? -1 : jobs_make(live, files, count, now_ns);
    free(files);
    seen_forget(finder, now_ns);
    if (result != 0)
        snprintf(error, 512, "no memory");
    else if (live->path_count && !live->job_count)
        result = nothing_tell(live, error);
    else
        result = missing_tell(live, error);
    return result;
}

void live_close(struct live *live)
{
    jobs_release(live);
    if (live->finder)
        live_finder_release(live->finder);
    for (size_t i = 0; i < live->path_count; i++)
        free(live->paths[i]);
    free(live->paths);
    *live = (struct live){0};
}

void live_of_all_users(struct live *live)
{
    live->finder->all_users = true;
}

bool live_is_whole(const struct live_process *process)
{
    return process->readable && !run_reader_is_torn(&process->run);
}

/* ---- what a process does ----------------------------------------------------------------------------------------- */

uint64_t live_sum(const struct run_reader *run, const struct variable_record *record, size_t first, size_t end,
                  uint32_t thread, uint64_t *values, size_t count)
{
    uint64_t own[VALUES_MOST], sum = 0;
    size_t have = !record ? 0 : record->count < VALUES_MOST ? record->count : VALUES_MOST;
    if (have) {
        variable_clear(record, own, have);
        figures_blocks_add(run, record, first, end, thread, own, have);
    }
    for (size_t i = 0; i < have; i++) {
        sum += own[i];
        if (i < count)
            values[i] = own[i];
    }
    return sum;
}

uint64_t live_comm_changes(const struct run_reader *run)
{
    const struct run_header *header = (const struct run_header *)(const void *)run->base;
    loads_order();
    return __atomic_load_n(&header->comm_changes, __ATOMIC_ACQUIRE);
}

/* Reads a state and counters that match. Returns false if the thread was in another call each time. */
static bool state_read(const struct run_reader *run, const struct thread_record *record, struct live_thread *thread)
{
    const struct variable_record *mpi = run_reader_variable(run, "mpit_mpi_time", VARIABLE_TIMER);
    const struct variable_record *stall = run_reader_variable(run, "mpit_stall_time", VARIABLE_TIMER);
    const volatile struct thread_state *there = &record->state;
    size_t first = run->comm_blocks[0], end = run->comm_blocks[1];
    for (int i = 0; i < ATTEMPTS; i++) {
        thread->state = (struct thread_state){.since = there->since,
                                              .call = there->call,
                                              .comm = there->comm,
                                              .peer = there->peer,
                                              .partner = there->partner,
                                              .path = there->path};
        thread->stalled = RELAXED_LOAD(&record->stalled);
        loads_order();
        thread->mpi_ticks = live_sum(run, mpi, first, end, record->index, NULL, 0);
        thread->stall_ticks = live_sum(run, stall, first, end, record->index, NULL, 0);
        loads_order();
        if (there->since == thread->state.since && there->call == thread->state.call)
            return true;
    }
    return false;
}

void live_thread_read(const struct live_process *process, size_t i, struct live_thread *thread)
{
    const struct thread_record *record = process->run.threads[i];
    *thread = (struct live_thread){.alive = false};
    if (!record)
        return;
    thread->end_ticks = RELAXED_LOAD(&record->end_ticks);
    thread->alive = !thread->end_ticks;
    if (!state_read(&process->run, record, thread)) /* its calls are short */
        thread->state.since = process->now_ticks;
    if (!thread->alive) /* another thread may use its thread state next */
        thread->state = (struct thread_state){0};
    if (!thread->state.call || !thread->state.since) /* the call is not timed */
        return;
    thread->since_ns = live_between(process, thread->state.since, process->now_ticks);
    thread->stall_ns = thread->stalled ? live_between(process, thread->stalled, process->now_ticks) : 0;
    if (thread->stall_ns > thread->since_ns)
        thread->stall_ns = thread->since_ns;
}
