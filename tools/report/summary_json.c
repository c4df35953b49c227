#define _GNU_SOURCE
#include "report/summary_json.h"

#include "calls.h"
#include "job/jsonvalue.h"
#include "job/select.h"
#include "report/summary_fabric.h"
#include "report/summary_counters.h"
#include "report/summary_findings.h"
#include "report/summary_instruments.h"
#include "report/summary_passes.h"
#include "report/summary_openmp.h"
#include "report/summary_phases.h"
#include "report/summary_placement.h"
#include "report/summary_origin.h"
#include "report/summary_ranks.h"
#include "report/summary_below.h"
#include "report/summary_sites.h"
#include "job/timeline.h"
#include "figures/variables.h"
#include "summaryjson.h"

#include <inttypes.h>
#include <jansson.h>

enum { SUMMARY_JSON_VERSION = 1 };

static json_t *spread_json(const struct summary_spread *spread, uint32_t ranks)
{
    return json_pack("{s:o, s:o, s:o, s:i, s:i}", "mean", figure_json(ranks ? spread->sum / ranks : 0.0), "min",
                     figure_json(spread->min), "max", figure_json(spread->max), "min_rank", (int)spread->min_rank,
                     "max_rank", (int)spread->max_rank);
}

static json_t *losses_json(const struct summary *summary)
{
    json_t *losses = json_object();
    for (size_t i = 0; i < LOSS_COUNT; i++)
        if (summary->lost[i])
            json_object_set_new(losses, variable_slot_name(NAMES_LOSS, i), count_json(summary->lost[i]));
    return losses;
}

/* stall_ns is null: no process could distinguish stalls from work, or not for this call */
static json_t *calls_json(const struct summary *summary)
{
    json_t *calls = json_object();
    for (size_t i = 1; i < CALL_COUNT; i++)
        if (summary->calls[i].count)
            json_object_set_new(
                calls, call_table[i].name,
                json_pack("{s:o, s:o, s:o, s:o}", "count", count_json(summary->calls[i].count), "time_ns",
                          count_json(summary->calls[i].time_ns), "stall_ns",
                          known_count_json(summary_tells_stalls(summary, (unsigned)i), summary->call_stall_ns[i]),
                          "fabric_ns", known_count_json(summary->fabric_watched, summary->call_fabric_ns[i])));
    return calls;
}

/* By reason, as in the enumeration mpit_state. null: no process could distinguish stalls from work */
static json_t *stalls_json(const struct summary *summary)
{
    bool told = summary_tells_stalls(summary, CALL_NONE);
    json_t *stalls = told ? json_object() : json_null();
    for (size_t i = MPIT_STATE_STALL_SEND; told && i < STATE_COUNT; i++)
        json_object_set_new(stalls, variable_slot_name(NAMES_STATE, i), count_json(summary->stall_ns[i]));
    return stalls;
}

/* The buckets that are not empty. */
static json_t *sizes_json(const uint64_t counts[BUCKET_COUNT], const uint64_t bytes[BUCKET_COUNT])
{
    json_t *sizes = json_array();
    for (unsigned i = 0; i < BUCKET_COUNT; i++) {
        if (!counts[i])
            continue;
        json_t *bucket = json_pack("{s:o, s:o, s:o}", "from_bytes", count_json(i ? UINT64_C(1) << (i - 1) : 0), "count",
                                   count_json(counts[i]), "bytes", count_json(bytes[i]));
        json_object_set_new(bucket, "to_bytes", i == BUCKET_COUNT - 1 ? json_null() : count_json(bucket_limit(i)));
        json_array_append_new(sizes, bucket);
    }
    return sizes;
}

static json_t *comm_json(const struct summary *summary, const struct summary_comm *comm)
{
    const struct summary_known known = summary_known_of(summary, CALL_NONE);
    json_t *json = json_object();
    json_object_set_new(json, "name", text_json(comm->name));
    if (comm->label[0])
        json_object_set_new(json, "label", text_json(comm->label));
    summary_comm_json_add(json, comm, &known);
    json_object_set_new(json, "send_sizes", sizes_json(comm->send_size_count, comm->send_size_bytes));
    json_object_set_new(json, "recv_sizes", sizes_json(comm->recv_size_count, comm->recv_size_bytes));
    return json;
}

