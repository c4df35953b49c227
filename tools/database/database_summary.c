#include "database/database_job.h"

#include "findings/findings.h"
#include "report/summary_ranks.h"
#include "summary/efficiency.h"
#include "summary/summaryphases.h"
#include "summary/summarysites.h"
#include "figures/variables.h"
#include "summarysql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct database *job_row_begin(struct database_job *job, enum database_table table)
{
    row_begin(job->database, table);
    row_signed(job->database, job->number);
    return job->database;
}

void database_note(struct database_job *job, enum database_table table, const char *text)
{
    struct database *to = job_row_begin(job, TABLE_NOTES);
    row_word(to, table < DATABASE_TABLES ? database_tables[table].name : NULL);
    row_text(to, text);
    row_end(to);
}

/* Serialization and transfer, as the summary tells them. */
static void factor_put(struct database *to, const json_t *efficiency, const char *name)
{
    const json_t *value = json_object_get(efficiency, name);
    row_ratio(to, json_is_number(value), json_number_value(value));
}

/* Any number may come from a damaged file. */
static void seconds_put(struct database *to, bool known, double seconds)
{
    bool sound = known && seconds >= 0 && seconds < 1e9;
    row_known(to, sound, sound ? (uint64_t)(seconds * 1e9) : 0);
}

static void job_put(struct database_job *job)
{
    const struct summary *summary = job->job->summary;
    const struct summary_origin *origin = &summary->origin;
    struct efficiency is = summary_efficiency(summary);
    json_t *efficiency = summary_efficiency_json(summary);
    bool has_run = summary->run_seconds.max > 0;
    char number[32];
    snprintf(number, sizeof number, "%016" PRIx64, summary->job);
    struct database *to = job_row_begin(job, TABLE_JOBS);
    row_text(to, number);
    row_text(to, summary->program);
    row_text(to, summary->mpi);
    row_known(to, summary->world_size > 0, summary->world_size);
    row_count(to, summary->ranks);
    row_count(to, summary->ended_badly);
    row_text(to, origin->told ? origin->command : NULL);
    row_text(to, origin->told ? origin->user : NULL);
    row_known(to, origin->begin_ns > 0, origin->begin_ns);
    seconds_put(to, has_run, summary->run_seconds.max);
    seconds_put(to, has_run, summary->recorded_seconds.max);
    row_ratio(to, is.known, is.parallel);
    row_ratio(to, is.known, is.load_balance);
    row_ratio(to, is.known, is.communication);
    factor_put(to, efficiency, "serialization");
    factor_put(to, efficiency, "transfer");
    const struct summary_placement *placement = &summary->traced.placement;
    row_known(to, placement->known, placement->inside_bytes);
    row_known(to, placement->known, placement->between_bytes);
    row_known(to, placement->better_bytes < placement->between_bytes, placement->better_bytes);
    factor_put(to, efficiency, "openmp");
    factor_put(to, efficiency, "openmp_serial");
    factor_put(to, efficiency, "openmp_balance");
    factor_put(to, efficiency, "openmp_scheduling");
    row_end(to);
    json_decref(efficiency);
}

static void ranks_fill(struct database_job *job)
{
    const struct summary *summary = job->job->summary;
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        const struct summary_known known = summary_known_of_row(summary, row);
        struct database *to = job_row_begin(job, TABLE_RANKS);
        row_known(to, row->rank >= 0, (uint64_t)row->rank);
        row_text(to, summary->hosts[row->host].name);
        row_count(to, row->pid);
        row_text(to, known.placed ? summary->hosts[row->better_host].name : NULL);
        database_row_add(to, row, &known);
        row_end(to);
    }
}

static const char *call_class_of(unsigned kind)
{
    static const char *const names[] = {
        [CLASS_P2P] = "p2p",           [CLASS_COLLECTIVE] = "coll", [CLASS_COMPLETION] = "completion",
        [CLASS_COMMUNICATOR] = "comm", [CLASS_RMA] = "rma",         [CLASS_IO] = "io",
        [CLASS_PROCESS] = "process"};
    unsigned class = call_table[kind].class;
    return class < sizeof names / sizeof *names && names[class] ? names[class] : "other";
}

