#include "report/summary_counters.h"

#include "calls.h"
#include "summary/summarycounters.h"
#include "base/units.h"
#include "figures/variables.h"
#include "job/jsonvalue.h"

#include <inttypes.h>
#include <string.h>

enum { NAME_COLUMNS = 26 };

static bool is_time(const struct summary_counter *counter)
{
    return strcmp(counter->unit, "ns") == 0;
}

static const char *text_of_value(char text[UNIT_TEXT_BYTES], const struct summary_counter *counter, uint64_t value)
{
    return is_time(counter) ? text_of_ns(text, value) : text_of_count(text, value);
}

/* Counting lasts from the begin of MPI_Init to the end of MPI_Finalize, but the run time excludes these calls. It also
 * excludes the calls of sessions at the begin and end of the run. Other calls of sessions count twice here. */
static double counted_seconds(const struct summary *summary)
{
    static const enum call ends[] = {CALL_MPI_Init, CALL_MPI_Init_thread, CALL_MPI_Finalize, CALL_MPI_Session_init,
                                     CALL_MPI_Session_finalize};
    double seconds = summary->run_seconds.sum;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        seconds += (double)summary->calls[ends[i]].time_ns / 1e9;
    return seconds;
}

/* The rate of a rank per second. For a time, its share. */
static double counter_rate(const struct summary *summary, const struct summary_counter *counter)
{
    double seconds = summary->ranks ? counted_seconds(summary) / summary->ranks * (double)counter->ranks : 0;
    return seconds > 0 ? (double)summary_counter_total(counter) / seconds : 0;
}

static void counter_print(const struct summary *summary, const struct summary_counter *counter, FILE *out)
{
    char text[UNIT_TEXT_BYTES];
    fprintf(out, "  %-*.*s", NAME_COLUMNS, NAME_COLUMNS, counter->name);
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        fprintf(out, " %11s", text_of_value(text, counter, counter->places[i]));
    if (is_time(counter))
        fprintf(out, " %11s\n", text_of_share(text, counter_rate(summary, counter), 1e9));
    else
        fprintf(out, " %11s\n", text_of_count(text, (uint64_t)(counter_rate(summary, counter) + 0.5)));
}

static void counter_ranks_print(const struct summary_counter *counter, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    const struct summary_spread *spread = &counter->spread;
    fprintf(out, "  %-*.*s a rank %s   (min %s, rank %" PRId32 "; max %s, rank %" PRId32 ")\n", NAME_COLUMNS,
            NAME_COLUMNS, "", text_of_value(a, counter, (uint64_t)(spread->sum / (double)counter->ranks + 0.5)),
            text_of_value(b, counter, (uint64_t)spread->min), spread->min_rank,
            text_of_value(c, counter, (uint64_t)spread->max), spread->max_rank);
}

void summary_counters_print(const struct summary *summary, FILE *out)
{
    if (!summary->counter_count)
        return;
    fprintf(out, "\nCounters by place of the thread, sums over all ranks\n  %-*s", NAME_COLUMNS, "");
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        fprintf(out, " %11s", variable_slot_name(NAMES_PLACE, i));
    fprintf(out, " %11s\n", "in a second");
    for (unsigned i = 0; i < summary->counter_count; i++) {
        counter_print(summary, &summary->counters[i], out);
        if (summary->counters[i].ranks > 1)
            counter_ranks_print(&summary->counters[i], out);
    }
    if (summary->counter_read_ns)
        fprintf(out, "  (a read of the PAPI events takes %" PRIu64 " ns, at the begin and at the end of each call)\n",
                summary->counter_read_ns);
}

static json_t *counter_json(const struct summary *summary, const struct summary_counter *counter)
{
    const struct summary_spread *spread = &counter->spread;
    json_t *json = json_object(), *places = json_object(), *ranks = json_object();
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        json_object_set_new(places, variable_slot_name(NAMES_PLACE, i), count_json(counter->places[i]));
    json_object_set_new(ranks, "mean", json_real(counter->ranks ? spread->sum / (double)counter->ranks : 0));
    json_object_set_new(ranks, "min", json_real(spread->min));
    json_object_set_new(ranks, "min_rank", json_integer(spread->min_rank));
    json_object_set_new(ranks, "max", json_real(spread->max));
    json_object_set_new(ranks, "max_rank", json_integer(spread->max_rank));
    json_object_set_new(json, "name", json_string(counter->name));
    json_object_set_new(json, "unit", json_string(counter->unit));
    json_object_set_new(json, "total", count_json(summary_counter_total(counter)));
    json_object_set_new(json, "places", places);
    json_object_set_new(json, "ranks", count_json(counter->ranks));
    json_object_set_new(json, "by_rank", ranks);
    json_object_set_new(json, "per_second", json_real(counter_rate(summary, counter)));
    return json;
}

json_t *summary_counters_json(const struct summary *summary)
{
    return JSON_LIST(i, summary->counter_count, counter_json(summary, &summary->counters[i]));
}
