#include "analysis/analysis_report.h"

#include "format/label.h"
#include "job/jsonvalue.h"
#include "report/summary_phases.h"

#include <stdlib.h>
#include <string.h>

/* All keys of this file are described in share/doc/analyze.md. */

/* The bytes may be invalid, and JSON requires UTF-8. */
static json_t *bytes_json(const char *bytes)
{
    char clean[512];
    label_clean(clean, sizeof clean, bytes, strlen(bytes));
    return json_string(clean);
}

static void member(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static json_t *head_json(const struct analysis *analysis)
{
    json_t *object = json_object(), *notes = json_array();
    for (size_t i = 0; i < analysis->report.warning_count && i < OTF2_WARNINGS_MAX; i++)
        json_array_append_new(notes, bytes_json(analysis->report.warnings[i]));
    for (int32_t r = 0; r < analysis->job.size; r++)
        if (analysis->job.ranks[r].run) {
            char job[32];
            const struct run_header *header = &analysis->job.ranks[r].run->header;
            snprintf(job, sizeof job, "%016llx", (unsigned long long)header->job);
            member(object, "job", json_string(job));
            member(object, "program", bytes_json(header->program));
            break;
        }
    member(object, "world_size", count_json((uint64_t)analysis->job.size));
    member(object, "selected", json_boolean(selection_is_given(analysis->selection)));
    member(object, "notes", notes);
    return object;
}

static json_t *comm_json(const struct trace_comm *comm)
{
    return json_pack("{s:o, s:o, s:i}", "name", bytes_json(comm->name), "label", bytes_json(comm->label), "size",
                     comm->size + (comm->inter ? comm->remote_size : 0));
}

static json_t *messages_json(const struct analysis *analysis)
{
    if (!analysis->has_messages)
        return json_null();
    json_t *object = json_object(), *unmatched = json_object();
    for (int reason = 0; reason < UNMATCHED_REASONS; reason++)
        member(unmatched, unmatched_texts[reason].key, count_json(analysis->unmatched[reason]));
    member(object, "matched", count_json(analysis->matching.matched));
    member(object, "unmatched", unmatched);
    member(object, "open_receives", count_json(analysis->open_receives));
    member(object, "unplaced", count_json(analysis->unplaced));
    member(object, "uneven", count_json(analysis->matching.uneven));
    member(object, "undecided", count_json(analysis->matching.matched - analysis->matching.unseen - analysis->decided));
    member(object, "received_before_sent", count_json(analysis->matching.early));
    member(object, "received_before_sent_most_ns", count_json(analysis->matching.early_most_ns));
    return object;
}

/* rank: NULL if it is of all ranks */
static json_t *wait_sum_json(uint64_t key, json_t *rank, uint64_t count, uint64_t ns)
{
    return json_pack("{s:s, s:s, s:o, s:o*, s:o, s:o}", "pattern", pattern_texts[key >> 48].key, "function",
                     call_table[key >> 32 & 0xffff].name, "communicator", count_json((uint32_t)key), "rank", rank,
                     "count", count_json(count), "time_ns", count_json(ns));
}

/* Waits, or causes with what was sampled: one object for each function, communicator and rank. */
static json_t *waits_json(const struct analysis *analysis, const struct keytable *table)
{
    if (!analysis->has_times || (!analysis->has_messages && !analysis->has_collectives))
        return json_null();
    json_t *list = json_array();
    struct keyed **sorted = keytable_sorted(table);
    for (size_t i = 0; sorted && i < table->count; i++) {
        const struct analysis_sum *sum = (const struct analysis_sum *)sorted[i];
        uint64_t key = sum->keyed.key[0];
        json_t *object = wait_sum_json(key, count_json(sum->keyed.key[1]), sum->count, sum->amount);
        if (table == &analysis->causes)
            member(object, "sampled", sampled_json(analysis, key, delay_of_function((int32_t)sum->keyed.key[1])));
        json_array_append_new(list, object);
    }
    free(sorted);
    return list;
}

static json_t *lasts_json(struct keyed *const *lasts, size_t count, size_t *at, uint64_t key)
{
    json_t *list = json_array();
    while (*at < count && lasts[*at]->key[0] < key)
        (*at)++;
    for (; *at < count && lasts[*at]->key[0] == key; (*at)++) {
        const struct analysis_sum *sum = (const struct analysis_sum *)lasts[*at];
        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "rank", count_json(sum->keyed.key[1]), "count",
                                              count_json(sum->count), "time_ns", count_json(sum->amount)));
    }
    return list;
}

