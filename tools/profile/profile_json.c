/* The profile as JSON, described in share/doc/profile.md. */
#include "profile/profile.h"

#include "job/jsonvalue.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

static const char *const state_keys[PROFILE_STATES] = {"not_in_mpi", "work",       "stall_send", "stall_recv",
                                                       "stall_coll", "stall_wait", "stall_other"};

static json_t *sum_json(const struct profile_sum *sum)
{
    json_t *states = json_object();
    for (int state = 0; state < PROFILE_STATES; state++)
        if (sum->state_ns[state])
            json_object_set_new(states, state_keys[state], count_json(sum->state_ns[state]));
    return json_pack("{s:o, s:o, s:o, s:o}", "samples", count_json(sum->samples), "ns", count_json(sum->ns),
                     "on_cpu_ns", count_json(sum->on_cpu_ns), "states_ns", states);
}

static json_t *states_json(const struct profile *profile)
{
    json_t *states = json_object();
    double whole = (double)profile->sum.ns, samples = profile_samples(profile);
    for (int state = 0; state < PROFILE_STATES; state++) {
        double ns = (double)profile->sum.state_ns[state];
        json_object_set_new(states, state_keys[state],
                            json_pack("{s:f, s:f}", "share", whole > 0 ? ns / whole : 0.0, "error",
                                      profile_error(ns, whole, samples, PROFILE_STANDARD_ERRORS)));
    }
    return states;
}

static json_t *exact_json(const struct profile *profile)
{
    const struct profile_exact *exact = &profile->exact;
    double span = (double)exact->span_ns;
    if (exact->none)
        return json_pack("{s:s}", "none", exact->none);
    json_t *states = json_object();
    for (int state = 0; state < PROFILE_STATES; state++)
        json_object_set_new(states, state_keys[state],
                            json_pack("{s:f, s:f, s:f}", "sampled_share", (double)exact->inside_ns[state] / span,
                                      "error",
                                      profile_error((double)exact->inside_ns[state], span, span * span / exact->squares,
                                                    PROFILE_STANDARD_ERRORS),
                                      "timer_share", (double)exact->ns[state] / span));
    return json_pack("{s:o, s:b, s:o}", "span_ns", count_json(exact->span_ns), "agrees", exact->agrees, "states",
                     states);
}

/* Returns one array of a table's records, in any order. */
static json_t *table_json(const struct keytable *table, json_t *(*record_json)(const struct keyed *))
{
    json_t *list = json_array();
    for (size_t i = 0; i < table->capacity; i++)
        for (const struct keyed *keyed = table->buckets[i]; keyed; keyed = keyed->next)
            json_array_append_new(list, record_json(keyed));
    return list;
}

static json_t *call_json(const struct keyed *keyed)
{
    const struct profile_call *call = (const struct profile_call *)keyed;
    return json_pack("{s:o, s:o}", "name", text_json(call->frame->name), "time", sum_json(&call->sum));
}

static json_t *profile_site_json(const struct keyed *keyed)
{
    const struct profile_site *site = (const struct profile_site *)keyed;
    return json_pack("{s:o, s:o, s:o, s:I, s:o}", "call", text_json(site->call->name), "function",
                     text_json(site->caller ? site->caller->name : NULL), "file", text_json(site->file), "line",
                     (json_int_t)site->line, "time", sum_json(&site->sum));
}

static json_t *share_rank_json(const struct profile_share *share)
{
    return share->rank < 0 ? json_null() : json_integer(share->rank);
}

static json_t *process_json(const struct keyed *keyed)
{
    const struct profile_share *share = (const struct profile_share *)keyed;
    return json_pack("{s:o, s:I, s:o}", "rank", share_rank_json(share), "process", (json_int_t)share->pid, "time",
                     sum_json(&share->sum));
}

static json_t *thread_json(const struct keyed *keyed)
{
    const struct profile_share *share = (const struct profile_share *)keyed;
    return json_pack("{s:o, s:I, s:I, s:o, s:o}", "rank", share_rank_json(share), "process", (json_int_t)share->pid,
                     "thread", (json_int_t)share->tid, "name", text_json(share->name), "time", sum_json(&share->sum));
}

static json_t *function_json(const struct keyed *keyed)
{
    const struct profile_function *function = (const struct profile_function *)keyed;
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", text_json(function->frame->name), "module",
                     text_json(function->frame->module), "self_ns", count_json(function->self_ns), "mpi_ns",
                     count_json(function->mpi_ns), "total_ns", count_json(function->total_ns));
}

static json_t *line_json(const struct keyed *keyed)
{
    const struct profile_line *line = (const struct profile_line *)keyed;
    return json_pack("{s:o, s:o, s:I, s:o, s:o}", "function", text_json(line->frame->name), "file",
                     text_json(line->file), "line", (json_int_t)line->line, "self_ns", count_json(line->self_ns),
                     "mpi_ns", count_json(line->mpi_ns));
}

static json_t *paths_json(const struct profile_node *parent)
{
    json_t *list = json_array();
    for (const struct profile_node *node = parent->first; node; node = node->next)
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", text_json(node->frame->name),
                                              "module", text_json(node->frame->module), "time", sum_json(&node->sum),
                                              "self_ns", count_json(node->self.ns), "calls", paths_json(node)));
    return list;
}

static json_t *notes_json(const struct profile *profile)
{
    char note[SYMBOLS_NOTE_BYTES];
    json_t *list = json_array();
    for (size_t i = 0; symbols_note(profile->stacks.symbols, i, note); i++)
        json_array_append_new(list, text_json(note));
    return list;
}

json_t *profile_json(struct profile *profile)
{
    const struct run_job *job = profile->stacks.job;
    json_t *json = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o}", "program",
                             text_json(job->file_count ? job->files[0].header.program : ""), "processes",
                             count_json(profile->ranks), "threads", count_json(profile->streams), "period_ns",
                             count_json(profile->period_least_ns), "lost", count_json(profile->stacks.lost),
                             "damaged_threads", count_json(profile->stacks.damaged), "notes", notes_json(profile),
                             "effective_samples", profile_samples(profile), "time", sum_json(&profile->sum));
    if (!json)
        return NULL;
    json_object_set_new(json, "limit_ns", known_count_json(profile->stacks.limit_ns > 0, profile->stacks.limit_ns));
    json_object_set_new(json, "states", states_json(profile));
    json_object_set_new(json, "timers", exact_json(profile));
    json_object_set_new(json, "by_rank", table_json(&profile->processes, process_json));
    json_object_set_new(json, "by_thread", table_json(&profile->threads, thread_json));
    json_object_set_new(json, "calls", table_json(&profile->calls, call_json));
    json_object_set_new(json, "places", table_json(&profile->sites, profile_site_json));
    json_object_set_new(json, "functions", table_json(&profile->functions, function_json));
    json_object_set_new(json, "lines", table_json(&profile->lines, line_json));
    json_object_set_new(json, "paths", paths_json(profile->root));
    return json;
}
