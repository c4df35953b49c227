#define _GNU_SOURCE
#include "report/summary_fabric.h"

#include "base/array.h"
#include "base/units.h"
#include "summaryjson.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TOP_CALLS = 12, TOP_COMMS = 10 };

static bool provider_is_there(const struct summary *summary, unsigned i)
{
    return i < SUMMARY_PROVIDERS_MAX && summary->providers[i].name[0];
}

/* For receives only the size of the buffer is known. */
static void function_print(unsigned function, uint64_t count, uint64_t bytes, uint64_t ns, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES], room[UNIT_TEXT_BYTES + 2];
    enum fabric_kind kind = fabric_table[function].kind;
    snprintf(room, sizeof room, "%s%s", bytes && (kind == FABRIC_RECV || kind == FABRIC_AM_RECV) ? "<=" : "",
             text_of_bytes(b, bytes));
    fprintf(out, "    %-30s %14s %10s %10s %10s\n", fabric_table[function].name, text_of_count(a, count), room,
            text_of_ns(c, ns), count ? text_of_seconds(d, (double)ns * 1e-9 / (double)count) : "-");
}

static void provider_print(const struct summary_provider *provider, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    fprintf(out, "  %-32s %14s %10s %10s %10s\n", provider->name, "operations", "bytes", "time", "mean");
    for (unsigned i = 0; i < FABRIC_FUNCTION_COUNT; i++)
        if (provider->functions[i].count || provider->functions[i].time_ns)
            function_print(i, provider->functions[i].count, provider->functions[i].bytes,
                           provider->functions[i].time_ns, out);
    fprintf(out, "    %-30s %14s %10s %10s %10s\n", "polls", text_of_count(a, provider->polls), "-",
            text_of_ns(b, provider->poll_ns),
            provider->polls ? text_of_seconds(c, (double)provider->poll_ns * 1e-9 / (double)provider->polls) : "-");
    if (provider->polls)
        fprintf(out, "    %s of the polls found nothing",
                text_of_share(a, (double)provider->empty_polls, (double)provider->polls));
    if (provider->started)
        fprintf(out, "%s at most %s operation%s outstanding at once", provider->polls ? ";" : "   ",
                text_of_count(b, provider->pending_high), provider->pending_high == 1 ? "" : "s");
    if (provider->polls || provider->started)
        fputc('\n', out);
    if (provider->again)
        fprintf(out, "    %s operation%s refused with \"try again\"\n", text_of_count(a, provider->again),
                provider->again == 1 ? " was" : "s were");
    if (provider->errors)
        fprintf(out, "  ! %s operation%s refused, or ended, with an error\n", text_of_count(a, provider->errors),
                provider->errors == 1 ? " was" : "s were");
}

static int fabric_time_order(const void *a, const void *b, void *summary)
{
    const uint64_t *ns = ((const struct summary *)summary)->call_fabric_ns;
    uint64_t x = ns[*(const unsigned *)a], y = ns[*(const unsigned *)b];
    return ORDER(y, x);
}

/* Prints the time of each MPI function: in the MPI library, and below. */
static void fabric_calls_print(const struct summary *summary, FILE *out)
{
    unsigned order[CALL_COUNT], used = 0;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    for (unsigned i = 1; i < CALL_COUNT; i++)
        if (summary->call_fabric_ns[i])
            order[used++] = i;
    if (!used)
        return;
    qsort_r(order, used, sizeof *order, fabric_time_order, (void *)(uintptr_t)summary);
    fprintf(out, "  %-32s %14s %10s %10s %10s\n", "MPI functions", "time", "library", "below", "share");
    for (unsigned i = 0; i < used && i < TOP_CALLS; i++) {
        uint64_t all = summary->calls[order[i]].time_ns, below = summary->call_fabric_ns[order[i]];
        fprintf(out, "    %-30s %14s %10s %10s %10s\n", call_table[order[i]].name, text_of_ns(a, all),
                text_of_ns(b, all > below ? all - below : 0), text_of_ns(c, below),
                text_of_share(d, (double)below, (double)all));
    }
    if (used > TOP_CALLS)
        fprintf(out, "    (%u others: mpit-dump --json)\n", used - TOP_CALLS);
    if (summary->fabric_other)
        fprintf(out, "    %s operation%s begun inside one MPI call, but for another call\n",
                text_of_count(a, summary->fabric_other), summary->fabric_other == 1 ? " was" : "s were");
}

/* Transfers inside of collectives. */
static void fabric_comms_print(const struct summary *summary, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    unsigned shown = 0;
    for (size_t i = 0; i < summary->comm_count && shown < TOP_COMMS; i++) {
        const struct summary_comm *comm = &summary->comms[i];
        if (!comm->transfers)
            continue;
        if (shown++ == 0)
            fprintf(out, "  %-32s %14s %10s %10s %10s\n", "collectives", "calls", "transfers", "in calls",
                    "first-last");
        fprintf(out, "    %-30.80s %14s %10s %10s %10s\n", comm->name, text_of_count(a, comm->coll_count),
                text_of_count(b, comm->transfers), text_of_ns(c, comm->coll_time_ns), text_of_ns(d, comm->transfer_ns));
    }
}

void summary_fabric_print(const struct summary *summary, FILE *out)
{
    if (!summary->fabric_watched)
        return;
    if (!provider_is_there(summary, 0)) {
        fprintf(out, "\nBelow MPI: no calls. The MPI library did not call libfabric or UCX. Its transport (shared "
                     "memory\nwithin a node, or its own TCP) does not use them.\n");
        return;
    }
    fprintf(out, summary->mpi[0] ? "\nBelow MPI, sums over all ranks\n" : "\nlibfabric and UCX\n");
    for (unsigned i = 0; provider_is_there(summary, i); i++)
        provider_print(&summary->providers[i], out);
    fabric_calls_print(summary, out);
    fabric_comms_print(summary, out);
}

static json_t *provider_json(const struct summary_provider *provider)
{
    json_t *json = json_object(), *functions = json_object();
    for (unsigned i = 0; i < FABRIC_FUNCTION_COUNT; i++) {
        if (!provider->functions[i].count && !provider->functions[i].time_ns)
            continue;
        json_t *function = json_object();
        summary_function_json_add(function, &provider->functions[i]);
        json_object_set_new(function, "kind", json_string(fabric_kind_names[fabric_table[i].kind]));
        json_object_set_new(functions, fabric_table[i].name, function);
    }
    summary_provider_json_add(json, provider);
    json_object_set_new(json, "provider", json_string(provider->name));
    json_object_set_new(json, "functions", functions);
    return json;
}

json_t *summary_fabric_json(const struct summary *summary)
{
    if (!summary->fabric_watched)
        return json_null();
    json_t *providers = json_array();
    for (unsigned i = 0; provider_is_there(summary, i); i++)
        json_array_append_new(providers, provider_json(&summary->providers[i]));
    return json_pack("{s:o, s:I}", "providers", providers, "others", (json_int_t)summary->fabric_other);
}
