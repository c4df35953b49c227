#include "exporter/observation.h"

#include "base/array.h"
#include "base/systemclock.h"
#include "format/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets of figures --------------------------------------------------------------------------------------------- */

uint64_t figure_neutral(const struct metric *metric)
{
    return metric->combine == COMBINE_LOW ? LOW_NEUTRAL : 0;
}

struct figure_row *figure_row(struct figure_set *set, size_t metric)
{
    return metric < set->count && set->rows[metric].values ? &set->rows[metric] : NULL;
}

struct figure_row *figure_row_make(struct figure_set *set, const struct metric *metric, size_t number)
{
    if (number >= set->count) {
        if (!ARRAY_EXTENDED(set->rows, set->count, number + 1))
            return NULL;
        set->count = number + 1;
    }
    struct figure_row *row = &set->rows[number];
    if (row->count >= metric->slots)
        return row;
    if (!ARRAY_RESIZED(row->values, metric->slots) || !ARRAY_RESIZED(row->shown, metric->slots))
        return NULL;
    for (size_t i = row->count; i < metric->slots; i++) {
        row->values[i] = figure_neutral(metric);
        row->shown[i] = false;
    }
    row->count = metric->slots;
    return row;
}

void figure_set_free(struct figure_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->rows[i].values);
        free(set->rows[i].shown);
    }
    free(set->rows);
    *set = (struct figure_set){0};
}