/* The part of the run that findings are made of. null: they are made of sums. */
static json_t *analysed_json(const struct summary *summary)
{
    const struct summary_traced *traced = &summary->traced;
    double part = traced->part_ns ? (double)traced->part_ns * 1e-9 : summary->run_seconds.max;
    return traced->replayed ? figure_json(part) : json_null();
}

/* null: all of the run, or nothing */
static json_t *analysed_part_json(const struct summary_traced *traced)
{
    return traced->replayed && traced->part_ns ? json_string(traced->part_is_last ? "last" : "first") : json_null();
}

/* null: one node, or the files do not tell */
static json_t *clocks_json(const struct run_job *job)
{
    struct timeline line;
    json_t *json = json_null();
    if (!job->file_count)
        return json;
    if (timeline_open(&line, job->files, job->file_count, false) == 0 && line.clock_count > 1) {
        struct timeline_quality quality = timeline_quality(&line);
        json = json_pack("{s:o, s:o, s:o, s:o, s:s, s:s?, s:o}", "nodes", count_json(quality.nodes), "measured",
                         count_json(quality.measured), "times", count_json(quality.least), "error_ns",
                         known_count_json(quality.measured, quality.error_ns), "way", timeline_way(&quality), "trouble",
                         quality.trouble ? timeline_trouble(&quality) : NULL, "drift_ppm",
                         quality.most > 1 ? figure_json(quality.drift * 1e6) : json_null());
    }
    timeline_release(&line);
    return json;
}

/* Figures of whole processes. They are not known for a part that is counted again from a trace, or that has no rank. */
static const char *const unknown_of_parts[] = {"run_seconds",
                                               "mpi_share",
                                               "off_seconds",
                                               "efficiency",
                                               "by_rank",
                                               "findings",
                                               "fabric",
                                               "counters",
                                               "counter_read_ns",
                                               "instruments",
                                               "instruments_left_out",
                                               "recorded_seconds",
                                               "phases",
                                               "regions",
                                               "parallel_regions"};
/* A part of a run without files has only figures by rank, and all that comes from these. */
static const char *const unknown_of_rows[] = {
    "events", "lost",     "stalls_ns",       "calls",       "communicators",        "callsites",       "findings",
    "fabric", "counters", "counter_read_ns", "instruments", "instruments_left_out", "parallel_regions"};

static void unknown_put(json_t *json, json_t *unknown, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_object_set_new(json, names[i], json_null());
        json_array_append_new(unknown, json_string(names[i]));
    }
}

/* Describes the part of the job in the document, unless it is all. */
static void part_put(json_t *json, const struct run_part *part)
{
    json_t *unknown = json_array();
    if (part->rows)
        unknown_put(json, unknown, unknown_of_rows, sizeof unknown_of_rows / sizeof *unknown_of_rows);
    else if (part->anew || !part->found)
        unknown_put(json, unknown, unknown_of_parts, sizeof unknown_of_parts / sizeof *unknown_of_parts);
    const char *from = part->rows ? "summary" : part->anew ? "trace" : "tallies";
    json_object_set_new(json, "selection",
                        json_pack("{s:o, s:s, s:i, s:o, s:b, s:o}", "options", text_json(part->selection->described),
                                  "from", from, "ranks", (int)part->wanted, "missing", count_json(part->missing),
                                  "switched", (int)part->switched, "unknown", unknown));
}

