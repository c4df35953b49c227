#include "columns.h"

#include "unpack.h"

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

/* ---- reading: many events at a time, with all that moves in local variables. Each function is false where the block
 * ends too early, or says what cannot be. */

static inline bool byte_get(struct columns_cursor *from, enum column column, unsigned *value)
{
    if (from->at[column] >= from->end[column])
        return false;
    *value = *from->at[column]++;
    return true;
}

static inline bool back_get(struct columns_cursor *from, enum column column, size_t *back)
{
    unsigned low, high = 0;
    if (!byte_get(from, column, &low) || ((low & 0x80) && !byte_get(from, column, &high)))
        return false;
    *back = (low & 0x7f) | high << 7;
    return true;
}

/* Any number of bits, and where the column ends. */
static __attribute__((noinline)) bool bits_get_slowly(struct columns_cursor *from, unsigned count, uint64_t *value)
{
    const unsigned char *at = from->at[COLUMN_BITS];
    unsigned used = from->bits_used;
    *value = 0;
    if (count > (size_t)(from->end[COLUMN_BITS] - at) * 8 - used)
        return false;
    for (unsigned got = 0, some; got < count; got += some) {
        some = count - got < 8 - used ? count - got : 8 - used;
        *value |= (uint64_t)(*at >> used & ((1u << some) - 1)) << got;
        used += some;
        at += used / 8;
        used %= 8;
    }
    from->at[COLUMN_BITS] = at;
    from->bits_used = used;
    return true;
}

static inline bool bits_get(struct columns_cursor *from, unsigned count, uint64_t *value)
{
    uint64_t word;
    if (count > 64 - 7 || (size_t)(from->end[COLUMN_BITS] - from->at[COLUMN_BITS]) < sizeof word)
        return bits_get_slowly(from, count, value);
    memcpy(&word, from->at[COLUMN_BITS], sizeof word);
    *value = word >> from->bits_used & ((UINT64_C(1) << count) - 1);
    from->bits_used += count;
    from->at[COLUMN_BITS] += from->bits_used / 8;
    from->bits_used %= 8;
    return true;
}

static inline bool number_get(struct columns_cursor *from, enum column lengths, uint64_t *value)
{
    unsigned length;
    if (!byte_get(from, lengths, &length) || length > 64)
        return false;
    unsigned some = length != 0, low = length - some;
    if (!bits_get(from, low, value))
        return false;
    *value |= (uint64_t)some << low;
    return true;
}

/* The words of an event: [0] is its begin, [1] its duration and what it is. */
struct event_words {
    uint64_t head[2];
    event_half tail;
};

static inline bool fields_get(struct columns_cursor *from, struct event_words *words)
{
    const unsigned char *at = from->at[COLUMN_FIELDS];
    uint32_t what, duration;
    if (from->end[COLUMN_FIELDS] - at < COLUMN_FIELD_BYTES)
        return false;
    memcpy(&what, at, sizeof what);
    memcpy(&words->tail, at + sizeof what, sizeof words->tail);
    memcpy(&duration, at + sizeof what + sizeof words->tail, sizeof duration);
    words->head[1] = (uint64_t)what << 32 | duration;
    from->at[COLUMN_FIELDS] += COLUMN_FIELD_BYTES;
    return true;
}

/* `known`: events of the block before this one, the number'th. */
static inline bool event_get(struct columns_cursor *from, struct event *last, uint64_t number, uint64_t known)
{
    struct event_words words;
    uint64_t gap, duration;
    size_t back;
    if (!back_get(from, COLUMN_SHAPE, &back) || back > PACK_BACK_MOST || back > known)
        return false;
    if (back)
        memcpy(&words, &last[(number - back) & PACK_BACK_MOST], sizeof words);
    else if (!fields_get(from, &words))
        return false;
    unsigned kind = words.head[1] >> 32 & EVENT_KIND_MASK;
    bool record = kind >= RECORD_FIRST && kind < RECORD_END;
    back = 0;
    if (record && (!back_get(from, COLUMN_POSTED, &back) || back > PACK_BACK_MOST || back > known))
        return false;
    if (back) {
        words.head[0] = last[(number - back) & PACK_BACK_MOST].begin;
    } else {
        if (!number_get(from, COLUMN_GAPS, &gap))
            return false;
        words.head[0] = from->call_end + unzigzag(gap);
    }
    if (!record) {
        if (!number_get(from, COLUMN_DURATIONS, &duration) || duration > UINT32_MAX)
            return false;
        words.head[1] = (words.head[1] & ~(uint64_t)UINT32_MAX) | duration;
        from->call_end = words.head[0] + duration;
    }
    event_half head = {words.head[0], words.head[1]};
    event_store(&last[number & PACK_BACK_MOST], head, words.tail);
    return true;
}

size_t columns_take(struct columns_cursor *cursor, struct unpacked *unpacked, size_t most)
{
    struct columns_cursor from = *cursor;
    uint64_t first = unpacked->count, number = first;
    while (number - first < most && event_get(&from, unpacked->last, number, number - unpacked->before))
        number++;
    if (number - first < most) /* nothing comes out of it any more */
        memcpy(from.at, from.end, sizeof from.at);
    *cursor = from;
    unpacked->count = number;
    return (size_t)(number - first);
}