/* An ended process has no operations under way. Only its counts are added to the sums of the other processes. */
static int figures_join(const struct metric_table *table, struct figure_set *to, struct figure_set *from, bool gone)
{
    for (size_t number = 0; number < from->count; number++) {
        const struct metric *metric = &table->list[number];
        if (gone && !metric_grows(metric) && metric->combine == COMBINE_SUM)
            continue;
        const struct figure_row *row = figure_row(from, number);
        struct figure_row *sum = row ? figure_row_make(to, metric, number) : NULL;
        if (row && !sum)
            return -1;
        for (size_t i = 0; row && i < row->count; i++)
            sum->values[i] = metric_joined(metric->combine, sum->values[i], row->values[i]);
    }
    return 0;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static void process_free(struct observed_process *process)
{
    figure_set_free(&process->whole);
    figure_set_free(&process->others);
    for (size_t i = 0; i < process->comm_count; i++)
        figure_set_free(&process->comms[i].figures);
    free(process->comms);
    free(process->path);
    free(process);
}

static struct observed_job *job_find(struct observation *observation, const struct run_header *header, uid_t owner)
{
    bool namesake = false;
    for (size_t i = 0; i < observation->job_count; i++)
        if (observation->jobs[i].job == header->job) {
            if (observation->jobs[i].owner == owner)
                return &observation->jobs[i];
            namesake = true;
        }
    if (!ARRAY_GROWN(observation->jobs, observation->job_count))
        return NULL;
    struct observed_job *job = &observation->jobs[observation->job_count++];
    *job = (struct observed_job){.job = header->job, .owner = owner, .namesake = namesake};
    user_name(job->user, owner);
    snprintf(job->program, sizeof job->program, "%.*s", (int)sizeof job->program - 1, header->program);
    snprintf(job->mpi, sizeof job->mpi, "%.*s", (int)sizeof job->mpi - 1, header->mpi);
    return job;
}

/* The recorder writes "slurm 4711", after the header. If the site hides users, their names are hashes. */
static void origin_take(struct observed_job *job, const struct run_reader *run)
{
    const struct origin_record *origin = run_reader_origin(run);
    char text[ORIGIN_JOB_BYTES];
    if (origin && origin->user[0] == '#')
        label_clean(job->user, sizeof job->user, origin->user, sizeof origin->user);
    if (!origin || job->scheduler_job[0])
        return;
    label_clean(text, sizeof text, origin->scheduler_job, sizeof origin->scheduler_job);
    size_t name = strcspn(text, " ");
    snprintf(job->scheduler, sizeof job->scheduler, "%.*s", (int)name, text);
    snprintf(job->scheduler_job, sizeof job->scheduler_job, "%s", text[name] ? text + name + 1 : "");
}

/* Sorts by rank. Among processes of one rank the latest comes first. */
static struct observed_process *observed_process_add(struct observed_job *job, const struct run_header *header,
                                                     const char *path)
{
    struct observed_process *process = ARRAY_GROWN(job->processes, job->count) ? calloc(1, sizeof *process) : NULL;
    if (!process)
        return NULL;
    *process = (struct observed_process){.job = header->job,
                                         .rank = header->world_rank,
                                         .pid = header->pid,
                                         .begin_realtime_ns = header->begin_realtime_ns,
                                         .path = strdup(path)};
    struct observed_process **list = job->processes;
    size_t at = 0;
    while (at < job->count && list[at]->rank < process->rank)
        at++;
    memmove(&list[at + 1], &list[at], (job->count - at) * sizeof(struct observed_process *));
    list[at] = process;
    job->count++;
    return process;
}

static struct observed_process *process_find(struct observed_job *job, const struct run_header *header)
{
    for (size_t i = 0; i < job->count; i++) {
        struct observed_process *process = job->processes[i];
        if (process->rank == header->world_rank && process->pid == header->pid &&
            process->begin_realtime_ns == header->begin_realtime_ns)
            return process;
    }
    return NULL;
}

/* ---- what its threads do ----------------------------------------------------------------------------------------- */

static void current_call_take(struct observed_process *process, const struct run_reader *run,
                              const struct live_thread *thread)
{
    const struct thread_state *state = &thread->state;
    if (thread->since_ns < process->call_ns && process->call[0])
        return;
    process->call_ns = thread->since_ns;
    snprintf(process->call, sizeof process->call, "%.*s", CALL_NAME_BYTES - 1, run_reader_call_name(run, state->call));
    process->call_comm[0] = '\0';
    const struct comm_record *comm = run_reader_comm_record(run, state->comm, state->since);
    if (comm)
        memcpy(process->call_comm, comm->name, COMM_NAME_BYTES);
}

static void threads_take(struct observed_process *process, const struct run_reader *run,
                         const struct live_thread *threads)
{
    for (const struct live_thread *thread = threads; thread < threads + run->thread_count; thread++) {
        bool inside = thread->state.call;
        if (thread->alive)
            process->threads[!inside ? ACTIVITY_OUTSIDE : thread->stalled ? ACTIVITY_STALLED : ACTIVITY_WORKING]++;
        if (inside)
            current_call_take(process, run, thread);
    }
}

static void activity_clear(struct observed_process *process)
{
    memset(process->threads, 0, sizeof process->threads);
    process->call_ns = 0;
    process->call[0] = process->call_comm[0] = '\0';
}

/* ---- a look ------------------------------------------------------------------------------------------------------ */

/* The file of the process cannot be read at this look. That is not the end of the process. */
static void process_excuse(struct observation *observation, const struct live_process *live, const char *reason)
{
    for (size_t i = 0; i < observation->job_count; i++)
        for (size_t k = 0; k < observation->jobs[i].count; k++) {
            struct observed_process *process = observation->jobs[i].processes[k];
            if (process->path && strcmp(process->path, live->path) == 0)
                process->look = observation->looks;
        }
    observation->unreadable_now++;
    observation->unreadable++;
    if (observation->unreadable_now > 1)
        return;
    snprintf(observation->problem, sizeof observation->problem, "%.200s %.250s", live->path, reason);
}

static int live_process_take(struct observation *observation, struct live_process *live, uint64_t now)
{
    const struct run_header *header = &live->run.header;
    struct observed_job *job = job_find(observation, header, run_reader_owner(&live->run));
    if (!job)
        return -1;
    struct observed_process *process = process_find(job, header);
    if (!process && !live->alive && !observation->choice.named) /* it ended before the first look */
        return 0;
    if (!process && !(process = observed_process_add(job, header, live->path)))
        return -1;
    if (header->world_size > job->world_size)
        job->world_size = header->world_size;
    if (header->mpi[0])
        snprintf(job->mpi, sizeof job->mpi, "%.*s", (int)sizeof job->mpi - 1, header->mpi);
    job->stall_known |= header->stall_known != 0;
    origin_take(job, &live->run);
    process->phase = header->phase;
    if (!live->alive && process->gone_ns)
        return 0;
    process->gone_ns = 0;
    process->look = observation->looks;
    activity_clear(process);
    struct live_thread *threads = calloc(live->run.thread_count + 1, sizeof *threads);
    if (!threads)
        return -1;
    useful_time_take(&process->time, live, threads);
    if (live->alive)
        threads_take(process, &live->run, threads);
    else
        process->gone_ns = now;
    free(threads);
    return observation_read(observation, process, &live->run, live->path);
}

static int job_age(struct observation *observation, struct observed_job *job, uint64_t now)
{
    size_t kept = 0;
    int result = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct observed_process *process = job->processes[i];
        if (!process->gone_ns &&
            process->look != observation->looks) { /* the last look was long before the end of the process */
            activity_clear(process);
            process->gone_ns = now;
        }
        if (process->gone_ns && !observation->choice.named && now - process->gone_ns > observation->choice.linger_ns) {
            result |= figures_join(&observation->metrics, &job->ended, &process->whole, true);
            process_free(process);
        } else {
            job->processes[kept++] = process;
        }
    }
    job->count = kept;
    return result;
}

static void job_free(struct observed_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        process_free(job->processes[i]);
    free(job->processes);
    figure_set_free(&job->ended);
    figure_set_free(&job->total);
}

