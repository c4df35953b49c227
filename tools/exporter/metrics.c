#include "exporter/metrics.h"

#include "base/text.h"
#include "figures/bucket.h"
#include "format/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

struct emission {
    struct exposition *exposition;
    struct observation *observation;
    const struct metrics_choice *choice;
    struct metric_family *families[METRICS_MOST]; /* by metric */
    struct series_room room;
    uid_t owner; /* of the job whose series are added */
    struct textbuffer labels;
};

/* The number of series of each job (job_series_add), and of each process (process_series_add), without variables. */
enum { JOB_SERIES = 7, PROCESS_SERIES = 10 };
enum { SLOT_NAME_BYTES = 64 };

/* A process that is gone without a recorded end was killed, or ended by _exit(). */
static const char *run_phase_name(uint32_t phase, bool gone)
{
    static const char *const names[] = {
        [RUN_STARTING] = "starting",   [RUN_RUNNING] = "running", [RUN_ABORTED] = "aborted",
        [RUN_FINALIZED] = "finalized", [RUN_CLOSED] = "closed",   [RUN_EXITED] = "exited"};
    if (gone && (phase == RUN_STARTING || phase == RUN_RUNNING))
        return "killed";
    return phase >= RUN_STARTING && phase <= RUN_EXITED ? names[phase] : "unknown";
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static void number_label(struct textbuffer *labels, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    labels_add(labels, name, text);
}

/* A text of a run file, cleaned. */
static void text_label(struct textbuffer *labels, const char *name, const char *value, size_t most)
{
    char clean[FILTER_BYTES];
    label_clean(clean, sizeof clean, value, most < sizeof clean ? most : sizeof clean - 1);
    labels_add(labels, name, clean);
}

static void job_labels(struct textbuffer *labels, const struct observed_job *job)
{
    char number[40];
    text_clear(labels);
    if (job->namesake && job->user[0] == '#') /* the site hides users */
        snprintf(number, sizeof number, "%016" PRIx64 "-%.20s", job->job, job->user);
    else if (job->namesake)
        snprintf(number, sizeof number, "%016" PRIx64 "-%u", job->job, (unsigned)job->owner);
    else
        snprintf(number, sizeof number, "%016" PRIx64, job->job);
    labels_add(labels, "job", number);
}

static void process_labels(struct textbuffer *labels, const struct observed_job *job,
                           const struct observed_process *process)
{
    job_labels(labels, job);
    number_label(labels, "rank", process->rank);
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

static bool series_admit(struct emission *emission, size_t series)
{
    return series_room_take(&emission->room, emission->owner, series);
}

static struct metric_family *metric_family(struct emission *emission, size_t number)
{
    const struct metric *metric = &emission->observation->metrics.list[number];
    if (!emission->families[number])
        emission->families[number] =
            exposition_family(emission->exposition, metric->name, metric->type, metric->unit, metric->help);
    return emission->families[number];
}

/* With `zeros`, a variable with one value is exported from the beginning, so that its first growth is visible. */
static void slots_add(struct emission *emission, struct figure_set *set, size_t number, bool zeros)
{
    const struct metric *metric = &emission->observation->metrics.list[number];
    struct figure_row *row = figure_row(set, number);
    zeros = zeros && metric->shape == SHAPE_NUMBER && !metric->on_demand;
    for (size_t i = 0; i < row->count; i++) {
        bool wanted = row->values[i] ? row->values[i] != figure_neutral(metric) : zeros;
        if (!row->shown[i] && (!wanted || !series_admit(emission, 1)))
            continue;
        set->shown += !row->shown[i];
        row->shown[i] = true;
        struct metric_family *family = metric_family(emission, number);
        if (!family)
            return;
        size_t used = emission->labels.used;
        char text[24];
        if (metric->shape != SHAPE_NUMBER)
            text_label(&emission->labels, metric->label,
                       metric_slot_name(&emission->observation->metrics, metric, i, text), SLOT_NAME_BYTES);
        (metric->time ? family_add_seconds : family_add)(family, &emission->labels, row->values[i]);
        emission->labels.used = used;
    }
}

static uint64_t row_sum(const struct figure_row *row)
{
    uint64_t sum = 0;
    for (size_t i = 0; row && i < row->count; i++)
        sum += row->values[i];
    return sum;
}

/* All ranks have the same limits, because sums over ranks require it. */
static void histogram_add(struct emission *emission, struct figure_set *set, size_t number)
{
    static const unsigned some[] = {0, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, BUCKET_COUNT - 1};
    const struct metric *metric = &emission->observation->metrics.list[number];
    struct figure_row *row = figure_row(set, number);
    unsigned all[BUCKET_COUNT];
    uint64_t limits[BUCKET_COUNT];
    for (unsigned i = 0; i < BUCKET_COUNT; i++) {
        all[i] = i;
        limits[i] = bucket_limit(i);
    }
    bool fine = emission->choice->all_sizes;
    struct histogram histogram = {.counts = row->values,
                                  .limits = limits,
                                  .count = BUCKET_COUNT,
                                  .edges = fine ? all : some,
                                  .edge_count = fine ? BUCKET_COUNT : sizeof some / sizeof some[0],
                                  .has_sum = metric->sum >= 0};
    if (metric->sum >= 0)
        histogram.sum = row_sum(figure_row(set, (size_t)metric->sum));
    if (row->count < BUCKET_COUNT ||
        (!row->shown[0] && (!row_sum(row) || !series_admit(emission, histogram_samples(&histogram)))))
        return;
    set->shown += row->shown[0] ? 0 : histogram_samples(&histogram);
    row->shown[0] = true;
    struct metric_family *family = metric_family(emission, number);
    if (family)
        family_add_histogram(family, &emission->labels, &histogram);
}

static void figure_set_add(struct emission *emission, struct figure_set *set, enum metric_shape shape, bool bound,
                           bool unbound, bool zeros)
{
    const struct metric_table *table = &emission->observation->metrics;
    for (size_t number = 0; number < table->count; number++) {
        const struct metric *metric = &table->list[number];
        if (metric->shape != shape || !(metric->bound ? bound : unbound) || !figure_row(set, number))
            continue;
        if (shape == SHAPE_HISTOGRAM)
            histogram_add(emission, set, number);
        else
            slots_add(emission, set, number, zeros);
    }
}

static void process_figures_add(struct emission *emission, const struct observed_job *job,
                                struct observed_process *process, enum metric_shape shape)
{
    bool by_comm = emission->choice->by == BY_COMM;
    process_labels(&emission->labels, job, process);
    figure_set_add(emission, &process->whole, shape, !by_comm, true, true);
    for (size_t i = 0; by_comm && i <= process->comm_count; i++) {
        struct observed_comm *comm = i < process->comm_count ? &process->comms[i] : NULL;
        process_labels(&emission->labels, job, process);
        text_label(&emission->labels, "communicator", comm ? comm->name : COMM_OTHERS, COMM_NAME_BYTES);
        figure_set_add(emission, comm ? &comm->figures : &process->others, shape, true, false, false);
    }
}

static size_t set_shown(const struct observed_process *process)
{
    size_t shown = process->whole.shown + process->others.shown + (process->shown ? PROCESS_SERIES : 0);
    for (size_t i = 0; i < process->comm_count; i++)
        shown += process->comms[i].figures.shown + process->comms[i].shown;
    return shown;
}

/* Two lives of one rank have the same labels. The later life is exported. */
static bool process_is_replaced(const struct observed_job *job, size_t i)
{
    return i > 0 && job->processes[i - 1]->rank == job->processes[i]->rank;
}

static void metric_figures_add(struct emission *emission)
{
    static const enum metric_shape shapes[] = {SHAPE_NUMBER, SHAPE_HISTOGRAM, SHAPE_SLOTS};
    struct observation *observation = emission->observation;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t j = 0; j < observation->job_count; j++) {
            struct observed_job *job = &observation->jobs[j];
            emission->owner = job->owner;
            if (!job->shown)
                continue;
            if (emission->choice->by == BY_JOB) {
                job_labels(&emission->labels, job);
                figure_set_add(emission, &job->total, shapes[s], true, true, true);
                continue;
            }
            for (size_t i = 0; i < job->count; i++)
                if (!process_is_replaced(job, i) && job->processes[i]->shown)
                    process_figures_add(emission, job, job->processes[i], shapes[s]);
        }
}

/* ---- jobs and processes ------------------------------------------------------------------------------------------ */

/* Adds one sample, in nanoseconds if its name ends with _seconds. */
static void sample_add(struct emission *emission, const char *name, enum metric_type type, const char *help,
                       uint64_t value)
{
    bool time = text_ends(name, "_seconds");
    struct metric_family *family = exposition_family(emission->exposition, name, type, time ? "seconds" : "", help);
    if (family)
        (time ? family_add_seconds : family_add)(family, &emission->labels, value);
}

static void gauge_add(struct emission *emission, const char *name, const char *help, uint64_t value)
{
    sample_add(emission, name, METRIC_GAUGE, help, value);
}

static void counter_add(struct emission *emission, const char *name, const char *help, uint64_t value)
{
    sample_add(emission, name, METRIC_COUNTER, help, value);
}

/* JOB_SERIES. */
static void job_series_add(struct emission *emission, const struct observed_job *job)
{
    uint64_t alive = 0, longest = 0;
    for (size_t i = 0; i < job->count; i++) {
        alive += !job->processes[i]->gone_ns;
        if (job->processes[i]->call_ns > longest)
            longest = job->processes[i]->call_ns;
    }
    job_labels(&emission->labels, job);
    gauge_add(emission, "mpit_job_world_size", "Processes of the job, on all nodes.", (uint64_t)job->world_size);
    gauge_add(emission, "mpit_job_processes", "Running processes of the job on this node.", alive);
    gauge_add(emission, "mpit_job_stall_known",
              "1: stalls and work are known apart. 0: all time in calls counts as work.", job->stall_known);
    gauge_add(emission, "mpit_job_longest_call_seconds", "Duration of the oldest call now in progress on this node.",
              longest);
    if (job->passes.site) {
        gauge_add(emission, "mpit_job_passes",
                  "Passes of the program's loop, of the process on this node that has fewest. It falls if another call "
                  "counts them.",
                  job->passes.count);
        gauge_add(emission, "mpit_job_pass_age_seconds", "Time since the count of passes changed last.",
                  job->pass_age_ns);
    }
    text_label(&emission->labels, "program", job->program, sizeof job->program);
    text_label(&emission->labels, "mpi", job->mpi, sizeof job->mpi);
    labels_add(&emission->labels, "user", job->user);
    if (job->scheduler_job[0]) {
        labels_add(&emission->labels, "scheduler", job->scheduler);
        labels_add(&emission->labels, "scheduler_job", job->scheduler_job);
    }
    gauge_add(emission, "mpit_job_info",
              "The job's program and MPI library, its user, and its number in the batch system.", 1);
}

/* PROCESS_SERIES. */
static void process_series_add(struct emission *emission, const struct observed_job *job,
                               const struct observed_process *process)
{
    static const char *const activities[ACTIVITY_COUNT] = {"outside", "working", "stalled"};
    struct textbuffer *labels = &emission->labels;
    process_labels(labels, job, process);
    gauge_add(emission, "mpit_process_up", "1: the process runs. 0: it has ended, and the values are its last ones.",
              !process->gone_ns);
    gauge_add(emission, "mpit_process_start_time_seconds",
              "When the recorder of the process began, since 1970-01-01 00:00 UTC.", process->begin_realtime_ns);
    gauge_add(emission, "mpit_process_call_age_seconds",
              "Duration of the oldest call now in progress. 0: no call is in progress.", process->call_ns);
    if (process->time.known) {
        counter_add(
            emission, "mpit_process_run_seconds",
            "Run time of the process while recording was on, from the end of MPI_Init to the begin of MPI_Finalize.",
            process->time.run_ns);
        counter_add(emission, "mpit_process_useful_seconds",
                    "Of the run time, the part outside of MPI: the mean of the threads that call MPI.",
                    process->time.useful_ns);
    }
    size_t used = labels->used;
    for (unsigned i = 0; i < ACTIVITY_COUNT; i++) {
        labels_add(labels, "activity", activities[i]);
        gauge_add(emission, "mpit_process_threads",
                  "Threads that have called MPI: outside of MPI, at work in a call, stalled in one.",
                  process->threads[i]);
        labels->used = used;
    }
    number_label(labels, "pid", process->pid);
    labels_add(labels, "phase", run_phase_name(process->phase, process->gone_ns != 0));
    gauge_add(emission, "mpit_process_info", "Phase of the process.", 1);
    labels->used = used;
    if (process->call_ns >= CALL_NAMED_NS) {
        text_label(labels, "call", process->call, CALL_NAME_BYTES);
        text_label(labels, "communicator", process->call_comm, COMM_NAME_BYTES);
        gauge_add(emission, "mpit_process_call_info",
                  "The oldest call in progress, if it has lasted for a second or more.", 1);
    }
}

/* Adds the communicators of one process that are exported separately, by their names in the program. */
static void comm_series_add(struct emission *emission, const struct observed_job *job, struct observed_process *process)
{
    emission->owner = job->owner;
    for (size_t i = 0; i < process->comm_count; i++) {
        struct observed_comm *comm = &process->comms[i];
        if (!comm->shown && (!comm->figures.shown || !series_admit(emission, 1)))
            continue;
        comm->shown = true;
        process_labels(&emission->labels, job, process);
        text_label(&emission->labels, "communicator", comm->name, COMM_NAME_BYTES);
        text_label(&emission->labels, "label", comm->label, COMM_LABEL_BYTES);
        number_label(&emission->labels, "size", comm->size);
        gauge_add(emission, "mpit_communicator_info", "Name of the communicator in the program, and its size.", 1);
    }
}

static void jobs_add(struct emission *emission)
{
    struct observation *observation = emission->observation;
    for (size_t j = 0; j < observation->job_count; j++) {
        struct observed_job *job = &observation->jobs[j];
        emission->owner = job->owner;
        if (!job->shown && !series_admit(emission, JOB_SERIES))
            continue;
        job->shown = true;
        job_series_add(emission, job);
        for (size_t i = 0; emission->choice->by != BY_JOB && i < job->count; i++) {
            struct observed_process *process = job->processes[i];
            if (process_is_replaced(job, i) || (!process->shown && !series_admit(emission, PROCESS_SERIES)))
                continue;
            process->shown = true;
            process_series_add(emission, job, process);
        }
    }
}

/* ---- the exporter itself ----------------------------------------------------------------------------------------- */

static size_t samples_count(const struct exposition *exposition)
{
    size_t samples = 0;
    for (size_t i = 0; i < exposition->count; i++)
        samples += exposition->families[i]->samples;
    return samples;
}

static void exporter_add(struct emission *emission, const struct exporter_facts *facts)
{
    const struct observation *observation = emission->observation;
    struct timespec used;
    uint64_t processes = 0;
    for (size_t i = 0; i < observation->job_count; i++)
        processes += observation->jobs[i].count;
    size_t samples = samples_count(emission->exposition);
    text_clear(&emission->labels);
    gauge_add(emission, "mpit_exporter_jobs", "Jobs in this scrape.", observation->job_count);
    gauge_add(emission, "mpit_exporter_processes", "Processes in this scrape, including ended ones.", processes);
    gauge_add(emission, "mpit_exporter_series", "Series of jobs, processes and their variables.", samples);
    gauge_add(emission, "mpit_exporter_series_left_out", "Series left out, because of --max-series.",
              emission->room.left_out);
    gauge_add(emission, "mpit_exporter_processes_unreadable",
              "Processes left out, because their run files could not be read.", observation->unreadable_now);
    gauge_add(emission, "mpit_exporter_processes_without_rank", "Processes left out, because they have no rank yet.",
              observation->rankless_now);
    gauge_add(emission, "mpit_exporter_processes_late",
              "Processes whose communicators are left out, because they were created and freed too fast.",
              observation->late_now);
    gauge_add(emission, "mpit_exporter_variables_left_out",
              "Variables left out, because their names are not unique or there are too many.",
              observation->refused_now);
    gauge_add(emission, "mpit_exporter_users_cut",
              "Users with so many processes, files and directories that only a part of them is looked at.",
              facts->users_cut);
    counter_add(emission, "mpit_exporter_errors", "Run files that could not be read, and scans that failed.",
                observation->unreadable + observation->looks_failed);
    counter_add(emission, "mpit_exporter_scrapes", "Requests for metrics.", facts->scrapes);
    gauge_add(emission, "mpit_exporter_look_duration_seconds", "Time to scan all processes and read their values.",
              facts->look_ns);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    counter_add(emission, "mpit_exporter_cpu_seconds", "Processor time of the exporter.",
                (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec);
    gauge_add(emission, "mpit_exporter_start_time_seconds", "When the exporter began, since 1970-01-01 00:00 UTC.",
              facts->start_ns);
    labels_add(&emission->labels, "version", MPIT_VERSION);
    gauge_add(emission, "mpit_exporter_info", "The exporter.", 1);
}

void metrics_make(struct exposition *exposition, struct observation *observation, const struct metrics_choice *choice,
                  const struct exporter_facts *facts)
{
    struct emission emission = {.exposition = exposition,
                                .observation = observation,
                                .choice = choice,
                                .room = {.most = choice->series_most, .shared = choice->shared}};
    for (size_t j = 0; j < observation->job_count; j++) {
        struct observed_job *job = &observation->jobs[j];
        if (choice->by == BY_JOB)
            exposition->failed |= observation_sum(observation, job) != 0;
        size_t shown = job->total.shown + (job->shown ? JOB_SERIES : 0);
        for (size_t i = 0; i < job->count; i++)
            shown += set_shown(job->processes[i]);
        exposition->failed |= series_room_note(&emission.room, job->owner, shown) != 0;
    }
    jobs_add(&emission);
    metric_figures_add(&emission);
    for (size_t j = 0; choice->by == BY_COMM && j < observation->job_count; j++)
        for (size_t i = 0; i < observation->jobs[j].count; i++)
            if (!process_is_replaced(&observation->jobs[j], i))
                comm_series_add(&emission, &observation->jobs[j], observation->jobs[j].processes[i]);
    exporter_add(&emission, facts);
    exposition->failed |= emission.labels.failed;
    text_free(&emission.labels);
    series_room_free(&emission.room);
}
