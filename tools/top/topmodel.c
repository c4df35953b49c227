#include "top/topmodel.h"

#include "base/hash.h"
#include "base/script.h"
#include "base/array.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *top_state_name(enum top_state state)
{
    static const char *const names[] = {
        [TOP_STARTING] = "starting", [TOP_RUNNING] = "running", [TOP_OFF] = "off",   [TOP_ENDED] = "ended",
        [TOP_ABORTED] = "aborted",   [TOP_EXITED] = "exited",   [TOP_DEAD] = "dead", [TOP_UNREADABLE] = "unreadable",
    };
    return names[state];
}

const char *top_job_program(const struct top_job *job)
{
    return job->program[0] ? path_base(job->program) : "(starting)";
}

static enum top_state process_state(const struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    if (!process->readable)
        return TOP_UNREADABLE;
    switch (header->phase) {
    case RUN_ABORTED:
        return TOP_ABORTED;
    case RUN_EXITED:
        return TOP_EXITED;
    case RUN_FINALIZED:
    case RUN_CLOSED:
        return TOP_ENDED;
    default:
        break;
    }
    if (!process->alive)
        return TOP_DEAD;
    return header->phase == RUN_STARTING ? TOP_STARTING : header->off_since ? TOP_OFF : TOP_RUNNING;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static void rank_free(struct keyed *record)
{
    struct top_rank *rank = (struct top_rank *)(void *)record;
    free(rank->threads);
    free(rank->slots);
    free(rank);
}

static void rank_name(struct top_rank *rank, const struct run_header *header)
{
    label_clean(rank->host, sizeof rank->host, header->host, sizeof header->host);
    rank->rank = run_rank(header);
    rank->pid = header->pid;
    rank->stall_known = header->stall_known != 0;
    rank->timed = header->timed == 1 && !header->timed_changed;
    rank->recorded = !header->off_since && header->off_count == rank->off_count && !header->filter[0];
    rank->off_count = header->off_count;
}

bool top_rank_has_shares(const struct top_rank *rank)
{
    bool recorded = rank->state != TOP_OFF || rank->now.thread_ns > rank->before.thread_ns;
    return rank->timed && recorded && rank->interval_ns && rank->state != TOP_UNREADABLE && rank->state != TOP_STARTING;
}

/* Reads the figures of a process. Takes nothing from a file that was truncated meanwhile. */
static int rank_update(struct top_rank *rank, struct live_process *process, struct call_places *places)
{
    rank->process = process;
    rank->path = process->path;
    rank->state = process_state(process);
    rank->problem = process->problem;
    rank->interval_ns = 0;
    rank->measured = false;
    rank->rates = (struct top_rates){0};
    if (!process->readable)
        return 0;
    rank_name(rank, &process->run.header);
    struct top_figures now = rank->now, before = rank->before;
    int result = top_rank_read(rank, process, places);
    if (result == 0 && !live_is_whole(process)) {
        rank->state = TOP_UNREADABLE;
        rank->now = now;
        rank->before = before;
        rank->rates = (struct top_rates){0};
        rank->measured = false;
        rank->busy = NULL;
    }
    return result;
}

static struct top_rank *rank_make(struct top_model *model, struct top_job *job, const struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    uint64_t first = process->readable ? header->begin_ticks : (uint64_t)(uintptr_t)process->path;
    uint64_t second = (uint64_t)(uint32_t)run_rank(header) << 32 | header->pid;
    struct top_rank *rank = keytable_find(&job->table, first, second);
    if (!rank && (rank = keytable_make(&job->table, first, second, sizeof *rank)))
        rank->is_new = true;
    else if (rank)
        rank->is_new = false;
    if (rank) {
        rank->look = model->look;
        rank->rank = process->readable ? rank->rank : -1;
    }
    return rank;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

static struct top_comm *job_comm_get(struct top_job *job, const struct comm_record *record)
{
    uint64_t first = hash_text(HASH_BEGIN, record->name), second = hash_text(1, record->name);
    struct top_comm *comm = keytable_find(&job->comm_table, first, second);
    if (!comm && (comm = keytable_make(&job->comm_table, first, second, sizeof *comm)))
        label_clean(comm->name, sizeof comm->name, record->name, sizeof record->name);
    return comm;
}

/* Adds up structures that have only doubles. */
static void rates_add(void *sum, const void *one, size_t bytes)
{
    double *to = sum;
    const double *from = one;
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] += from[i];
}

static int comms_add(struct top_job *job, const struct top_rank *rank)
{
    const struct run_reader *run = &rank->process->run;
    for (uint32_t slot = 1; slot < run->slot_count && slot < rank->slot_count; slot++) {
        const struct comm_record *record = run->comms[slot];
        const struct top_slot *from = &rank->slots[slot];
        struct top_comm *comm = record ? job_comm_get(job, record) : NULL;
        if (record && !comm)
            return -1;
        if (!record)
            continue;
        if (!comm->label[0])
            label_clean(comm->label, sizeof comm->label, record->label, sizeof record->label);
        comm->is_sum = record->flags & COMM_SUM;
        comm->size = record->size + record->remote_size;
        comm->ranks++;
        comm->time_ns += from->now.time_ns;
        comm->messages += from->now.sent + from->now.received;
        comm->colls += from->now.colls;
        comm->bytes += from->now.sent_bytes + from->now.received_bytes + from->now.coll_bytes;
        rates_add(&comm->rates, &from->rates, sizeof comm->rates);
    }
    return 0;
}

static int comm_share_order(const void *one, const void *other)
{
    const struct top_comm *a = *(struct top_comm *const *)one, *b = *(struct top_comm *const *)other;
    return ORDER(b->rates.time, a->rates.time) ?: ORDER(b->time_ns, a->time_ns) ?: strcmp(a->name, b->name);
}

static void comms_release(struct top_job *job)
{
    keytable_release(&job->comm_table, NULL);
    job->comm_table = (struct keytable){0};
    free(job->comms);
    job->comms = NULL;
    job->comm_count = 0;
}

static int comms_make(struct top_job *job)
{
    comms_release(job);
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i]->state != TOP_UNREADABLE && comms_add(job, job->ranks[i]) != 0)
            return -1;
    size_t count = job->comm_table.count;
    job->comms = (struct top_comm **)(void *)keytable_sorted(&job->comm_table);
    if (count && !job->comms)
        return -1;
    job->comm_count = count;
    for (size_t i = 0; i < count; i++) {
        struct top_comm_rates *rates = &job->comms[i]->rates;
        double ranks = job->comms[i]->ranks;
        rates->time = rates->time / ranks < 1 ? rates->time / ranks : 1;
        rates->stall = rates->stall / ranks < rates->time ? rates->stall / ranks : rates->time;
    }
    if (count)
        qsort(job->comms, count, sizeof(void *), comm_share_order);
    return 0;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void reading_figures_add(struct top_figures *sum, const struct top_figures *one)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)one;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