/* The parts of the table that are in use. */
struct table_use {
    bool metrics[METRICS_MOST], calls[METRIC_SLOTS_MOST];
};

static void row_note(struct table_use *use, const struct metric *metric, const struct figure_row *row)
{
    uint64_t neutral = figure_neutral(metric);
    for (size_t i = 0; i < row->count && i < METRIC_SLOTS_MOST; i++)
        use->calls[i] = use->calls[i] || row->shown[i] || row->values[i] != neutral;
}

static void set_note(const struct observation *observation, struct table_use *use, const struct figure_set *set)
{
    for (size_t i = 0; i < set->count && i < METRICS_MOST; i++) {
        if (!set->rows[i].values)
            continue;
        use->metrics[i] = true;
        if (observation->metrics.list[i].names == NAMES_CALL)
            row_note(use, &observation->metrics.list[i], &set->rows[i]);
    }
}

/* Keeps only metrics of jobs that are exported. Over weeks, jobs bring many variables and functions of their own. */
static void metrics_keep(struct observation *observation)
{
    struct table_use use = {0};
    for (size_t j = 0; j < observation->job_count; j++) {
        const struct observed_job *job = &observation->jobs[j];
        set_note(observation, &use, &job->ended);
        set_note(observation, &use, &job->total);
        for (size_t i = 0; i < job->count; i++) {
            const struct observed_process *process = job->processes[i];
            set_note(observation, &use, &process->whole);
            set_note(observation, &use, &process->others);
            for (size_t c = 0; c < process->comm_count; c++)
                set_note(observation, &use, &process->comms[c].figures);
        }
    }
    metric_table_keep(&observation->metrics, use.metrics);
    metric_calls_keep(&observation->metrics, use.calls);
}

/* A number that several users claim is a job of each. */
static void job_passes_take(struct observed_job *job, const struct live *live, uint64_t now)
{
    const struct live_share own = {true, job->owner};
    for (size_t i = 0; i < live->job_count; i++) {
        if (live->jobs[i].job != job->job || !live->jobs[i].alive)
            continue;
        struct keytable sites = live_sites_read(&live->jobs[i], own);
        struct live_passes found = live_passes_find(&sites, &live->jobs[i], own, job->passes.site);
        keytable_release(&sites, NULL);
        if (found.site != job->passes.site || found.count != job->passes.count)
            job->pass_ns = now;
        job->passes = found;
        job->pass_age_ns = now - job->pass_ns;
    }
}

int observation_take(struct observation *observation, struct live *live)
{
    uint64_t now = monotonic_ns();
    int result = 0;
    size_t kept = 0;
    observation->looks++;
    observation->unreadable_now = observation->rankless_now = observation->late_now = observation->refused_now = 0;
    for (size_t i = 0; i < live->job_count; i++)
        for (size_t k = 0; k < live->jobs[i].count; k++) {
            struct live_process *process = &live->jobs[i].processes[k];
            if (!process->here && (process->readable || !observation->choice.named))
                continue;
            if (!process->readable)
                process_excuse(observation, process, process->problem);
            else if (process->run.header.world_rank < 0 || !process->run.header.job)
                observation->rankless_now++;
            else
                result |= live_process_take(observation, process, now);
        }
    for (size_t i = 0; i < observation->job_count; i++) {
        struct observed_job *job = &observation->jobs[i];
        job_passes_take(job, live, now);
        result |= job_age(observation, job, now);
        if (job->count)
            observation->jobs[kept++] = *job;
        else
            job_free(job);
    }
    observation->job_count = kept;
    size_t used = strlen(observation->problem);
    if (observation->unreadable_now > 1)
        snprintf(observation->problem + used, sizeof observation->problem - used,
                 " (and the same for %" PRIu64 " others)", observation->unreadable_now - 1);
    text_tidy(observation->problem, sizeof observation->problem); /* it is named after a file */
    metrics_keep(observation);
    return result ? -1 : 0;
}

int observation_sum(struct observation *observation, struct observed_job *job)
{
    const struct metric_table *table = &observation->metrics;
    int result = 0;
    for (size_t number = 0; number < job->total.count; number++)
        for (size_t i = 0; i < job->total.rows[number].count; i++)
            job->total.rows[number].values[i] = figure_neutral(&table->list[number]);
    result |= figures_join(table, &job->total, &job->ended, true);
    for (size_t i = 0; i < job->count; i++)
        result |= figures_join(table, &job->total, &job->processes[i]->whole, job->processes[i]->gone_ns != 0);
    return result ? -1 : 0;
}

void observation_free(struct observation *observation)
{
    for (size_t i = 0; i < observation->job_count; i++)
        job_free(&observation->jobs[i]);
    free(observation->jobs);
    metric_table_free(&observation->metrics);
    *observation = (struct observation){0};
}
