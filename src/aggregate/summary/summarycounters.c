#include "summary/summarycounters.h"

#include "registry/book.h"
#include "format/label.h"

#include <stdio.h>
#include <string.h>

static const char *const os_names[COUNTER_OS_END] = {
    [COUNTER_OS_TIME] = "kernel time",
    [COUNTER_SWITCHES_VOLUNTARY] = "voluntary switches",
    [COUNTER_SWITCHES_INVOLUNTARY] = "involuntary switches",
    [COUNTER_FAULTS_MINOR] = "minor page faults",
    [COUNTER_FAULTS_MAJOR] = "major page faults",
};

uint64_t summary_counter_total(const struct summary_counter *counter)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        total += counter->places[i];
    return total;
}

static void counter_fill(struct summary *summary, const char *name, const char *unit, const uint64_t *places,
                         int32_t rank)
{
    struct summary_counter *line = &summary->counters[summary->counter_count++];
    snprintf(line->name, sizeof line->name, "%s", name);
    snprintf(line->unit, sizeof line->unit, "%s", unit);
    text_tidy(line->name, sizeof line->name);
    text_tidy(line->unit, sizeof line->unit);
    memcpy(line->places, places, sizeof line->places);
    line->ranks = 1;
    double total = (double)summary_counter_total(line);
    line->spread = (struct summary_spread){total, total, total, rank, rank};
}

void summary_counters_fill(struct summary *summary, const struct figures *from, int32_t rank)
{
    const struct counter_table *table = from->run ? from->run->counters : book.counters;
    uint64_t places[COUNTER_OS_END][PLACE_COUNT], any = 0;
    for (unsigned c = 0; c < COUNTER_OS_END; c++) {
        figures_counter(from, c, places[c]);
        for (unsigned i = 0; i < PLACE_COUNT; i++)
            any |= places[c][i];
    }
    for (unsigned c = 0; any && c < COUNTER_OS_END; c++) /* not counted, as otherwise there would at least be faults */
        counter_fill(summary, os_names[c], c == COUNTER_OS_TIME ? "ns" : "", places[c], rank);
    for (unsigned c = 0; table && c < table->count; c++) {
        figures_counter(from, COUNTER_ASKED + c, places[0]);
        counter_fill(summary, table->list[c].name, table->list[c].unit, places[0], rank);
    }
    summary->counter_read_ns = table ? table->read_ns : 0;
}

static struct summary_counter *counter_named(struct summary *summary, const char *name)
{
    for (unsigned i = 0; i < summary->counter_count; i++)
        if (strcmp(summary->counters[i].name, name) == 0)
            return &summary->counters[i];
    return NULL;
}

void summary_counters_merge(struct summary *summary, const struct summary *other)
{
    for (unsigned i = 0; i < other->counter_count; i++) {
        const struct summary_counter *from = &other->counters[i];
        struct summary_counter *to = counter_named(summary, from->name);
        if (!to && summary->counter_count < SUMMARY_COUNTERS_MAX) {
            summary->counters[summary->counter_count++] = *from;
        } else if (to) {
            to->ranks += from->ranks;
            for (unsigned place = 0; place < PLACE_COUNT; place++)
                to->places[place] += from->places[place];
            summary_spread_merge(&to->spread, &from->spread);
        }
    }
    if (other->counter_read_ns > summary->counter_read_ns)
        summary->counter_read_ns = other->counter_read_ns;
}

bool summary_counters_sanitize(struct summary *summary)
{
    if (summary->counter_count > SUMMARY_COUNTERS_MAX)
        return false;
    for (unsigned i = 0; i < summary->counter_count; i++) {
        text_tidy(summary->counters[i].name, sizeof summary->counters[i].name);
        text_tidy(summary->counters[i].unit, sizeof summary->counters[i].unit);
    }
    return true;
}
