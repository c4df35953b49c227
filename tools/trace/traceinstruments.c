#include "trace/traceinstruments.h"

#include "base/array.h"
#include "figures/cells.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *bound_comm_name(const struct run_reader *run, const struct instrument_record *record)
{
    const struct comm_record *comm = run_reader_bound(run, record);
    return comm ? comm->name : "";
}

static uint32_t instrument_region_find(const struct trace_instruments *instruments,
                                       const struct instrument_record *record)
{
    uint32_t i = 0;
    while (i < instruments->region_count && strcmp(instruments->regions[i]->name, record->name) != 0)
        i++;
    return i;
}

static uint32_t metric_find(const struct trace_instruments *instruments, const struct run_reader *run,
                            const struct instrument_record *record, uint32_t element)
{
    uint32_t i = 0;
    for (; i < instruments->metric_count; i++) {
        const struct trace_metric *metric = &instruments->metrics[i];
        if (metric->element == element && metric->record->class == record->class &&
            metric->record->type == record->type && strcmp(metric->record->name, record->name) == 0 &&
            strcmp(metric->comm, bound_comm_name(run, record)) == 0)
            break;
    }
    return i;
}

static int region_collect(struct trace_instruments *instruments, const struct run_reader *run,
                          const struct instrument_record *record)
{
    if (instrument_region_find(instruments, record) < instruments->region_count)
        return 0;
    if (!ARRAY_GROWN(instruments->regions, instruments->region_count))
        return -1;
    run_reader_hold(run);
    instruments->regions[instruments->region_count++] = record;
    return 0;
}

static int metric_add(struct trace_instruments *instruments, const struct run_reader *run,
                      const struct instrument_record *record, uint32_t element)
{
    if (metric_find(instruments, run, record, element) < instruments->metric_count)
        return 0;
    if (!ARRAY_GROWN(instruments->metrics, instruments->metric_count))
        return -1;
    run_reader_hold(run);
    instruments->metrics[instruments->metric_count++] =
        (struct trace_metric){run, record, element, bound_comm_name(run, record)};
    return 0;
}

static struct instrument_record fabric_regions[FABRIC_FUNCTION_COUNT];

static void fabric_regions_make(void)
{
    for (unsigned i = 0; i < FABRIC_FUNCTION_COUNT; i++) {
        struct instrument_record *record = &fabric_regions[i];
        const char *library = strncmp(fabric_table[i].name, "ucp", 3) == 0 ? "UCX" : "libfabric";
        record->kind = INSTRUMENT_REGION;
        snprintf(record->name, sizeof record->name, "%s", fabric_table[i].name);
        snprintf(record->component, sizeof record->component, "%s", library);
        snprintf(record->description, sizeof record->description, "%s of %s", fabric_kind_names[fabric_table[i].kind],
                 library);
    }
}

/* Adds a function of a library below MPI, as if that library had a region for it. */
static const struct instrument_record *fabric_region(unsigned function)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fabric_regions_make);
    return function < FABRIC_FUNCTION_COUNT ? &fabric_regions[function] : NULL;
}

/* Adds the functions that the process has called. */
static int fabric_add(struct trace_instruments *instruments, const struct run_reader *run)
{
    bool called[FABRIC_FUNCTION_COUNT] = {false};
    int result = 0;
    for (size_t i = 0; i < run->block_count; i++) {
        const struct run_block *block = &run->blocks[i];
        const struct fabric_cells *cells = (const struct fabric_cells *)(const void *)tally_cells(block);
        bool whole = block->kind == BLOCK_FABRIC && block->cells >= sizeof *cells / sizeof(uint64_t);
        for (unsigned f = 0; whole && f < FABRIC_FUNCTION_COUNT; f++)
            called[f] = called[f] || cell_load(&cells->function[f].time) || cell_load(&cells->function[f].count);
    }
    for (unsigned f = 0; result == 0 && f < FABRIC_FUNCTION_COUNT; f++)
        if (called[f])
            result = region_collect(instruments, run, fabric_region(f));
    return result;
}

int trace_instruments_add(struct trace_instruments *instruments, const struct run_reader *run)
{
    int result = fabric_add(instruments, run);
    for (uint32_t id = 1; result == 0 && id < run->instrument_count; id++) {
        const struct instrument_record *record = run->instruments[id];
        if (record && record->kind == INSTRUMENT_REGION)
            result = region_collect(instruments, run, record);
        for (uint32_t i = 0; result == 0 && record && record->kind == INSTRUMENT_VARIABLE; i++) {
            if (i == record->count || i == METRIC_ELEMENTS_MAX)
                break;
            result = metric_add(instruments, run, record, i);
        }
    }
    return result;
}

void trace_instruments_release(struct trace_instruments *instruments)
{
    free(instruments->regions);
    free(instruments->metrics);
    *instruments = (struct trace_instruments){0};
}

bool trace_instrument_place(const struct trace_instruments *instruments, const struct run_reader *run,
                            const struct event *event, uint32_t *what)
{
    bool fabric = event_kind(event) == EVENT_FABRIC;
    const struct instrument_record *record =
        fabric ? fabric_region((uint32_t)event->tag) : run_reader_instrument(run, (uint32_t)event->peer);
    bool is_metric = event_kind(event) == EVENT_METRIC;
    if (!record || (record->kind == INSTRUMENT_VARIABLE) != is_metric)
        return false;
    *what = is_metric ? metric_find(instruments, run, record, event->duration)
                      : instrument_region_find(instruments, record);
    return *what < (is_metric ? instruments->metric_count : instruments->region_count);
}
