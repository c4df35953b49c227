#include "summary/summaryinstruments.h"

#include "base/array.h"
#include "instruments/instrument.h"
#include "summary/summaryphases.h"
#include "format/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int instrument_order(const void *one, const void *other)
{
    const struct summary_instrument *a = one, *b = other;
    return strcmp(a->name, b->name)
               ?: ORDER(a->class, b->class) ?: strcmp(a->comm, b->comm) ?: ORDER(a->element, b->element);
}

static void line_sum(struct summary_instrument *line, const struct summary_instrument *other)
{
    line->ranks += other->ranks;
    line->sum += other->sum;
    summary_spread_merge(&line->spread, &other->spread);
    if (!line->item[0])
        memcpy(line->item, other->item, sizeof line->item);
}

int summary_instrument_add(struct summary *summary, const struct summary_instrument *line)
{
    bool found;
    size_t place = ARRAY_PLACE(i, summary->instrument_count, instrument_order(line, &summary->instruments[i]), &found);
    if (found) {
        line_sum(&summary->instruments[place], line);
        return 0;
    }
    if (summary->instrument_count >= SUMMARY_INSTRUMENTS_MAX) {
        summary->instruments_left_out += line->ranks;
        return 0;
    }
    if (!ARRAY_RESIZED(summary->instruments, summary->instrument_count + 1))
        return -1;
    struct summary_instrument *lines = summary->instruments;
    memmove(&lines[place + 1], &lines[place], (summary->instrument_count - place) * sizeof *lines);
    lines[place] = *line;
    summary->instrument_count++;
    return 0;
}

void summary_instrument_sanitize(struct summary_instrument *line)
{
    text_tidy(line->name, sizeof line->name);
    text_tidy(line->component, sizeof line->component);
    text_tidy(line->item, sizeof line->item);
    text_tidy(line->unit, sizeof line->unit);
    text_tidy(line->comm, sizeof line->comm);
}

/* ---- one process's lines ----------------------------------------------------------------------------------------- */

struct source {
    struct summary *summary;
    struct summary_instrument line; /* the common part of all its lines */
    int32_t rank;
    uint32_t type, count;
    const struct run_reader *run; /* with the record, or */
    const struct instrument_record *record;
    const struct instrument_instance *instance;
};

static const char *item_name(const struct source *source, int64_t value)
{
    if (source->record)
        return run_reader_item(source->run, source->record, value);
    const struct instrument_enumeration *names = source->instance->instrument->names;
    for (uint32_t i = 0; names && i < names->count; i++)
        if (source->count > 1 ? i == value : names->items[i].value == value)
            return names->items[i].name;
    return NULL;
}

static int number_add(const struct source *source, uint32_t class, uint32_t element, uint64_t number)
{
    struct summary_instrument line = source->line;
    double real;
    memcpy(&real, &number, sizeof real);
    if (source->type != MPIT_TYPE_DOUBLE)
        real = source->type == MPIT_TYPE_INT ? (double)(int64_t)number : (double)number;
    line.class = class;
    line.element = element;
    line.ranks = 1;
    bool state = class == VARIABLE_STATE;
    const char *item = state               ? item_name(source, (int64_t)number)
                       : source->count > 1 ? item_name(source, element)
                                           : NULL;
    snprintf(line.item, sizeof line.item, "%s", item ? item : "");
    text_tidy(line.item, sizeof line.item);
    if (state) { /* how many processes are in it */
        line.element = (uint32_t)number;
        line.sum = 1;
        real = 1;
    } else if (source->type != MPIT_TYPE_DOUBLE) {
        line.sum = number;
    }
    line.spread = (struct summary_spread){real, real, real, source->rank, source->rank};
    return summary_instrument_add(source->summary, &line);
}

/* The extremes follow the numbers. */
static int numbers_add(const struct source *source, uint32_t class, uint32_t classes, const uint64_t *numbers)
{
    int result = 0;
    uint32_t shown = source->count < SUMMARY_ELEMENTS_MAX ? source->count : SUMMARY_ELEMENTS_MAX;
    bool marks = classes & (1u << VARIABLE_HIGHWATERMARK | 1u << VARIABLE_LOWWATERMARK);
    source->summary->instruments_left_out += source->count - shown;
    for (uint32_t i = 0; result == 0 && i < shown && class != VARIABLE_HIGHWATERMARK && class != VARIABLE_LOWWATERMARK;
         i++)
        result = number_add(source, class, i, numbers[i]);
    if (result == 0 && marks && class != VARIABLE_LOWWATERMARK)
        result = number_add(source, VARIABLE_HIGHWATERMARK, 0, numbers[source->count]);
    if (result == 0 && class == VARIABLE_LOWWATERMARK)
        result = number_add(source, VARIABLE_LOWWATERMARK, 0, numbers[source->count + 1]);
    return result;
}

