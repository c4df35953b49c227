#include "analysis/analysis_report.h"

#include "format/label.h"
#include "report/summary_phases.h"

#include <stdlib.h>
#include <string.h>

/* All keys of this file are described in share/doc/analyze.md. */

static json_t *integer_json(uint64_t value)
{
    return json_integer((json_int_t)value);
}

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
    member(object, "world_size", integer_json((uint64_t)analysis->job.size));
    member(object, "selected", json_boolean(selection_is_given(analysis->selection)));
    member(object, "notes", notes);
    return object;
}

static json_t *comms_json(const struct analysis *analysis)
{
    json_t *list = json_array();
    for (size_t i = 0; i < analysis->comms.count; i++) {
        const struct trace_comm *comm = &analysis->comms.list[i];
        json_t *object = json_object();
        member(object, "name", bytes_json(comm->name));
        member(object, "label", bytes_json(comm->label));
        member(object, "size", integer_json((uint64_t)(comm->size + (comm->inter ? comm->remote_size : 0))));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *messages_json(const struct analysis *analysis)
{
    if (!analysis->has_messages)
        return json_null();
    json_t *object = json_object(), *unmatched = json_object();
    for (int reason = 0; reason < UNMATCHED_REASONS; reason++)
        member(unmatched, unmatched_texts[reason].key, integer_json(analysis->unmatched[reason]));
    member(object, "matched", integer_json(analysis->matching.matched));
    member(object, "unmatched", unmatched);
    member(object, "open_receives", integer_json(analysis->open_receives));
    member(object, "unplaced", integer_json(analysis->unplaced));
    member(object, "uneven", integer_json(analysis->matching.uneven));
    member(object, "undecided",
           integer_json(analysis->matching.matched - analysis->matching.unseen - analysis->decided));
    member(object, "received_before_sent", integer_json(analysis->matching.early));
    member(object, "received_before_sent_most_ns", integer_json(analysis->matching.early_most_ns));
    return object;
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
        json_t *object = json_object();
        member(object, "pattern", json_string(pattern_texts[key >> 48].key));
        member(object, "function", json_string(call_table[key >> 32 & 0xffff].name));
        member(object, "communicator", integer_json((uint32_t)key));
        member(object, "rank", integer_json(sum->keyed.key[1]));
        member(object, "count", integer_json(sum->count));
        member(object, "time_ns", integer_json(sum->amount));
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
        json_t *object = json_object();
        member(object, "rank", integer_json(sum->keyed.key[1]));
        member(object, "count", integer_json(sum->count));
        member(object, "time_ns", integer_json(sum->amount));
        json_array_append_new(list, object);
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
        member(object, "communicator", integer_json((uint32_t)key));
        member(object, "count", integer_json(sum->count));
        member(object, "complete", integer_json(sum->whole));
        if (analysis->has_times) {
            member(object, "waited_ns", integer_json(sum->waited_ns));
            member(object, "last", lasts_json(lasts, lasts ? analysis->lasts.count : 0, &at, key));
        }
        json_array_append_new(list, object);
    }
    free(sorted);
    free(lasts);
    return list;
}

static json_t *worst_json(const struct analysis *analysis)
{
    json_t *list = json_array();
    for (size_t i = 0; analysis->has_times && i < analysis->worst_count; i++) {
        const struct worst_operation *worst = &analysis->worst[i];
        json_t *object = json_object();
        member(object, "function", json_string(call_table[worst->function].name));
        member(object, "communicator", integer_json(worst->comm));
        member(object, "first_ns", integer_json(worst->at_ns));
        member(object, "last_ns", integer_json(worst->last_ns));
        member(object, "last_rank", json_integer(worst->last_rank));
        member(object, "waited_ns", integer_json(worst->waited_ns));
        json_array_append_new(list, object);
    }
    return list;
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
        member(object, "waited_ns", integer_json(ranks[r].waited_ns));
        member(object, "caused_ns", integer_json(ranks[r].caused_ns));
        member(object, "time_ns", rank_times_json(analysis, r));
        if (analysis->has_path) {
            member(object, "path_computing_ns", integer_json(ranks[r].path_computing_ns));
            member(object, "path_mpi_ns", integer_json(ranks[r].path_ns - ranks[r].path_computing_ns));
        }
        json_array_append_new(list, object);
    }
    free(ranks);
    return list;
}

