#include "otf2_instruments.h"

#include <stdlib.h>
#include <string.h>

static void *grow(void *array, size_t count, size_t element)
{
    if (count & (count - 1)) /* doubles at the powers of two */
        return array;
    return realloc(array, (count ? count * 2 : 1) * element);
}

static const char *comm_of(const struct run_reader *run, const struct instrument_record *record)
{
    return record->comm ? run->comms[record->comm]->name : "";
}

static uint32_t region_find(const struct trace_instruments *instruments, const struct instrument_record *record)
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
            strcmp(metric->comm, comm_of(run, record)) == 0)
            break;
    }
    return i;
}

static int region_add(struct trace_instruments *instruments, const struct run_reader *run,
                      const struct instrument_record *record)
{
    if (region_find(instruments, record) < instruments->region_count)
        return 0;
    const struct instrument_record **regions = grow(instruments->regions, instruments->region_count, sizeof *regions);
    if (!regions)
        return -1;
    instruments->regions = regions;
    run_reader_hold(run);
    regions[instruments->region_count++] = record;
    return 0;
}

static int metric_add(struct trace_instruments *instruments, const struct run_reader *run,
                      const struct instrument_record *record, uint32_t element)
{
    if (metric_find(instruments, run, record, element) < instruments->metric_count)
        return 0;
    struct trace_metric *metrics = grow(instruments->metrics, instruments->metric_count, sizeof *metrics);
    if (!metrics)
        return -1;
    instruments->metrics = metrics;
    run_reader_hold(run);
    metrics[instruments->metric_count++] = (struct trace_metric){run, record, element, comm_of(run, record)};
    return 0;
}

int trace_instruments_add(struct trace_instruments *instruments, const struct run_reader *run)
{
    int result = 0;
    for (uint32_t id = 1; result == 0 && id < run->instrument_count; id++) {
        const struct instrument_record *record = run->instruments[id];
        if (record && record->kind == INSTRUMENT_REGION)
            result = region_add(instruments, run, record);
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

/* ---- the schedule of a thread -------------------------------------------------------------------------------------
 */

/* False: the file does not name it. */
static bool event_place(const struct trace_instruments *instruments, const struct run_reader *run,
                        const struct event *event, struct scheduled *place)
{
    const struct instrument_record *record = run_reader_instrument(run, (uint32_t)event->peer);
    place->is_metric = event_kind(event) == EVENT_METRIC;
    if (!record || (record->kind == INSTRUMENT_VARIABLE) != place->is_metric)
        return false;
    if (place->is_metric)
        place->what = metric_find(instruments, run, record, event->duration);
    else
        place->what = region_find(instruments, record);
    return place->what < (place->is_metric ? instruments->metric_count : instruments->region_count);
}

/* Outer regions first: they began earlier, or in the same tick and were left later. */
static int scheduled_order(const void *one, const void *other)
{
    const struct scheduled *a = one, *b = other;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->number < b->number) - (a->number > b->number);
}

static int event_take(struct schedule *schedule, const struct trace_instruments *instruments,
                      const struct run_reader *run, const struct event *event, uint64_t duration)
{
    struct scheduled fresh = {.begin = event->begin, .end = event->begin, .number = schedule->count};
    fresh.value = event->bytes;
    if (!event_place(instruments, run, event, &fresh)) {
        schedule->unknown++;
        return 0;
    }
    if (!fresh.is_metric && __builtin_add_overflow(event->begin, duration, &fresh.end))
        fresh.end = UINT64_MAX;
    struct scheduled *list = grow(schedule->list, schedule->count, sizeof *list);
    if (!list)
        return -1;
    schedule->list = list;
    list[schedule->count++] = fresh;
    return 0;
}

static int events_take(struct schedule *schedule, const struct trace_instruments *instruments,
                       const struct run_reader *run, struct event_cursor *cursor)
{
    const struct event *at = event_cursor_next(cursor);
    while (at) {
        struct event event = *at; /* a living process may overwrite it */
        uint64_t duration = event.duration, missing = cursor->missing;
        at = event_cursor_next(cursor);
        if (event_kind(&event) != EVENT_REGION && event_kind(&event) != EVENT_METRIC)
            continue;
        if ((event.kind & EVENT_WIDE) && at && cursor->missing == missing && event_kind(at) == RECORD_EXTENSION)
            duration = ((const struct event_extension *)(const void *)at)->duration;
        if (event_take(schedule, instruments, run, &event, duration) != 0)
            return -1;
    }
    return 0;
}

static bool has_instruments(const struct run_reader *run)
{
    for (size_t id = 0; id < run->instrument_count; id++)
        if (run->instruments[id])
            return true;
    return false;
}

int schedule_open(struct schedule *schedule, const struct trace_instruments *instruments, const struct run_reader *run,
                  uint32_t thread, uint64_t written)
{
    struct event_cursor cursor;
    *schedule = (struct schedule){.nobodys = !has_instruments(run)};
    if (schedule->nobodys)
        return 0;
    event_cursor_open(&cursor, run, thread);
    if (cursor.end > written)
        cursor.end = written;
    int result = events_take(schedule, instruments, run, &cursor);
    event_cursor_close(&cursor);
    if (result != 0)
        return -1;
    schedule->open = calloc(schedule->count + 1, sizeof *schedule->open);
    if (!schedule->open)
        return -1;
    if (schedule->count > 1)
        qsort(schedule->list, schedule->count, sizeof *schedule->list, scheduled_order);
    return 0;
}

void schedule_release(struct schedule *schedule)
{
    free(schedule->list);
    free(schedule->open);
    *schedule = (struct schedule){0};
}

static bool is_due(const struct scheduled *next, uint64_t until, uint64_t call_end)
{
    if (next->is_metric)
        return next->begin <= until;
    return next->begin < until || (next->begin == until && next->end >= call_end && until != call_end);
}

enum schedule_step schedule_step(struct schedule *schedule, uint64_t until, uint64_t call_end,
                                 const struct scheduled **what, uint64_t *at)
{
    const struct scheduled *next = schedule->next < schedule->count ? &schedule->list[schedule->next] : NULL;
    if (next && !is_due(next, until, call_end))
        next = NULL;
    if (schedule->open_count > schedule->floor) {
        const struct scheduled *top = &schedule->list[schedule->open[schedule->open_count - 1]];
        if (top->end <= (next ? next->begin : until)) {
            schedule->open_count--;
            *what = top;
            *at = top->end;
            return STEP_LEAVE;
        }
    }
    if (!next)
        return STEP_NONE;
    if (!next->is_metric)
        schedule->open[schedule->open_count++] = schedule->next;
    schedule->next++;
    *what = next;
    *at = next->begin;
    return next->is_metric ? STEP_METRIC : STEP_ENTER;
}

const struct scheduled *schedule_abandon(struct schedule *schedule)
{
    if (schedule->open_count == schedule->floor)
        return NULL;
    return &schedule->list[schedule->open[--schedule->open_count]];
}