static int region_add(struct source *source, struct region_cells sum, struct clock_scale scale)
{
    bool phase = strcmp(source->line.component, PHASE_COMPONENT) == 0;
    if (summary_phase_fill(source->summary, source->line.name, phase, source->rank, &sum, scale) != 0)
        return -1;
    source->line.region = 1;
    source->type = source->line.type = MPIT_TYPE_UNSIGNED_LONG_LONG;
    int result = number_add(source, VARIABLE_COUNTER, 0, sum.count);
    snprintf(source->line.unit, sizeof source->line.unit, "ns");
    return result == 0 ? number_add(source, VARIABLE_TIMER, 0, clock_ns(scale, sum.time)) : result;
}

static void line_begin(struct source *source, const char *name, const char *component, const char *comm,
                       const char *unit)
{
    snprintf(source->line.name, sizeof source->line.name, "%s", name);
    snprintf(source->line.component, sizeof source->line.component, "%s", component);
    snprintf(source->line.comm, sizeof source->line.comm, "%s", comm);
    snprintf(source->line.unit, sizeof source->line.unit, "%s", unit);
    summary_instrument_sanitize(&source->line);
    source->line.type = source->type;
    source->line.array = source->count > 1;
}

static int record_add(struct summary *summary, const struct run_reader *run, const struct instrument_record *record,
                      int32_t rank)
{
    struct source source = {
        .summary = summary, .rank = rank, .type = record->type, .count = record->count, .run = run, .record = record};
    const struct comm_record *comm = run_reader_bound(run, record);
    line_begin(&source, record->name, record->component, comm ? comm->name : "", record->unit);
    const uint64_t *values = run_reader_values(run, record);
    if (record->kind == INSTRUMENT_VARIABLE)
        return values ? numbers_add(&source, record->class, record->classes, values) : 0;
    struct region_cells sum = {0};
    if (values) { /* moved from one communicator to another */
        sum.count = cell_load(&values[0]);
        sum.time = cell_load(&values[1]);
    }
    for (size_t i = 0; i < run->block_count; i++) {
        const struct run_block *block = &run->blocks[i];
        if (block->kind == BLOCK_REGION && block->page == record->id && block->cells >= sizeof sum / sizeof(uint64_t))
            cells_add(&sum, tally_cells(block), sizeof sum / sizeof(uint64_t));
    }
    if (!sum.count && comm && (comm->flags & COMM_SUM))
        return 0; /* it went to the sum */
    return region_add(&source, sum, run_reader_scale(run));
}

static int instance_line_add(struct summary *summary, const struct instrument_instance *instance, int32_t rank)
{
    const struct instrument *instrument = instance->instrument;
    struct source source = {
        .summary = summary, .rank = rank, .type = instrument->type, .count = instrument->count, .instance = instance};
    bool timer = instrument->kind == INSTRUMENT_VARIABLE && instrument->class == MPIT_CLASS_TIMER;
    line_begin(&source, instrument->name, instrument->component, instance->comm ? instance->comm->name : "",
               !timer                             ? ""
               : instrument_is_double(instrument) ? "s"
                                                  : "ns");
    if (instrument->kind == INSTRUMENT_REGION)
        return region_add(&source, instrument_region_sum(instance), book.scale);
    uint64_t *numbers = calloc(instrument->count + (size_t)INSTRUMENT_EXTREMES, sizeof *numbers);
    if (!numbers)
        return -1;
    for (uint32_t i = 0; i < instrument->count; i++)
        numbers[i] = instrument_value(instance, instrument->class, i);
    numbers[instrument->count] = instrument_value(instance, MPIT_CLASS_HIGHWATERMARK, 0);
    numbers[instrument->count + 1] = instrument_value(instance, MPIT_CLASS_LOWWATERMARK, 0);
    int result = numbers_add(&source, instrument->class, instrument->classes, numbers);
    free(numbers);
    return result;
}

int summary_instruments_fill(struct summary *summary, const struct figures *from, int32_t rank)
{
    int result = 0;
    if (from->run) {
        for (uint32_t id = 1; result == 0 && id < from->run->instrument_count; id++)
            if (from->run->instruments[id])
                result = record_add(summary, from->run, from->run->instruments[id], rank);
        return result;
    }
    for (uint32_t i = 0; i < instrument_count(); i++) {
        const struct instrument *instrument = instrument_at(i);
        if (instrument->kind != INSTRUMENT_VARIABLE && instrument->kind != INSTRUMENT_REGION)
            continue;
        const struct instrument_instance *at = __atomic_load_n(&instrument->instances, __ATOMIC_ACQUIRE);
        for (; result == 0 && at; at = at->next)
            if (!__atomic_load_n(&at->waits, __ATOMIC_ACQUIRE))
                result = instance_line_add(summary, at, rank);
    }
    return result;
}
