#include "columns.h"

#include <string.h>

static bool is_record(const struct event *event)
{
    return event_kind(event) >= RECORD_FIRST && event_kind(event) < RECORD_END;
}

/* Equal in all but the times; a record's duration is none. */
static bool same(const struct event *a, const struct event *b)
{
    return memcmp(&a->kind, &b->kind, sizeof *a - offsetof(struct event, kind)) == 0 &&
           (!is_record(a) || a->duration == b->duration);
}

static size_t hash_fields(const struct event *event)
{
    uint64_t where;
    uint32_t what;
    memcpy(&what, &event->kind, sizeof what);
    memcpy(&where, &event->peer, sizeof where);
    uint64_t hash = ((what ^ event->bytes) + where * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return hash >> (64 - PACK_BACK_BITS);
}

static size_t hash_begin(uint64_t begin)
{
    return begin * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PACK_BACK_BITS);
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

static unsigned length_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* ---- writing */

static void bits_put(struct columns *columns, uint64_t value, unsigned count)
{
    while (count) {
        unsigned some = count < 32 ? count : 32;
        columns->waiting |= (value & ((UINT64_C(1) << some) - 1)) << columns->waiting_bits;
        columns->waiting_bits += some;
        value >>= some;
        count -= some;
        if (columns->waiting_bits >= 32) {
            uint32_t word = (uint32_t)columns->waiting;
            memcpy(columns->bits + columns->bytes[COLUMN_BITS], &word, sizeof word);
            columns->bytes[COLUMN_BITS] += sizeof word;
            columns->waiting >>= 32;
            columns->waiting_bits -= 32;
        }
    }
}

static void bits_flush(struct columns *columns)
{
    while (columns->waiting_bits) {
        columns->bits[columns->bytes[COLUMN_BITS]++] = (unsigned char)columns->waiting;
        columns->waiting >>= 8;
        columns->waiting_bits -= columns->waiting_bits < 8 ? columns->waiting_bits : 8;
    }
}

/* Returns the number of bits, for the column of lengths. */
static unsigned char number_put(struct columns *columns, uint64_t value)
{
    unsigned length = length_of(value);
    if (length > 1)
        bits_put(columns, value, length - 1);
    return (unsigned char)length;
}

static void back_put(unsigned char *column, size_t *bytes, size_t back)
{
    if (back >= 0x80)
        column[(*bytes)++] = (unsigned char)(back | 0x80);
    column[(*bytes)++] = (unsigned char)(back >= 0x80 ? back >> 7 : back);
}

/* How far back the event lies that this one repeats; `loop`: how far that was for the one before. */
static size_t back_find(const struct columns *columns, const struct event *events, size_t at, size_t loop)
{
    if (loop && loop <= at && same(&events[at - loop], &events[at]))
        return loop;
    uint32_t seen = columns->seen[hash_fields(&events[at])];
    size_t back = seen ? at + 1 - seen : 0;
    return back && back <= PACK_BACK_MOST && same(&events[at - back], &events[at]) ? back : 0;
}

static size_t posted_find(const struct columns *columns, const struct event *events, size_t at)
{
    uint32_t seen = columns->begun[hash_begin(events[at].begin)];
    size_t back = seen ? at + 1 - seen : 0;
    return back && back <= PACK_BACK_MOST && events[at - back].begin == events[at].begin ? back : 0;
}

static void fields_put(struct columns *columns, const struct event *event)
{
    unsigned char *out = columns->fields + columns->bytes[COLUMN_FIELDS];
    uint32_t duration = is_record(event) ? event->duration : 0;
    memcpy(out, &event->kind, COLUMN_FIELD_BYTES - sizeof duration);
    memcpy(out + COLUMN_FIELD_BYTES - sizeof duration, &duration, sizeof duration);
    columns->bytes[COLUMN_FIELDS] += COLUMN_FIELD_BYTES;
}

static void times_put(struct columns *columns, const struct event *events, size_t at, uint64_t *call_end)
{
    const struct event *event = &events[at];
    if (is_record(event)) {
        size_t back = posted_find(columns, events, at);
        back_put(columns->posted, &columns->bytes[COLUMN_POSTED], back);
        if (back)
            return;
    }
    columns->gaps[columns->bytes[COLUMN_GAPS]++] = number_put(columns, zigzag(event->begin - *call_end));
    if (is_record(event))
        return;
    columns->durations[columns->bytes[COLUMN_DURATIONS]++] = number_put(columns, event->duration);
    *call_end = event->begin + event->duration;
}

void columns_write(struct columns *columns, const struct event *events, uint32_t count)
{
    uint64_t call_end = 0;
    size_t loop = 0;
    memset(columns->bytes, 0, sizeof columns->bytes);
    memset(columns->seen, 0, sizeof columns->seen);
    memset(columns->begun, 0, sizeof columns->begun);
    columns->waiting = columns->waiting_bits = 0;
    for (size_t at = 0; at < count; at++) {
        size_t back = back_find(columns, events, at, loop);
        back_put(columns->shape, &columns->bytes[COLUMN_SHAPE], back);
        if (!back)
            fields_put(columns, &events[at]);
        times_put(columns, events, at, &call_end);
        columns->seen[hash_fields(&events[at])] = columns->begun[hash_begin(events[at].begin)] = (uint32_t)at + 1;
        loop = back;
    }
    bits_flush(columns);
}

const unsigned char *column_bytes(const struct columns *columns, enum column column)
{
    const unsigned char *const begin[COLUMN_COUNT] = {columns->shape, columns->fields,    columns->posted,
                                                      columns->gaps,  columns->durations, columns->bits};
    return begin[column];
}

/* ---- reading: each function is false where the block ends too early, or says what cannot be */

static bool byte_get(struct columns_cursor *cursor, enum column column, unsigned *value)
{
    if (cursor->at[column] >= cursor->end[column])
        return false;
    *value = *cursor->at[column]++;
    return true;
}

static bool back_get(struct columns_cursor *cursor, enum column column, size_t *back)
{
    unsigned low, high = 0;
    if (!byte_get(cursor, column, &low) || ((low & 0x80) && !byte_get(cursor, column, &high)))
        return false;
    *back = (low & 0x7f) | high << 7;
    return true;
}

static bool bits_get(struct columns_cursor *cursor, unsigned count, uint64_t *value)
{
    *value = 0;
    for (unsigned got = 0; got < count;) {
        unsigned next, some = count - got;
        if (!cursor->waiting_bits) {
            if (!byte_get(cursor, COLUMN_BITS, &next))
                return false;
            cursor->waiting = next;
            cursor->waiting_bits = 8;
        }
        some = some < cursor->waiting_bits ? some : cursor->waiting_bits;
        *value |= (cursor->waiting & ((UINT64_C(1) << some) - 1)) << got;
        cursor->waiting >>= some;
        cursor->waiting_bits -= some;
        got += some;
    }
    return true;
}

static bool number_get(struct columns_cursor *cursor, enum column lengths, uint64_t *value)
{
    unsigned length;
    if (!byte_get(cursor, lengths, &length) || length > 64)
        return false;
    if (length == 0) {
        *value = 0;
        return true;
    }
    if (!bits_get(cursor, length - 1, value))
        return false;
    *value |= UINT64_C(1) << (length - 1);
    return true;
}

static bool fields_get(struct columns_cursor *cursor, struct event *event)
{
    const unsigned char *from = cursor->at[COLUMN_FIELDS];
    if (cursor->end[COLUMN_FIELDS] - from < COLUMN_FIELD_BYTES)
        return false;
    memcpy(&event->kind, from, COLUMN_FIELD_BYTES - sizeof event->duration);
    memcpy(&event->duration, from + COLUMN_FIELD_BYTES - sizeof event->duration, sizeof event->duration);
    cursor->at[COLUMN_FIELDS] += COLUMN_FIELD_BYTES;
    return true;
}

static bool times_get(struct columns_cursor *cursor, const struct unpacked *unpacked, struct event *event)
{
    uint64_t gap, duration;
    if (is_record(event)) {
        size_t back;
        if (!back_get(cursor, COLUMN_POSTED, &back) || back > PACK_BACK_MOST ||
            back > unpacked->count - unpacked->before)
            return false;
        if (back) {
            event->begin = unpacked->last[(unpacked->count - back) & PACK_BACK_MOST].begin;
            return true;
        }
    }
    if (!number_get(cursor, COLUMN_GAPS, &gap))
        return false;
    event->begin = cursor->call_end + unzigzag(gap);
    if (is_record(event))
        return true;
    if (!number_get(cursor, COLUMN_DURATIONS, &duration) || duration > UINT32_MAX)
        return false;
    event->duration = (uint32_t)duration;
    cursor->call_end = event->begin + duration;
    return true;
}

const struct event *columns_next(struct columns_cursor *cursor, struct unpacked *unpacked)
{
    struct event *event = &unpacked->last[unpacked->count & PACK_BACK_MOST];
    size_t back;
    if (!back_get(cursor, COLUMN_SHAPE, &back) || back > PACK_BACK_MOST || back > unpacked->count - unpacked->before)
        return NULL;
    if (back)
        *event = unpacked->last[(unpacked->count - back) & PACK_BACK_MOST];
    else if (!fields_get(cursor, event))
        return NULL;
    if (!times_get(cursor, unpacked, event))
        return NULL;
    unpacked->count++;
    return event;
}