/* Adds up the rates per second of all ranks. Shares are means over the ranks that ran. */
static void rank_rates_add(struct top_job *job, const struct top_rank *rank)
{
    struct top_rates one = rank->rates;
    if (!top_rank_has_shares(rank))
        one.mpi = one.work = one.stall = 0;
    rates_add(&job->rates, &one, sizeof one);
}

static void sizes_add(struct top_job *job, const struct top_rank *rank)
{
    double seconds = (double)rank->interval_ns * 1e-9;
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < BUCKET_COUNT; i++) {
            uint64_t now = rank->now.sizes[kind][i], before = rank->before.sizes[kind][i];
            if (now > before && seconds > 0)
                job->sizes[kind][i] += (double)(now - before) / seconds;
        }
}

static void program_describe(struct top_job *job, const struct run_reader *run)
{
    const struct origin_record *origin = run_reader_origin(run);
    char command[sizeof origin->command], script[sizeof job->program];
    label_clean(job->program, sizeof job->program, run->header.program, sizeof run->header.program);
    if (!origin)
        return;
    label_clean(command, sizeof command, origin->command, sizeof origin->command);
    if (script_of(script, sizeof script, job->program, command))
        memcpy(job->program, script, sizeof script);
}

static void job_describe(struct top_job *job, const struct top_rank *rank)
{
    const struct run_reader *run = &rank->process->run;
    const struct run_header *header = &run->header;
    if (!job->program[0])
        program_describe(job, run);
    if (!job->mpi[0])
        label_clean(job->mpi, sizeof job->mpi, header->mpi, sizeof header->mpi);
    if (!job->user[0]) {
        user_name(job->user, run_reader_owner(run));
        job->own = run_reader_owner(run) == geteuid();
    }
    job->run_ns = rank->run_ns > job->run_ns ? rank->run_ns : job->run_ns;
    job->interval_ns = rank->interval_ns > job->interval_ns ? rank->interval_ns : job->interval_ns;
    job->fabric = job->fabric || header->fabric_watched;
    job->stall_known = job->stall_known || rank->stall_known;
    job->timed = job->timed || rank->timed;
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        if (!job->counters[i] && (rank->now.counters[i] ||
                                  (i >= COUNTER_ASKED && run->counters && i - COUNTER_ASKED < run->counters->count)))
            job->counters[i] = run_reader_counter_name(run, i);
    job->os = job->os || job->counters[COUNTER_OS_TIME] || job->counters[COUNTER_FAULTS_MINOR];
}

