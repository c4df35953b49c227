#include "trace/tracecounters.h"

#include <stdio.h>
#include <string.h>

/* Returns bits for the counters that the process has. It has the system's counters if any of them is not 0. */
static uint32_t counters_of(const struct run_reader *run)
{
    uint32_t has = 0;
    uint64_t any = 0;
    for (size_t i = 0; i < run->block_count; i++) {
        const struct run_block *block = &run->blocks[i];
        const uint64_t *cells = tally_cells(block);
        for (size_t at = 0; block->kind == BLOCK_COUNTERS && at < COUNTER_OS_END * PLACE_COUNT && at < block->cells;
             at++)
            any |= cells[at];
    }
    if (any)
        has = (1u << COUNTER_OS_END) - 1;
    for (unsigned i = 0; run->counters && i < run->counters->count; i++)
        has |= 1u << (COUNTER_ASKED + i);
    return has;
}

static uint32_t counter_find(const struct trace_counters *counters, const char *name)
{
    uint32_t i = 0;
    while (i < counters->count && strcmp(counters->list[i].name, name) != 0)
        i++;
    return i;
}

void trace_counters_add(struct trace_counters *counters, const struct run_reader *run)
{
    uint32_t has = counters_of(run);
    for (unsigned c = 0; c < COUNTER_COUNT; c++) {
        const char *name = run_reader_counter_name(run, c);
        if (!(has >> c & 1) || counter_find(counters, name) < counters->count || counters->count == TRACE_COUNTERS_MOST)
            continue;
        struct trace_counter *counter = &counters->list[counters->count++];
        const char *unit = c == COUNTER_OS_TIME ? "ns"
                           : c >= COUNTER_ASKED ? run->counters->list[c - COUNTER_ASKED].unit
                                                : "";
        snprintf(counter->name, sizeof counter->name, "%s", name);
        snprintf(counter->unit, sizeof counter->unit, "%s", unit[0] ? unit : "#");
        counter->asked = c >= COUNTER_ASKED;
    }
}

void trace_counters_places(const struct trace_counters *counters, const struct run_reader *run,
                           uint8_t places[COUNTER_COUNT])
{
    uint32_t has = counters_of(run);
    for (unsigned c = 0; c < COUNTER_COUNT; c++) {
        uint32_t place = has >> c & 1 ? counter_find(counters, run_reader_counter_name(run, c)) : counters->count;
        places[c] = place < counters->count ? (uint8_t)place : NO_COUNTER;
    }
}
