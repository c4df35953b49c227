#include "top/topjson.h"

#include "format/event.h"
#include "base/ranklist.h"
#include "job/jsonvalue.h"
#include "report/summary_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static json_t *rated_sizes_json(const uint64_t counts[BUCKET_COUNT], const double rates[BUCKET_COUNT])
{
    json_t *list = json_array();
    for (unsigned i = 0; i < BUCKET_COUNT; i++)
        if (counts[i])
            json_array_append_new(list,
                                  json_pack("{s:I, s:I, s:f}", "up_to",
                                            (json_int_t)(bucket_limit(i) < INT64_MAX ? bucket_limit(i) : INT64_MAX),
                                            "count", (json_int_t)counts[i], "per_s", rates[i]));
    return list;
}

/* The counts since the process began, or since the job's processes did. */
static json_t *totals_json(const struct top_figures *now)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "mpi_ns", (json_int_t)now->mpi_ns,
                     "stall_ns", (json_int_t)now->stall_ns, "thread_ns", (json_int_t)now->thread_ns, "calls",
                     (json_int_t)now->calls, "sent", (json_int_t)now->sent, "sent_bytes", (json_int_t)now->sent_bytes,
                     "received", (json_int_t)now->received, "received_bytes", (json_int_t)now->received_bytes,
                     "collectives", (json_int_t)now->colls, "collective_bytes", (json_int_t)now->coll_bytes);
}

/* shared: the shares are known */
static json_t *rates_json(const struct top_job *job, bool shared, const struct top_rates *rates,
                          const struct top_figures *now)
{
    json_t *object = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "mpi_share", rates->mpi,
                               "work_share", rates->work, "stall_share", rates->stall, "calls_per_s", rates->calls,
                               "sent_per_s", rates->sent, "sent_bytes_per_s", rates->sent_bytes, "received_per_s",
                               rates->received, "received_bytes_per_s", rates->received_bytes, "collectives_per_s",
                               rates->colls, "collective_bytes_per_s", rates->coll_bytes);
    if (!job->stall_known || !shared) { /* stalls and work are not distinguished */
        json_object_set_new(object, "stall_share", json_null());
        json_object_set_new(object, "work_share", json_null());
    }
    if (!job->timed || !shared)
        json_object_set_new(object, "mpi_share", json_null());
    if (job->fabric)
        json_object_set_new(object, "fabric",
                            json_pack("{s:f, s:f, s:f, s:f, s:I}", "operations_per_s", rates->fabric_ops, "bytes_per_s",
                                      rates->fabric_bytes, "polls_per_s", rates->fabric_polls, "share", rates->fabric,
                                      "pending", (json_int_t)now->fabric_pending));
    json_t *counters = json_object();
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        if (job->counters[i]) {
            char name[COUNTER_NAME_BYTES];
            label_clean(name, sizeof name, job->counters[i], COUNTER_NAME_BYTES);
            json_object_set_new(
                counters, name,
                json_pack("{s:I, s:f}", "count", (json_int_t)now->counters[i], "per_s", rates->counters[i]));
        }
    if (json_object_size(counters))
        json_object_set(object, "counters", counters);
    json_decref(counters);
    return object;
}

static json_t *current_call_json(const struct top_call *call, struct call_places *places)
{
    if (!call->name[0])
        return json_null();
    json_t *peer = call->peer >= 0          ? json_integer(call->peer)
                   : call->peer == PEER_ANY ? json_string("any")
                                            : json_null();
    return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "name", call->name, "since_ns", (json_int_t)call->since_ns,
                     "stall_ns", (json_int_t)call->stall_ns, "communicator",
                     text_json(call->comm[0] ? call->comm : NULL), "peer", peer, "at",
                     text_json(call->where[0] ? call->where : NULL), "site", call_place_json(places, call->place));
}

static json_t *threads_json(const struct top_rank *rank, struct call_places *places)
{
    json_t *list = json_array();
    for (size_t i = 0; i < rank->thread_count; i++) {
        const struct top_thread *thread = &rank->threads[i];
        json_array_append_new(list, json_pack("{s:i, s:i, s:b, s:f, s:f, s:o}", "thread", (int)thread->index, "tid",
                                              (int)thread->tid, "ended", thread->ended, "mpi_share", thread->mpi,
                                              "stall_share", thread->stall, "call",
                                              current_call_json(&thread->call, places)));
    }
    return list;
}

static json_t *rank_waits_json(const struct top_rank *rank)
{
    static const char *const kinds[WAIT_KINDS] = {
        [WAIT_FROM] = "from", [WAIT_TO] = "to", [WAIT_AT] = "window", [WAIT_ALL] = "collective"};
    return JSON_LIST(
        i, rank->waits_for_count,
        json_pack("{s:i, s:s}", "rank", (int)rank->waits_for[i].rank, "how", kinds[rank->waits_for[i].kind]));
}

static json_t *top_rank_json(const struct top_job *job, const struct top_rank *rank, struct call_places *places)
{
    json_t *object = json_pack("{s:i, s:s, s:I, s:s, s:I, s:I}", "rank", (int)rank->rank, "host", rank->host, "pid",
                               (json_int_t)rank->pid, "state", top_state_name(rank->state), "run_ns",
                               (json_int_t)rank->run_ns, "interval_ns", (json_int_t)rank->interval_ns);
    char problem[512];
    label_clean(problem, sizeof problem, rank->problem, sizeof problem);
    if (problem[0])
        json_object_set_new(object, "problem", json_string(problem));
    json_object_set_new(object, "call", rank->busy ? current_call_json(&rank->busy->call, places) : json_null());
    bool outside = rank->busy && !rank->busy->call.name[0];
    json_object_set_new(object, "after", call_place_json(places, outside ? rank->busy->call.place : 0));
    json_object_set_new(object, "waits", rank->waits[0] ? json_string(rank->waits) : json_null());
    json_object_set_new(object, "waits_for", rank_waits_json(rank));
    json_object_set_new(object, "rates", rates_json(job, top_rank_has_shares(rank), &rank->rates, &rank->now));
    json_object_set_new(object, "totals", totals_json(&rank->now));
    json_object_set_new(object, "threads", threads_json(rank, places));
    return object;
}

