#include "archive/otf2_workers.h"

#include "definitions/otf2_content.h"

#include <pthread.h>
#include <stdlib.h>

struct work {
    struct trace_job *job;
    struct trace_comms *comms;
    struct trace_objects *objects;
    OTF2_Archive *archive;
    const OTF2_StringRef *programs;
    const struct team *team;
    struct trace_watch watch;
    int64_t next; /* the first of this process's ranks that no thread has taken */
};

struct worker {
    pthread_t thread;
    struct work *work;
    int32_t failed_rank; /* the job's size: none */
    struct otf2_report report;
};

/* All readers share the knowledge of mapped files (runmap.h). A held file has only one user. */
static pthread_mutex_t runs_lock = PTHREAD_MUTEX_INITIALIZER;

static int run_take(const struct run_reader *run, struct otf2_report *report)
{
    pthread_mutex_lock(&runs_lock);
    int result = trace_run_wake(run, report);
    if (result == 0)
        run_reader_hold(run);
    pthread_mutex_unlock(&runs_lock);
    return result;
}

static void run_give_back(const struct run_reader *run)
{
    if (!run)
        return;
    pthread_mutex_lock(&runs_lock);
    run_reader_let_go(run);
    run_reader_rest(run);
    pthread_mutex_unlock(&runs_lock);
}

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    struct work *work = worker->work;
    while (!trace_watch_stops(&work->watch)) {
        int64_t r = __atomic_fetch_add(&work->next, work->team->size, __ATOMIC_RELAXED);
        if (r >= work->job->size)
            break;
        const struct run_reader *run = work->job->ranks[r].run;
        int result = run ? run_take(run, &worker->report) : 0;
        if (result == 0) {
            result = trace_process_write(work->job, work->comms, work->objects, (int32_t)r, work->archive,
                                         work->programs[r], &work->watch, &worker->report);
            run_give_back(run);
        }
        if (result == 0)
            continue;
        worker->failed_rank = (int32_t)r;
        __atomic_store_n(&work->watch.failed, true, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* The calling thread is the first worker. If no more threads can be made, fewer workers do the work. */
static void workers_run(struct worker *workers, unsigned count)
{
    unsigned running = 1;
    while (running < count && pthread_create(&workers[running].thread, NULL, worker_run, &workers[running]) == 0)
        running++;
    worker_run(&workers[0]);
    while (--running > 0)
        pthread_join(workers[running].thread, NULL);
}

static unsigned workers_wanted(const struct work *work, unsigned threads)
{
    int32_t share = (work->job->size - work->team->rank + work->team->size - 1) / work->team->size;
    if (share < 1)
        share = 1;
    return threads < (unsigned)share ? threads : (unsigned)share;
}

int trace_ranks_write(struct trace_job *job, struct trace_comms *comms, struct trace_objects *objects,
                      OTF2_Archive *archive, const OTF2_StringRef *programs, unsigned threads, const struct team *team,
                      struct otf2_report *report)
{
    struct work work = {.job = job,
                        .comms = comms,
                        .objects = objects,
                        .archive = archive,
                        .programs = programs,
                        .team = team,
                        .next = team->rank};
    unsigned count = workers_wanted(&work, threads ? threads : team_threads(team));
    struct worker *workers = calloc(count, sizeof *workers);
    if (!workers)
        return report_no_memory(report);
    for (unsigned i = 0; i < count; i++) {
        workers[i].work = &work;
        workers[i].failed_rank = job->size;
    }
    progress_begin(&work.watch.progress, trace_job_records(job, team->rank, team->size), team->rank == 0);
    workers_run(workers, count);
    progress_end(&work.watch.progress);
    const struct worker *first = &workers[0];
    for (unsigned i = 1; i < count; i++)
        if (workers[i].failed_rank < first->failed_rank && workers[i].report.error[0])
            first = &workers[i];
    bool failed = work.watch.failed || interrupt_seen();
    if (first->report.error[0])
        report_error(report, "%s", first->report.error);
    free(workers);
    return failed ? -1 : 0;
}

/* Copies all values that only one process knows from the job to `values`, or back. Returns their number. */
static size_t values_move(struct trace_job *job, struct trace_comms *comms, uint64_t *values, bool back)
{
    size_t at = 0;
#define MOVE(place, type)                                                                                              \
    do {                                                                                                               \
        if (values && back)                                                                                            \
            (place) = (type)values[at];                                                                                \
        else if (values)                                                                                               \
            values[at] = (uint64_t)(place);                                                                            \
        at++;                                                                                                          \
    } while (0)
    for (int32_t r = 0; r < job->size; r++) {
        struct trace_rank *rank = &job->ranks[r];
        for (uint32_t thread = 0; thread < trace_rank_thread_end(rank); thread++)
            MOVE(rank->event_count[thread], uint64_t);
        for (int i = 0; i < TRACE_LOSS_COUNT; i++)
            MOVE(rank->losses[i], uint64_t);
    }
    for (unsigned kind = 0; kind < CALL_COUNT; kind++)
        MOVE(job->archive->kind_used[kind], bool);
    for (size_t c = 0; c < comms->count; c++)
        MOVE(comms->list[c].has_events, bool);
#undef MOVE
    return at;
}

int trace_ranks_gather(struct trace_job *job, struct trace_comms *comms, const struct team *team,
                       struct otf2_report *report)
{
    size_t count = values_move(job, comms, NULL, false);
    uint64_t *values = team->size > 1 ? malloc(count * sizeof *values) : NULL;
    char none[1] = "";
    if (team_failed(team, team->size > 1 && !values, none, sizeof none)) {
        free(values);
        return report_no_memory(report);
    }
    if (values) {
        values_move(job, comms, values, false);
        team_sum(team, values, count); /* each place was counted by one process, and any value but 0 sets a flag */
        values_move(job, comms, values, true);
        free(values);
    }
    job->archive->last_ns = team_largest(team, job->archive->last_ns);
    trace_regions_number(job);
    for (int32_t r = 0; r < job->size; r++)
        for (uint32_t thread = 0; thread < trace_rank_thread_end(&job->ranks[r]); thread++) {
            report->events += job->ranks[r].event_count[thread];
            report->locations += trace_rank_has_location(&job->ranks[r], thread);
        }
    return 0;
}