static void job_sum(struct top_job *job)
{
    job->sharing = 0;
    job->longest = NULL;
    job->longest_ns = 0;
    job->now = (struct top_figures){0};
    job->rates = (struct top_rates){0};
    memset(job->sizes, 0, sizeof job->sizes);
    memset(job->counters, 0, sizeof job->counters);
    job->running = job->dead = 0;
    job->interval_ns = job->run_ns = 0;
    job->fabric = job->os = job->stall_known = job->timed = false;
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct top_rank *rank = job->ranks[i];
        job->running += rank->state <= TOP_OFF;
        job->dead += rank->state == TOP_DEAD || rank->state == TOP_ABORTED;
        reading_figures_add(&job->now, &rank->now);
        if (rank->state == TOP_UNREADABLE)
            continue;
        job_describe(job, rank);
        rank_rates_add(job, rank);
        sizes_add(job, rank);
        job->sharing += top_rank_has_shares(rank);
        if (rank->busy && rank->busy->call.name[0] && (!job->longest || rank->busy->call.since_ns > job->longest_ns)) {
            job->longest = rank;
            job->longest_ns = rank->busy->call.since_ns;
        }
    }
    if (job->sharing) {
        job->rates.mpi /= (double)job->sharing;
        job->rates.work /= (double)job->sharing;
        job->rates.stall /= (double)job->sharing;
    }
}

static void ranks_forget(struct top_model *model, struct top_job *job)
{
    struct keyed **ranks = keytable_sorted(&job->table);
    for (size_t i = job->table.count; ranks && i-- > 0;)
        if (((struct top_rank *)(void *)ranks[i])->look != model->look) {
            keytable_take(&job->table, ranks[i]);
            rank_free(ranks[i]);
        }
    free(ranks);
}

uint64_t top_job_rest_ns(const struct top_job *job)
{
    uint64_t done = job->passes.place ? job->passes.count : 0;
    if (!done || job->passes_wanted <= done)
        return 0;
    return (uint64_t)((double)job->run_ns / (double)done * (double)(job->passes_wanted - done));
}