static json_t *critical_path_json(const struct analysis *analysis)
{
    json_t *object = json_object();
    if (!analysis->has_path) {
        member(object, "unknown", json_string(analysis->no_path));
        return object;
    }
    json_t *shares = json_array();
    for (size_t i = 0; i < analysis->path_count; i++) {
        unsigned kind = analysis->path[i].key & 0xffff;
        json_t *share = json_object();
        member(share, "rank", integer_json(analysis->path[i].key >> 16));
        member(share, "function", kind == CALL_NONE ? json_null() : json_string(call_table[kind].name));
        member(share, "time_ns", integer_json(analysis->path[i].ns));
        json_array_append_new(shares, share);
    }
    member(object, "length_ns", integer_json(analysis->path_ns));
    member(object, "ends_at_rank", json_integer(analysis->path_rank));
    member(object, "shares", shares);
    return object;
}

static json_t *message_matrix_json(const struct analysis *analysis)
{
    if (!analysis->has_messages)
        return json_null();
    json_t *list = json_array();
    struct keyed **sorted = keytable_sorted(&analysis->matrix);
    for (size_t i = 0; sorted && i < analysis->matrix.count; i++) {
        const struct analysis_sum *sum = (const struct analysis_sum *)sorted[i];
        json_t *object = json_object();
        member(object, "communicator", integer_json(sum->keyed.key[0]));
        member(object, "from", integer_json(sum->keyed.key[1] >> 32));
        member(object, "to", integer_json(sum->keyed.key[1] & UINT32_MAX));
        member(object, "messages", integer_json(sum->count));
        member(object, "bytes", integer_json(sum->amount));
        json_array_append_new(list, object);
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
    member(object, "run_ns", timed ? integer_json(run->run_ns) : json_null());
    member(object, "useful_most_ns", timed ? integer_json(run->useful_ns) : json_null());
    member(object, "ideal_least_ns", timed ? integer_json(run->ideal_ns.least) : json_null());
    member(object, "ideal_most_ns", timed ? integer_json(run->ideal_ns.most) : json_null());
    member(object, "unsure", integer_json(run->unsure));
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
        json_t *object = json_object();
        member(object, "pattern", json_string(pattern_texts[key >> 48].key));
        member(object, "function", json_string(call_table[key >> 32 & 0xffff].name));
        member(object, "communicator", integer_json((uint32_t)key));
        member(object, "count", integer_json(count));
        member(object, "time_ns", integer_json(amount));
        json_array_append_new(list, object);
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
    json_t *object = json_object();
    member(object, "ranks", integer_json(ranks));
    member(object, "longest_ns", integer_json(longest));
    member(object, "message_ends_left_out", known ? integer_json(ends) : json_null());
    member(object, "collective_calls_left_out", known ? integer_json(analysis->hidden_visits) : json_null());
    return object;
}

json_t *analysis_json(const struct analysis *analysis, bool brief)
{
    json_t *object = head_json(analysis);
    member(object, "communicators", comms_json(analysis));
    member(object, "efficiency", analysis_efficiency_json(analysis));
    member(object, "messages", messages_json(analysis));
    member(object, "waits", brief ? wait_sums_json(analysis) : waits_json(analysis, &analysis->waits));
    if (!brief)
        member(object, "causes", waits_json(analysis, &analysis->causes));
    if (!brief) {
        member(object, "callsites", analysis_sites_json(analysis));
        member(object, "wait_sites", wait_places_json(analysis));
        member(object, "segments", segments_json(analysis));
    }
    member(object, "left_early", integer_json(analysis->left_early));
    member(object, "neighbours", integer_json(analysis->neighbours));
    member(object, "unanalysed", integer_json(analysis->unanalysed));
    member(object, "ranks", ranks_json(analysis));
    member(object, "collectives", collectives_json(analysis));
    member(object, "worst", worst_json(analysis));
    member(object, "recording_off", recording_off_json(analysis));
    if (!brief)
        member(object, "phases", analysis->phases ? summary_phases_json(analysis->phases, false) : json_null());
    member(object, "critical_path", critical_path_json(analysis));
    if (!brief)
        member(object, "matrix", message_matrix_json(analysis));
    return object;
}