static json_t *job_json(const struct run_job *job)
{
    const struct summary *summary = job->summary;
    char number[32];
    snprintf(number, sizeof number, "%016" PRIx64, summary->job);
    json_t *json = json_object();
    json_object_set_new(json, "job", json_string(number));
    json_object_set_new(json, "program", text_json(summary->program));
    json_object_set_new(json, "mpi", text_json(summary->mpi));
    json_object_set_new(json, "world_size", json_integer(summary->world_size));
    json_object_set_new(json, "ranks", json_integer(summary->ranks));
    json_object_set_new(json, "ended_badly", json_integer(summary->ended_badly));
    json_object_set_new(json, "missing_ranks", job->part ? json_null() : summary_missing_json(summary));
    json_object_set_new(json, "origin", summary_origin_json(summary));
    json_object_set_new(json, "about", summary_about_json(summary));
    json_object_set_new(json, "efficiency", summary_efficiency_json(summary));
    json_object_set_new(json, "by_rank", summary_ranks_json(summary));
    summary_findings_put(json, summary);
    json_object_set_new(json, "spawned", json_boolean(summary->spawned));
    snprintf(number, sizeof number, "%016" PRIx64, summary->parent_job);
    json_object_set_new(json, "spawned_by", summary->parent_job ? json_string(number) : json_null());
    json_object_set_new(json, "threads", count_json(summary->threads));
    json_object_set_new(json, "events", count_json(summary->events));
    json_object_set_new(json, "run_seconds", spread_json(&summary->run_seconds, summary->ranks));
    json_object_set_new(json, "recorded_seconds", spread_json(&summary->recorded_seconds, summary->ranks));
    json_object_set_new(json, "mpi_seconds", spread_json(&summary->mpi_seconds, summary->ranks));
    bool never_on = summary->off_seconds.max > 0 && summary->recorded_seconds.max <= 0;
    json_object_set_new(json, "mpi_share", never_on ? json_null() : spread_json(&summary->mpi_share, summary->ranks));
    json_object_set_new(json, "filter", summary->filter_mixed ? json_null() : text_json(summary->filter));
    json_object_set_new(json, "timing", summary->timed_mixed ? json_null() : count_json(summary->timed));
    json_object_set_new(json, "off_seconds", spread_json(&summary->off_seconds, summary->ranks));
    json_object_set_new(json, "trace_limit_seconds",
                        summary->trace_limit_ns ? figure_json((double)summary->trace_limit_ns * 1e-9) : json_null());
    json_object_set_new(json, "analysed_seconds", analysed_json(summary));
    json_object_set_new(json, "analysed_part", analysed_part_json(&summary->traced));
    json_object_set_new(json, "passes", summary_passes_json(summary));
    json_object_set_new(json, "clocks", clocks_json(job));
    json_object_set_new(json, "lost", losses_json(summary));
    json_object_set_new(json, "stalls_ns", stalls_json(summary));
    json_object_set_new(json, "calls", calls_json(summary));
    json_object_set_new(json, "communicators",
                        JSON_LIST(i, summary->comm_count, comm_json(summary, &summary->comms[i])));
    json_object_set_new(json, "placement", summary_placement_json(summary));
    json_object_set_new(json, "node_traffic", summary_links_json(summary));
    json_object_set_new(json, "callsites", summary_sites_json(summary));
    json_object_set_new(json, "parallel_regions", summary_parallel_json(summary));
    json_object_set_new(json, "below", summary_below_json(summary));
    json_object_set_new(json, "fabric", summary_fabric_json(summary));
    json_object_set_new(json, "counters", summary_counters_json(summary));
    json_object_set_new(json, "counter_read_ns", count_json(summary->counter_read_ns));
    json_object_set_new(json, "phases", summary_phases_json(summary, false));
    json_object_set_new(json, "regions", summary_phases_json(summary, true));
    json_object_set_new(json, "instruments", summary_instruments_json(summary));
    json_object_set_new(json, "instruments_left_out", count_json(summary->instruments_left_out));
    if (job->part)
        part_put(json, job->part);
    return json;
}

json_t *summary_json(const struct run_dir *dir)
{
    return json_pack("{s:i, s:s, s:o}", "version", SUMMARY_JSON_VERSION, "mpit", MPIT_VERSION, "jobs",
                     JSON_LIST(i, dir->job_count, job_json(&dir->jobs[i])));
}

int summary_write_json(const struct run_dir *dir, FILE *out)
{
    json_t *document = summary_json(dir);
    int result = document ? json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : -1;
    json_decref(document);
    return result == 0 && fputc('\n', out) != EOF ? 0 : -1;
}