static void sites_update(struct top_job *job, const struct live_job *live, struct call_places *places)
{
    const struct live_share all = {.own = false};
    struct top_passes before = job->passes;
    keytable_release(&job->sites_before, NULL);
    job->sites_before = job->sites;
    job->sites = live_sites_read(live, all);
    struct live_passes found = live_passes_find(&job->sites, live, all, before.site);
    const struct live_site *site = found.site ? keytable_find(&job->sites, found.site, 0) : NULL;
    bool goes_on = found.site && found.site == before.site && found.count >= before.count;
    uint64_t passes = goes_on ? found.count - before.count : found.count, ns = goes_on ? job->interval_ns : job->run_ns;
    job->passes = (struct top_passes){.site = found.site,
                                      .place = site ? call_place_find(places, site->run, site->path) : 0,
                                      .count = found.count,
                                      .per_second = ns ? (double)passes * 1e9 / (double)ns : 0,
                                      .none_ns = goes_on && !passes ? before.none_ns + job->interval_ns : 0};
}

static void past_add(struct top_job *job)
{
    size_t at = job->past.count % TOP_PAST;
    if (!job->sharing || !job->interval_ns ||
        job->interval_ns >= job->run_ns) /* the first look has all since the begin */
        return;
    job->past.share[at] = (float)job->rates.mpi;
    job->past.since_ns[at] = job->run_ns > job->interval_ns ? job->run_ns - job->interval_ns : 0;
    job->past.count++;
}

static int job_update(struct top_model *model, struct top_job *job, const struct live_job *from)
{
    if (!ARRAY_RESIZED(job->ranks, from->count + 1))
        return -1;
    job->rank_count = 0;
    job->alive = from->alive;
    job->world_size = from->world_size;
    for (size_t i = 0; i < from->count; i++) {
        struct top_rank *rank = rank_make(model, job, &from->processes[i]);
        if (!rank || rank_update(rank, &from->processes[i], model->places) != 0)
            return -1;
        if (!rank->busy || rank->busy->call.since_ns < TOP_LONG_NS)
            rank->waits[0] = '\0';
        job->ranks[job->rank_count++] = rank;
    }
    ranks_forget(model, job);
    job_sum(job);
    top_origin_find(job, from);
    top_waits_find(job, from);
    top_finding_make(job);
    sites_update(job, from, model->places);
    past_add(job);
    return comms_make(job);
}

static void job_release(struct top_job *job)
{
    comms_release(job);
    keytable_release(&job->table, rank_free);
    keytable_release(&job->sites, NULL);
    keytable_release(&job->sites_before, NULL);
    free(job->ranks);
}

static struct top_job *job_make(struct top_model *model, uint64_t number)
{
    for (size_t i = 0; i < model->job_count; i++)
        if (model->jobs[i].job == number)
            return &model->jobs[i];
    if (!ARRAY_GROWN(model->jobs, model->job_count))
        return NULL;
    model->jobs[model->job_count] = (struct top_job){.keyed = {.key = {number, 1}}, .job = number};
    return &model->jobs[model->job_count++];
}

int top_model_update(struct top_model *model, const struct live *live)
{
    model->look++;
    if (!model->places && !(model->places = call_places_open(NULL)))
        return -1;
    for (size_t i = 0; i < model->job_count; i++)
        model->jobs[i].found = false;
    for (size_t i = 0; i < live->job_count; i++) {
        struct top_job *job = job_make(model, live->jobs[i].job);
        if (!job || job_update(model, job, &live->jobs[i]) != 0)
            return -1;
        job->found = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < model->job_count; i++)
        if (model->jobs[i].found)
            model->jobs[kept++] = model->jobs[i];
        else
            job_release(&model->jobs[i]);
    model->job_count = kept;
    return 0;
}

void top_model_release(struct top_model *model)
{
    for (size_t i = 0; i < model->job_count; i++)
        job_release(&model->jobs[i]);
    free(model->jobs);
    call_places_close(model->places);
    *model = (struct top_model){0};
}