static void parallel_fill(struct database_job *job)
{
    const struct summary_sites *sites = &job->job->summary->parallel;
    if (!sites->count)
        database_note(job, TABLE_PARALLEL_REGIONS, "no runtime of OpenMP reported parallel regions");
    for (uint64_t i = 0; i < sites->count; i++) {
        const struct summary_site *site = &sites->list[i];
        const struct summary_frame *frame = site->frame_count ? &sites->frames[site->first_frame] : NULL;
        struct database *to = job_row_begin(job, TABLE_PARALLEL_REGIONS);
        row_text(to, frame ? summary_text(sites, frame->function) : NULL);
        row_text(to, frame ? summary_text(sites, frame->file) : NULL);
        row_known(to, frame && frame->line, frame ? frame->line : 0);
        row_count(to, site->count);
        row_count(to, site->time_ns);
        row_count(to, site->stall_ns);
        row_count(to, site->overhead_ns);
        row_count(to, site->serial_ns);
        row_end(to);
    }
}

static void functions_fill(struct database_job *job)
{
    const struct summary *summary = job->job->summary;
    bool timed = summary->timed || summary->timed_mixed;
    for (unsigned kind = 1; kind < CALL_COUNT; kind++) {
        if (!summary->calls[kind].count)
            continue;
        struct database *to = job_row_begin(job, TABLE_FUNCTIONS);
        row_word(to, call_table[kind].name);
        row_word(to, call_class_of(kind));
        row_count(to, summary->calls[kind].count);
        row_known(to, timed, summary->calls[kind].time_ns);
        row_known(to, summary_tells_stalls(summary, kind), summary->call_stall_ns[kind]);
        row_end(to);
    }
}

static void comm_row_put(struct database_job *job, const struct summary_comm *comm)
{
    struct database *to = job->database;
    const struct summary *summary = job->job->summary;
    const struct summary_known known = summary_known_of(summary, CALL_NONE);
    row_begin(to, TABLE_COMMUNICATORS);
    row_signed(to, ++job->last_comm);
    row_signed(to, job->number);
    row_text(to, comm->name);
    row_text(to, comm->label);
    database_comm_add(to, comm, &known);
    row_end(to);
}

static void counters_fill(struct database_job *job)
{
    const struct summary *summary = job->job->summary;
    for (unsigned i = 0; i < summary->counter_count; i++)
        for (unsigned place = 0; place < PLACE_COUNT; place++) {
            struct database *to = job_row_begin(job, TABLE_COUNTERS);
            row_text(to, summary->counters[i].name);
            row_text(to, summary->counters[i].unit);
            row_word(to, variable_slot_name(NAMES_PLACE, place));
            row_count(to, summary->counters[i].places[place]);
            row_end(to);
        }
    if (!summary->counter_count)
        database_note(job, TABLE_COUNTERS, "no counters were recorded: mpit-run --os or --papi EVENTS records some");
}

static void node_traffic_fill(struct database_job *job)
{
    const struct summary *summary = job->job->summary;
    for (size_t i = 0; i < summary->link_count; i++) {
        struct database *to = job_row_begin(job, TABLE_NODE_TRAFFIC);
        row_text(to, summary->hosts[summary->links[i].from].name);
        row_text(to, summary->hosts[summary->links[i].to].name);
        database_link_add(to, &summary->links[i]);
        row_end(to);
    }
    if (!summary->link_count)
        database_note(job, TABLE_NODE_TRAFFIC,
                      summary->host_count < 2 ? "the job ran on one node"
                                              : "no messages, or peers are not known: mpit-run --trace keeps them");
}

/* ---- phases and findings ----------------------------------------------------------------------------------------- */