static json_t *collectives_json(const struct analysis *analysis)
{
    if (!analysis->has_collectives)
        return json_null();
    json_t *list = json_array();
    struct keyed **sorted = keytable_sorted(&analysis->operations), **lasts = keytable_sorted(&analysis->lasts);
    size_t at = 0;
    for (size_t i = 0; sorted && i < analysis->operations.count; i++) {
        const struct operation_sum *sum = (const struct operation_sum *)sorted[i];
        uint64_t key = sum->keyed.key[0];
        json_t *object = json_object();
        member(object, "function", json_string(call_table[key >> 32].name));
        member(object, "communicator", count_json((uint32_t)key));
        member(object, "count", count_json(sum->count));
        member(object, "complete", count_json(sum->whole));
        if (analysis->has_times) {
            member(object, "waited_ns", count_json(sum->waited_ns));
            member(object, "last", lasts_json(lasts, lasts ? analysis->lasts.count : 0, &at, key));
        }
        json_array_append_new(list, object);
    }
    free(sorted);
    free(lasts);
    return list;
}

static json_t *worst_json(const struct worst_operation *worst)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:i, s:o}", "function", call_table[worst->function].name, "communicator",
                     count_json(worst->comm), "first_ns", count_json(worst->at_ns), "last_ns",
                     count_json(worst->last_ns), "last_rank", (int)worst->last_rank, "waited_ns",
                     count_json(worst->waited_ns));
}

/* null: the needs of the job's calls are not known, or a part of it was chosen. */
static json_t *rank_times_json(const struct analysis *analysis, int32_t rank)
{
    const struct rank_times *times = &analysis->rank_times[rank];
    if (analysis->no_worlds)
        return json_null();
    uint64_t in_mpi = times->run_ns > times->useful_ns ? times->run_ns - times->useful_ns : 0;
    uint64_t stalled = times->stalled_ns < in_mpi ? times->stalled_ns : in_mpi;
    return json_pack("{s:I, s:I, s:I, s:I}", "computing", (json_int_t)(times->useful_ns - times->off_ns),
                     "off_processor", (json_int_t)times->off_ns, "working", (json_int_t)(in_mpi - stalled), "stalled",
                     (json_int_t)stalled);
}

static json_t *ranks_json(const struct analysis *analysis)
{
    if (!analysis->has_times)
        return json_null();
    struct rank_sums *ranks = analysis_ranks(analysis);
    json_t *list = ranks ? json_array() : NULL;
    for (int32_t r = 0; list && r < analysis->job.size; r++) {
        if (!selection_has_rank(analysis->selection, r))
            continue;
        json_t *object = json_object();
        member(object, "rank", json_integer(r));
        member(object, "waited_ns", count_json(ranks[r].waited_ns));
        member(object, "caused_ns", count_json(ranks[r].caused_ns));
        member(object, "time_ns", rank_times_json(analysis, r));
        if (analysis->has_path) {
            member(object, "path_computing_ns", count_json(ranks[r].path_computing_ns));
            member(object, "path_mpi_ns", count_json(ranks[r].path_ns - ranks[r].path_computing_ns));
        }
        json_array_append_new(list, object);
    }
    free(ranks);
    return list;
}

static json_t *share_json(const struct path_share *share)
{
    unsigned kind = share->key & 0xffff;
    return json_pack("{s:o, s:o, s:o}", "rank", count_json(share->key >> 16), "function",
                     kind == CALL_NONE ? json_null() : json_string(call_table[kind].name), "time_ns",
                     count_json(share->ns));
}

static json_t *critical_path_json(const struct analysis *analysis)
{
    if (!analysis->has_path)
        return json_pack("{s:s}", "unknown", analysis->no_path);
    return json_pack("{s:o, s:i, s:o}", "length_ns", count_json(analysis->path_ns), "ends_at_rank",
                     (int)analysis->path_rank, "shares",
                     JSON_LIST(i, analysis->path_count, share_json(&analysis->path[i])));
}

static json_t *message_matrix_json(const struct analysis *analysis)
{
    if (!analysis->has_messages)
        return json_null();
    json_t *list = json_array();
    struct keyed **sorted = keytable_sorted(&analysis->matrix);
    for (size_t i = 0; sorted && i < analysis->matrix.count; i++) {
        const struct analysis_sum *sum = (const struct analysis_sum *)sorted[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "communicator", count_json(sum->keyed.key[0]), "from",
                            count_json(sum->keyed.key[1] >> 32), "to", count_json(sum->keyed.key[1] & UINT32_MAX),
                            "messages", count_json(sum->count), "bytes", count_json(sum->amount)));
    }
    free(sorted);
    return list;
}

