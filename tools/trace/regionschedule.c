#include "trace/regionschedule.h"

#include "base/array.h"
#include "calls.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_LEAST = 1 << 12, RECORDS_BETWEEN_RESTS = 1 << 20 };

/* Outer regions first: they began earlier, or in the same tick and were left later. */
static int scheduled_order(const void *one, const void *other)
{
    const struct scheduled *a = one, *b = other;
    return ORDER(a->begin, b->begin) ?: ORDER(b->number, a->number);
}

/* Adds a place. Returns NULL without memory. */
static struct scheduled *list_place(struct scheduled_list *list)
{
    if (!ARRAY_RESERVED(list->list, &list->capacity, list->count))
        return NULL;
    return &list->list[list->count++];
}

/* ---- the heap of short ones -------------------------------------------------------------------------------------- */

static bool heap_push(struct scheduled_list *heap, const struct scheduled *fresh)
{
    if (!list_place(heap))
        return false;
    size_t at = heap->count - 1;
    for (size_t above; at > 0; at = above) {
        above = (at - 1) / 2;
        if (scheduled_order(&heap->list[above], fresh) <= 0)
            break;
        heap->list[at] = heap->list[above];
    }
    heap->list[at] = *fresh;
    return true;
}

static struct scheduled heap_pop(struct scheduled_list *heap)
{
    const struct scheduled first = heap->list[0], last = heap->list[--heap->count];
    size_t at = 0;
    for (size_t below; (below = 2 * at + 1) < heap->count; at = below) {
        below += below + 1 < heap->count && scheduled_order(&heap->list[below + 1], &heap->list[below]) < 0;
        if (scheduled_order(&last, &heap->list[below]) <= 0)
            break;
        heap->list[at] = heap->list[below];
    }
    heap->list[at] = last;
    return first;
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

static void walk_fetch(struct schedule_walk *walk)
{
    uint64_t missing = walk->cursor.missing;
    const struct event *event = event_cursor_next(&walk->cursor);
    walk->has_ahead = event != NULL;
    walk->torn = walk->cursor.missing != missing;
    if (!event)
        return;
    walk->ahead = *event;
    walk->ahead_number = walk->cursor.next - 1;
    if (walk->cursor.reads && walk->ahead_number - walk->rested > RECORDS_BETWEEN_RESTS) {
        run_reader_rest(walk->cursor.reader);
        walk->rested = walk->ahead_number;
    }
}

static void walk_open(struct schedule_walk *walk, const struct run_reader *run, uint32_t thread, uint64_t written,
                      bool held)
{
    *walk = (struct schedule_walk){.block_events = BLOCK_LEAST};
    event_cursor_open(&walk->cursor, run, thread);
    walk->cursor.reads = held;
    if (walk->cursor.end > written)
        walk->cursor.end = written;
    while (walk->block_events < walk->cursor.end / walk->block_events)
        walk->block_events *= 2;
    walk_fetch(walk);
}

/* Finds the blocks' times. Records and extensions have no times. */
static void walk_look(struct schedule_walk *walk, const struct event *event, uint64_t number)
{
    unsigned kind = event_kind(event);
    if (number / walk->block_events == walk->block || (kind >= RECORD_FIRST && kind < RECORD_END))
        return;
    walk->block = number / walk->block_events;
    walk->known = walk->since;
    if (event->begin > walk->since)
        walk->since = event->begin;
}

/* Finds the next region or sample. Returns false if there is none. It does not set *what. */
static bool schedule_walk_next(struct schedule_walk *walk, struct event *event, struct scheduled *place)
{
    while (walk->has_ahead) {
        *event = walk->ahead;
        *place = (struct scheduled){
            .begin = event->begin, .end = event->begin, .number = walk->ahead_number, .value = event->bytes};
        walk_look(walk, event, place->number);
        walk_fetch(walk);
        place->is_metric = event_kind(event) == EVENT_METRIC;
        if (event_kind(event) != EVENT_REGION && event_kind(event) != EVENT_FABRIC && !place->is_metric)
            continue;
        struct event_extension extension;
        uint64_t duration = event->duration;
        memcpy(&extension, &walk->ahead, sizeof extension);
        if ((event->kind & EVENT_WIDE) && walk->has_ahead && !walk->torn && extension.kind == RECORD_EXTENSION)
            duration = extension.duration;
        if (!place->is_metric && __builtin_add_overflow(event->begin, duration, &place->end))
            place->end = UINT64_MAX;
        return true;
    }
    return false;
}

/* ---- both together ----------------------------------------------------------------------------------------------- */

static bool has_instruments(const struct run_reader *run)
{
    for (size_t id = 0; id < run->instrument_count; id++)
        if (run->instruments[id])
            return true;
    for (uint32_t number = 1; number <= FABRIC_PROVIDERS_MOST; number++)
        if (run_reader_provider(run, number))
            return true;
    return false;
}

static bool numbers_keep(struct schedule *schedule)
{
    schedule->long_count = schedule->longs.count;
    schedule->long_numbers = malloc((schedule->long_count + 1) * sizeof *schedule->long_numbers);
    for (size_t i = 0; schedule->long_numbers && i < schedule->long_count; i++)
        schedule->long_numbers[i] = schedule->longs.list[i].number;
    return schedule->long_numbers != NULL;
}

/* The first walk. */
static bool longs_find(struct schedule *schedule, uint32_t thread, uint64_t written, bool held)
{
    struct schedule_walk *walk = &schedule->walk;
    struct scheduled place, *kept;
    struct event event;
    bool good = true;
    walk_open(walk, schedule->run, thread, written, held);
    while (good && schedule_walk_next(walk, &event, &place)) {
        if (!trace_instrument_place(schedule->instruments, schedule->run, &event, &place.what)) {
            schedule->unknown++;
            continue;
        }
        schedule->some = true;
        if (place.begin >= walk->known)
            continue;
        kept = list_place(&schedule->longs);
        good = kept != NULL;
        if (good)
            *kept = place;
    }
    event_cursor_close(&walk->cursor);
    return good;
}

int schedule_open(struct schedule *schedule, const struct trace_instruments *instruments, const struct run_reader *run,
                  uint32_t thread, uint64_t written, bool held)
{
    *schedule = (struct schedule){.instruments = instruments, .run = run, .nobodys = !has_instruments(run)};
    if (schedule->nobodys)
        return 0;
    if (!longs_find(schedule, thread, written, held) || !numbers_keep(schedule))
        return -1;
    if (schedule->long_count > 1)
        qsort(schedule->longs.list, schedule->long_count, sizeof *schedule->longs.list, scheduled_order);
    if (schedule->some)
        walk_open(&schedule->walk, run, thread, written, held);
    return 0;
}

void schedule_release(struct schedule *schedule)
{
    if (schedule->some)
        event_cursor_close(&schedule->walk.cursor);
    free(schedule->longs.list);
    free(schedule->shorts.list);
    free(schedule->open.list);
    free(schedule->long_numbers);
    *schedule = (struct schedule){0};
}

static bool number_is_long(struct schedule *schedule, uint64_t number)
{
    const uint64_t *numbers = schedule->long_numbers;
    while (schedule->numbers_next < schedule->long_count && numbers[schedule->numbers_next] < number)
        schedule->numbers_next++;
    return schedule->numbers_next < schedule->long_count && numbers[schedule->numbers_next] == number;
}

/* Returns the next of the known ones, or NULL for none. */
static const struct scheduled *schedule_first(const struct schedule *schedule)
{
    const struct scheduled *longer = NULL, *shorter = NULL;
    if (schedule->longs_next < schedule->longs.count)
        longer = &schedule->longs.list[schedule->longs_next];
    if (schedule->shorts.count)
        shorter = &schedule->shorts.list[0];
    return !longer || (shorter && scheduled_order(shorter, longer) < 0) ? shorter : longer;
}

/* The same for all. Regions that begin after `until` may still be unknown. */
static const struct scheduled *schedule_next(struct schedule *schedule, uint64_t until)
{
    struct schedule_walk *walk = &schedule->walk;
    struct scheduled place;
    struct event event;
    const struct scheduled *first = schedule_first(schedule);
    while (schedule->some && walk->has_ahead && walk->known <= until && (!first || first->begin >= walk->known)) {
        if (!schedule_walk_next(walk, &event, &place) || number_is_long(schedule, place.number) ||
            !trace_instrument_place(schedule->instruments, schedule->run, &event, &place.what))
            continue;
        if (!heap_push(&schedule->shorts, &place))
            schedule->failed = true;
        first = schedule_first(schedule);
    }
    return first;
}

static bool is_due(const struct scheduled *next, uint64_t until, uint64_t call_end)
{
    if (next->is_metric)
        return next->begin <= until;
    return next->begin < until || (next->begin == until && next->end >= call_end && until != call_end);
}

/* Moves the next one to `last`. */
static void schedule_take(struct schedule *schedule, const struct scheduled *next)
{
    if (schedule->shorts.count && next == &schedule->shorts.list[0]) {
        schedule->last = heap_pop(&schedule->shorts);
        return;
    }
    schedule->last = *next;
    schedule->longs_next++;
}

enum schedule_step schedule_step(struct schedule *schedule, uint64_t until, uint64_t call_end,
                                 const struct scheduled **what, uint64_t *at)
{
    const struct scheduled *next = schedule_next(schedule, until);
    struct scheduled_list *open = &schedule->open;
    if (next && !is_due(next, until, call_end))
        next = NULL;
    *what = &schedule->last;
    if (open->count > schedule->floor && open->list[open->count - 1].end <= (next ? next->begin : until)) {
        schedule->last = open->list[--open->count];
        *at = schedule->last.end;
        return STEP_LEAVE;
    }
    if (!next)
        return STEP_NONE;
    schedule_take(schedule, next);
    *at = schedule->last.begin;
    if (schedule->last.is_metric)
        return STEP_METRIC;
    struct scheduled *entered = list_place(open);
    if (!entered) {
        schedule->failed = true;
        return STEP_NONE;
    }
    *entered = schedule->last;
    return STEP_ENTER;
}

const struct scheduled *schedule_abandon(struct schedule *schedule)
{
    return schedule->open.count == schedule->floor ? NULL : &schedule->open.list[--schedule->open.count];
}