static void phase_put(struct database_job *job, const struct summary_phase *phase)
{
    const struct summary_known known = summary_known_of(job->job->summary, CALL_NONE);
    struct database *to = job_row_begin(job, TABLE_PHASES);
    row_text(to, phase->name);
    row_word(to, phase->region ? "region" : "phase");
    row_known(to, phase->rank >= 0, (uint64_t)phase->rank);
    database_phase_add(to, phase, &known);
    row_end(to);
}

static void phase_efficiency_put(struct database_job *job, const struct summary_phase *first, size_t ranks)
{
    struct efficiency is = summary_phase_efficiency(job->job->summary, first, ranks);
    struct database *to = job_row_begin(job, TABLE_PHASE_EFFICIENCIES);
    row_text(to, first->name);
    row_word(to, first->region ? "region" : "phase");
    row_count(to, ranks);
    row_ratio(to, is.known, is.parallel);
    row_ratio(to, is.known, is.load_balance);
    row_ratio(to, is.known, is.communication);
    row_end(to);
}

static void phases_fill(struct database_job *job)
{
    const struct summary *summary = job->job->summary;
    for (size_t at = 0, ranks; at < summary->phase_count; at += ranks) {
        const struct summary_phase *first = &summary->phases[at];
        ranks = summary_phase_lines(summary, at);
        for (size_t i = 0; i < ranks; i++)
            phase_put(job, &first[i]);
        phase_efficiency_put(job, first, ranks);
    }
    for (int table = TABLE_PHASES; table <= TABLE_PHASE_EFFICIENCIES && !summary->phase_count; table++)
        database_note(job, (enum database_table)table,
                      "no phase of MPI_Pcontrol ended, and no region of another library");
}

/* Writes a list for json_each. */
static void finding_ranks_put(struct database *to, const struct finding *finding)
{
    char text[RANKS_KEPT * 12 + 4] = "";
    size_t used = 0;
    for (size_t i = 0; i < finding->causes.count; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%c%" PRId32, i ? ',' : '[', finding->causes.ranks[i]);
    if (used)
        snprintf(text + used, sizeof text - used, "]");
    row_text(to, text);
}

static void finding_put(struct database_job *job, const struct finding *finding, int64_t number)
{
    int64_t path = database_path_of_site(&job->paths, finding->site);
    struct database *to = job_row_begin(job, TABLE_FINDINGS);
    row_signed(to, number);
    row_word(to, finding->rule);
    row_text(to, finding->text);
    row_word(to, finding->advice);
    row_count(to, (uint64_t)(finding->seconds * 1e9));
    row_ratio(to, true, finding->share_of_run);
    finding_ranks_put(to, finding);
    row_known(to, path > 0, (uint64_t)path);
    row_end(to);
}

/* The paths of the job are there. */
static void findings_fill(struct database_job *job)
{
    struct findings *findings = malloc(sizeof *findings);
    if (!findings) {
        job->paths.no_memory = true;
        return;
    }
    findings_find(findings, job->job->summary);
    for (size_t i = 0; i < findings->count; i++)
        finding_put(job, &findings->list[i], (int64_t)i + 1);
    if (!findings->count)
        database_note(job, TABLE_FINDINGS,
                      !findings->known    ? "not known: calls were filtered, not timed or not recorded"
                      : findings->lack[0] ? "not known: other programs took the processors"
                                          : "nothing stands out");
    free(findings);
}

void database_summary_fill(struct database_job *job)
{
    const struct summary *summary = job->job->summary;
    job_put(job);
    ranks_fill(job);
    functions_fill(job);
    parallel_fill(job);
    job->first_comm = job->last_comm + 1;
    for (size_t i = 0; i < summary->comm_count; i++)
        comm_row_put(job, &summary->comms[i]);
    database_paths_fill(&job->paths, summary);
    if (!summary->sites.count)
        database_note(job, TABLE_PATHS, "no call paths were recorded (mpit_call_depth is 0)");
    if (!summary->sites.count)
        database_note(job, TABLE_FRAMES, "no call paths were recorded (mpit_call_depth is 0)");
    counters_fill(job);
    phases_fill(job);
    node_traffic_fill(job);
    findings_fill(job);
}