static json_t *analysis_efficiency_json(const struct analysis *analysis)
{
    const struct ideal_run *run = &analysis->ideal;
    const struct ideal_split *split = &analysis->split;
    bool timed = run->run_ns > 0, known = timed && !analysis->no_ideal;
    json_t *object = json_object();
    member(object, "communication", timed ? json_real(split->communication) : json_null());
    member(object, "serialization", known ? json_real(split->serialization) : json_null());
    member(object, "transfer", known ? json_real(split->transfer) : json_null());
    member(object, "run_ns", timed ? count_json(run->run_ns) : json_null());
    member(object, "useful_most_ns", timed ? count_json(run->useful_ns) : json_null());
    member(object, "ideal_least_ns", timed ? count_json(run->ideal_ns.least) : json_null());
    member(object, "ideal_most_ns", timed ? count_json(run->ideal_ns.most) : json_null());
    member(object, "unsure", count_json(run->unsure));
    member(object, "unknown", analysis->no_ideal ? json_string(analysis->no_ideal) : json_null());
    return object;
}

/* The waits of all ranks together: sums by the first part of the key, which is the sort key. */
static json_t *wait_sums_json(const struct analysis *analysis)
{
    if (!analysis->has_times || (!analysis->has_messages && !analysis->has_collectives))
        return json_null();
    json_t *list = json_array();
    struct keyed **sorted = keytable_sorted(&analysis->waits);
    for (size_t i = 0, end; sorted && i < analysis->waits.count; i = end) {
        uint64_t key = sorted[i]->key[0], count = 0, amount = 0;
        for (end = i; end < analysis->waits.count && sorted[end]->key[0] == key; end++) {
            const struct analysis_sum *sum = (const struct analysis_sum *)sorted[end];
            count += sum->count;
            amount += sum->amount;
        }
        json_array_append_new(list, wait_sum_json(key, NULL, count, amount));
    }
    free(sorted);
    return list;
}

/* Times without recording, and what they leave out. */
static json_t *recording_off_json(const struct analysis *analysis)
{
    uint32_t ranks;
    uint64_t longest = analysis_off_ns(analysis, &ranks);
    if (!ranks)
        return json_null();
    bool known = analysis->has_messages && !analysis->pauses_unknown;
    uint64_t ends = analysis->unmatched[UNMATCHED_SEND_OFF] + analysis->unmatched[UNMATCHED_RECV_OFF];
    return json_pack("{s:o, s:o, s:o, s:o}", "ranks", count_json(ranks), "longest_ns", count_json(longest),
                     "message_ends_left_out", known_count_json(known, ends), "collective_calls_left_out",
                     known_count_json(known, analysis->hidden_visits));
}

json_t *analysis_json(const struct analysis *analysis, bool brief)
{
    json_t *object = head_json(analysis);
    member(object, "communicators", JSON_LIST(i, analysis->comms.count, comm_json(&analysis->comms.list[i])));
    member(object, "efficiency", analysis_efficiency_json(analysis));
    member(object, "messages", messages_json(analysis));
    member(object, "waits", brief ? wait_sums_json(analysis) : waits_json(analysis, &analysis->waits));
    if (!brief) {
        member(object, "causes", waits_json(analysis, &analysis->causes));
        member(object, "callsites", analysis_sites_json(analysis));
        member(object, "wait_sites", wait_places_json(analysis));
        member(object, "segments", segments_json(analysis));
    }
    member(object, "left_early", count_json(analysis->left_early));
    member(object, "neighbours", count_json(analysis->neighbours));
    member(object, "unanalysed", count_json(analysis->unanalysed));
    member(object, "ranks", ranks_json(analysis));
    member(object, "collectives", collectives_json(analysis));
    member(object, "worst",
           JSON_LIST(i, analysis->has_times ? analysis->worst_count : 0, worst_json(&analysis->worst[i])));
    member(object, "recording_off", recording_off_json(analysis));
    if (!brief)
        member(object, "phases", analysis->phases ? summary_phases_json(analysis->phases, false) : json_null());
    member(object, "critical_path", critical_path_json(analysis));
    if (!brief)
        member(object, "matrix", message_matrix_json(analysis));
    return object;
}
