#include "reader/readergaps.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

static bool record_is_call(const struct event *event)
{
    unsigned kind = event_kind(event);
    return kind != 0 && kind < RECORD_FIRST;
}

/* The state of the walk over a thread. */
struct walk {
    struct run_gaps *gaps;
    uint64_t ended; /* end of the last call so far */
    bool open;      /* the last gap has no end yet */
};

/* A gap ends where a call begins. Records before that belong to a missing call. */
static void gap_close(struct walk *walk, uint64_t ticks)
{
    struct run_gap *gap = &walk->gaps->list[walk->gaps->count - 1];
    gap->end_ticks = ticks > gap->begin_ticks ? ticks : gap->begin_ticks;
    walk->open = false;
}

static int gap_begin(struct walk *walk, const struct event_cursor *cursor, uint64_t count, bool at_end)
{
    uint64_t first = (at_end ? cursor->end : cursor->next - 1) - count;
    struct run_gap *last = walk->open ? &walk->gaps->list[walk->gaps->count - 1] : NULL;
    if (last) { /* without a call in between it is one gap */
        last->count += count;
        last->end = first + count;
        return 0;
    }
    if (!ARRAY_GROWN(walk->gaps->list, walk->gaps->count))
        return -1;
    walk->gaps->list[walk->gaps->count++] = (struct run_gap){
        .thread = cursor->thread, .first = first, .end = first + count, .count = count, .begin_ticks = walk->ended};
    walk->open = true;
    return 0;
}

static int thread_walk(struct run_gaps *gaps, const struct run_reader *reader, uint32_t thread)
{
    struct walk walk = {.gaps = gaps, .ended = reader->threads[thread]->begin_ticks};
    struct event_cursor cursor;
    uint64_t wide = 0, end = reader->header.end_ticks; /* wide: begin of the call whose duration comes next */
    int result = 0;
    event_cursor_open(&cursor, reader, thread);
    for (bool more = true; more && result == 0;) {
        uint64_t missing = cursor.missing;
        const struct event *event = event_cursor_next(&cursor);
        more = event != NULL;
        if (cursor.missing != missing) {
            result = gap_begin(&walk, &cursor, cursor.missing - missing, !more);
            wide = 0;
        }
        if (!event)
            break;
        if (walk.open && record_is_call(event))
            gap_close(&walk, event->begin);
        uint64_t returned = 0;
        if (wide && event_kind(event) == RECORD_EXTENSION)
            returned = wide + ((const struct event_extension *)(const void *)event)->duration;
        else if (record_is_call(event) && !(event->kind & EVENT_WIDE))
            returned = event->begin + event->duration;
        wide = event->kind & EVENT_WIDE ? event->begin : 0;
        walk.ended = returned > walk.ended ? returned : walk.ended;
    }
    if (walk.open)
        gap_close(&walk, end ? end : walk.ended);
    event_cursor_close(&cursor);
    return result;
}

int run_gaps_find(struct run_gaps *gaps, const struct run_reader *reader)
{
    *gaps = (struct run_gaps){NULL, 0};
    for (uint32_t i = 0; i < reader->thread_count; i++)
        if (reader->threads[i] && thread_walk(gaps, reader, i) != 0)
            return -1;
    return 0;
}

void run_gaps_release(struct run_gaps *gaps)
{
    free(gaps->list);
    *gaps = (struct run_gaps){NULL, 0};
}

static const struct gap_table *table_of(const struct run_reader *reader)
{
    return reader->header.gaps ? (const void *)(reader->base + reader->header.gaps) : NULL;
}

static uint64_t table_count(const struct gap_table *table)
{
    uint64_t count = table ? __atomic_load_n(&table->count, __ATOMIC_ACQUIRE) : 0;
    return count < GAP_RECORDS_MOST ? count : GAP_RECORDS_MOST;
}

/* How many of the events first .. end - 1 of the thread are in the record. */
static uint64_t record_part(const struct gap_record *record, uint32_t thread, uint64_t first, uint64_t end)
{
    uint64_t behind = record->first + record->count;
    uint64_t from = record->first > first ? record->first : first, to = behind < end ? behind : end;
    bool fits = record->thread == thread && record->cause < LOSS_COUNT && record->count != UINT64_MAX;
    return fits && to > from ? to - from : 0;
}