static json_t *top_comm_json(const struct top_job *job, const struct top_comm *comm)
{
    json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:b}", "name", comm->name, "label", comm->label, "size",
                               (int)comm->size, "ranks", (int)comm->ranks, "freed", comm->is_sum);
    json_object_set_new(object, "time_share", job->timed ? json_real(comm->rates.time) : json_null());
    json_object_set_new(object, "stall_share", job->stall_known ? json_real(comm->rates.stall) : json_null());
    json_object_set_new(object, "time_ns", count_json(comm->time_ns));
    json_object_set_new(object, "messages", count_json(comm->messages));
    json_object_set_new(object, "collectives", count_json(comm->colls));
    json_object_set_new(object, "bytes", count_json(comm->bytes));
    json_object_set_new(object, "sent_per_s", json_real(comm->rates.sent));
    json_object_set_new(object, "sent_bytes_per_s", json_real(comm->rates.sent_bytes));
    json_object_set_new(object, "messages_per_s", json_real(comm->rates.messages));
    json_object_set_new(object, "collectives_per_s", json_real(comm->rates.colls));
    json_object_set_new(object, "bytes_per_s", json_real(comm->rates.bytes));
    return object;
}

static json_t *passes_json(const struct top_job *job, struct call_places *places)
{
    const struct top_passes *passes = &job->passes;
    uint64_t rest_ns = top_job_rest_ns(job);
    if (!passes->place)
        return json_null();
    return json_pack("{s:o, s:f, s:o, s:o, s:o, s:o}", "count", count_json(passes->count), "per_s", passes->per_second,
                     "none_ns", count_json(passes->none_ns), "wanted",
                     known_count_json(job->passes_wanted > 0, job->passes_wanted), "rest_ns",
                     known_count_json(rest_ns > 0, rest_ns), "site", call_place_json(places, passes->place));
}

static json_t *top_job_json(const struct top_job *job, const char *ranks, struct call_places *places)
{
    char number[24];
    snprintf(number, sizeof number, "%016" PRIx64, job->job);
    json_t *object = json_pack("{s:s, s:s, s:s, s:i, s:b, s:i, s:i, s:I, s:I}", "job", number, "program", job->program,
                               "mpi", job->mpi, "world_size", (int)job->world_size, "alive", job->alive, "running",
                               (int)job->running, "dead", (int)job->dead, "run_ns", (json_int_t)job->run_ns,
                               "interval_ns", (json_int_t)job->interval_ns);
    json_object_set_new(object, "user", json_string(job->user));
    json_object_set_new(object, "start", instant_json(job->begin_ns));
    json_object_set_new(object, "launcher", job->launcher ? json_integer(job->launcher) : json_null());
    json_object_set_new(object, "directory", job->directory[0] ? json_string(job->directory) : json_null());
    json_object_set_new(object, "efficiency", efficiency_json(&job->efficiency));
    json_object_set_new(object, "passes", passes_json(job, places));
    json_object_set_new(object, "sites", top_sites_json(job, places));
    json_object_set_new(object, "finding", job->finding[0] ? json_string(job->finding) : json_null());
    json_object_set_new(object, "deadlock", job->circle[0] ? json_string(job->circle) : json_null());
    json_object_set_new(object, "deadlock_ranks", JSON_LIST(i, job->circle_count, json_integer(job->circle_ranks[i])));
    json_object_set_new(object, "mismatch", job->mismatch[0] ? json_string(job->mismatch) : json_null());
    json_object_set_new(object, "rates", rates_json(job, job->sharing > 0, &job->rates, &job->now));
    json_object_set_new(object, "totals", totals_json(&job->now));
    json_t *list = json_array();
    for (size_t i = 0; i < job->rank_count; i++)
        if (!ranks || rank_list_has(ranks, job->ranks[i]->rank))
            json_array_append_new(list, top_rank_json(job, job->ranks[i], places));
    json_object_set_new(object, "ranks", list);
    json_object_set_new(object, "communicators", JSON_LIST(i, job->comm_count, top_comm_json(job, job->comms[i])));
    json_object_set_new(object, "sizes",
                        json_pack("{s:o, s:o, s:o}", "sent",
                                  rated_sizes_json(job->now.sizes[TOP_SENT], job->sizes[TOP_SENT]), "received",
                                  rated_sizes_json(job->now.sizes[TOP_RECEIVED], job->sizes[TOP_RECEIVED]),
                                  "collectives", rated_sizes_json(job->now.sizes[TOP_COLLS], job->sizes[TOP_COLLS])));
    return object;
}

json_t *top_json(const struct top_model *model, const struct live *live, const char *ranks)
{
    return json_pack("{s:i, s:s, s:I, s:I, s:I, s:o}", "version", 1, "mpit", MPIT_VERSION, "look",
                     (json_int_t)model->look, "realtime_ns", (json_int_t)live->realtime_ns, "look_ns",
                     (json_int_t)model->look_ns, "jobs",
                     JSON_LIST(i, model->job_count, top_job_json(&model->jobs[i], ranks, model->places)));
}