/* For one thread. */
static void thread_settle(struct run_reader *reader, uint32_t thread)
{
    const struct gap_table *table = table_of(reader);
    uint64_t *lost = reader->header.lost, first, end;
    struct event_cursor cursor;
    event_ranges_open(&cursor, reader, thread);
    while (event_ranges_next(&cursor, &first, &end))
        for (uint64_t i = 0; i < table_count(table); i++) {
            const struct gap_record record = table->list[i];
            uint64_t part = record_part(&record, thread, first, end);
            if (part)
                lost[record.cause] -= part < lost[record.cause] ? part : lost[record.cause];
        }
    event_cursor_close(&cursor);
}

void run_gaps_settle(struct run_reader *reader)
{
    const struct gap_table *table = table_of(reader);
    for (uint64_t i = 0, before; i < table_count(table); i++) {
        for (before = 0; before < i && table->list[before].thread != table->list[i].thread; before++)
            continue;
        if (before == i) /* the thread's first record */
            thread_settle(reader, table->list[i].thread);
    }
}

static const char *const loss_names[] = {
#define LOSS_NAME(id, name) name,
    LOSS_CAUSES(LOSS_NAME)
#undef LOSS_NAME
};

/* Losses that were counted for the whole process may be the cause of any of its gaps. */
static void process_cause(const struct run_reader *reader, char text[GAP_CAUSE_BYTES])
{
    static const enum loss_cause causes[] = {LOSS_TRACE_LIMIT, LOSS_DISK_FULL, LOSS_NO_FILE, LOSS_NO_MEMORY};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (reader->header.lost[causes[i]])
            used += (size_t)snprintf(text + used, GAP_CAUSE_BYTES - used, "%s%s", used ? " or " : "",
                                     loss_names[causes[i]]);
    if (used && reader->header.lost[LOSS_TRACE_LIMIT] && reader->header.trace_policy == TRACE_RING)
        snprintf(text + used, GAP_CAUSE_BYTES - used, ", the oldest events were replaced");
    if (!used && reader->header.traced == TRACED_NOT)
        snprintf(text, GAP_CAUSE_BYTES, "no trace: the buffer of a thread holds only its last events");
    else if (!used)
        snprintf(text, GAP_CAUSE_BYTES, "no loss was counted: the process was killed, or the file is damaged");
}

/* Counts the gap's events that have a known cause, by cause. Returns the cause if the thread has no place in the
 * file. LOSS_COUNT: the thread has a place. */
static enum loss_cause told(const struct gap_table *table, const struct run_gap *gap, uint64_t by_cause[LOSS_COUNT])
{
    enum loss_cause thread_cause = LOSS_COUNT;
    uint64_t rest = gap->count;
    for (uint64_t i = 0; i < table_count(table); i++) {
        const struct gap_record record = table->list[i];
        if (record.thread != gap->thread || record.cause >= LOSS_COUNT)
            continue;
        if (record.count == UINT64_MAX) {
            thread_cause = record.cause;
            continue;
        }
        uint64_t part = record_part(&record, gap->thread, gap->first, gap->end);
        part = part < rest ? part : rest;
        by_cause[record.cause] += part;
        rest -= part;
    }
    return thread_cause;
}

void run_gap_cause(const struct run_reader *reader, const struct run_gap *gap, char text[GAP_CAUSE_BYTES])
{
    uint64_t by_cause[LOSS_COUNT] = {0}, rest = gap->count;
    enum loss_cause thread_cause = told(table_of(reader), gap, by_cause);
    size_t used = 0;
    for (int i = 0; i < LOSS_COUNT; i++)
        rest -= by_cause[i];
    if (thread_cause != LOSS_COUNT) {
        by_cause[thread_cause] += rest;
        rest = 0;
    }
    if (rest == gap->count) {
        process_cause(reader, text);
        return;
    }
    for (int i = 0; i < LOSS_COUNT && used < GAP_CAUSE_BYTES; i++) {
        bool gave_way = i == LOSS_TRACE_LIMIT && reader->header.trace_policy == TRACE_RING;
        char number[32] = "";
        if (by_cause[i] != gap->count)
            snprintf(number, sizeof number, "%llu ", (unsigned long long)by_cause[i]);
        if (by_cause[i])
            used += (size_t)snprintf(text + used, GAP_CAUSE_BYTES - used, "%s%s%s%s", used ? "; " : "", number,
                                     loss_names[i], gave_way ? ", the oldest events were replaced" : "");
    }
    if (rest && used < GAP_CAUSE_BYTES)
        snprintf(text + used, GAP_CAUSE_BYTES - used, "; %llu of unknown cause", (unsigned long long)rest);
}
