#include "format/columns.h"

#include "format/unpack.h"

#include <string.h>

static inline bool is_record(const struct event *event)
{
    return event_kind(event) >= RECORD_FIRST && event_kind(event) < RECORD_END;
}

/* True if equal in all fields except the times. The duration of a record is not a time. */
static bool is_same_record(const struct event *a, const struct event *b)
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

/* How far back the event is that this one repeats. `loop` is the distance of the event before. */
static size_t back_find(const struct columns *columns, const struct event *events, size_t at, size_t loop)
{
    if (loop && loop <= at && is_same_record(&events[at - loop], &events[at]))
        return loop;
    uint32_t seen = columns->seen[hash_fields(&events[at])];
    size_t back = seen ? at + 1 - seen : 0;
    return back && back <= PACK_BACK_MOST && is_same_record(&events[at - back], &events[at]) ? back : 0;
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

/* ---- reading: many events at a time, with the changing state in local variables. Each function returns false if
 * the block ends too early, or has impossible values. */

static inline bool byte_get(struct columns_cursor *from, enum column column, unsigned *value)
{
    if (from->at[column] >= from->end[column])
        return false;
    *value = *from->at[column]++;
    return true;
}

static inline bool back_take(const unsigned char **at, const unsigned char *end, size_t *back)
{
    const unsigned char *from = *at;
    if (from >= end)
        return false;
    unsigned low = *from++;
    if (low & 0x80) {
        if (from >= end)
            return false;
        low = (low & 0x7f) | (unsigned)*from++ << 7;
    }
    *at = from;
    *back = low;
    return true;
}

static bool bits_get(struct columns_cursor *from, unsigned count, uint64_t *value)
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

static bool number_get(struct columns_cursor *from, enum column lengths, uint64_t *value)
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

/* The fields of an event, copied from another one or taken from their own column. */
static inline bool fields_take(struct columns_cursor *cursor, struct event *last, uint64_t number, size_t back)
{
    struct event *event = &last[number & PACK_BACK_MOST];
    uint64_t what;
    event_half tail;
    if (back) {
        const struct event *like = &last[(number - back) & PACK_BACK_MOST];
        memcpy(&what, &like->duration, sizeof what);
        memcpy(&tail, &like->peer, sizeof tail);
    } else {
        const unsigned char *fields = cursor->at[COLUMN_FIELDS];
        uint32_t duration;
        if (cursor->end[COLUMN_FIELDS] - fields < COLUMN_FIELD_BYTES)
            return false;
        memcpy(&what, fields, sizeof what);
        memcpy(&tail, fields + sizeof duration, sizeof tail);
        memcpy(&duration, fields + sizeof duration + sizeof tail, sizeof duration);
        what = what << 32 | duration;
        cursor->at[COLUMN_FIELDS] = fields + COLUMN_FIELD_BYTES;
    }
    memcpy(&event->duration, &what, sizeof what);
    memcpy(&event->peer, &tail, sizeof tail);
    return true;
}

/* The shapes of most events. Each repeats one of the last PACK_BACK_MOST events of this block, and the column does
 * not end here. Returns the number of the first event of another kind. */
static uint64_t shapes_take_repeated(struct columns_cursor *cursor, struct event *last, uint64_t number, uint64_t end)
{
    const unsigned char *shape = cursor->at[COLUMN_SHAPE];
    if ((uint64_t)(cursor->end[COLUMN_SHAPE] - shape) / 2 < end - number)
        return number;
    for (; number < end; number++) {
        size_t back = *shape, bytes = 1;
        if (back & 0x80) {
            back = (back & 0x7f) | (size_t)shape[1] << 7;
            bytes = 2;
        }
        if (back - 1 >= PACK_BACK_MOST)
            break;
        fields_take(cursor, last, number, back);
        shape += bytes;
    }
    cursor->at[COLUMN_SHAPE] = shape;
    return number;
}

/* The next events without their times, which times_take fills in. Two loops over a few events are faster than one
 * loop over all columns, for which the processor has too few registers. Returns the number of the first event that
 * it could not read. */
static uint64_t shapes_take(struct columns_cursor *cursor, struct unpacked *unpacked, uint64_t end)
{
    uint64_t number = unpacked->count;
    for (; number < end; number++) {
        size_t back;
        if (number - unpacked->before >= PACK_BACK_MOST)
            number = shapes_take_repeated(cursor, unpacked->last, number, end);
        if (number == end || !back_take(&cursor->at[COLUMN_SHAPE], cursor->end[COLUMN_SHAPE], &back) ||
            back > PACK_BACK_MOST || back > number - unpacked->before ||
            !fields_take(cursor, unpacked->last, number, back))
            break;
    }
    return number;
}

/* The times of any event. */
static __attribute__((noinline)) bool times_get(struct columns_cursor *from, struct event *last, uint64_t number,
                                                uint64_t known)
{
    struct event *event = &last[number & PACK_BACK_MOST];
    uint64_t gap, duration;
    if (is_record(event)) {
        size_t back;
        if (!back_take(&from->at[COLUMN_POSTED], from->end[COLUMN_POSTED], &back) || back > PACK_BACK_MOST ||
            back > known)
            return false;
        if (!back && !number_get(from, COLUMN_GAPS, &gap))
            return false;
        event->begin = back ? last[(number - back) & PACK_BACK_MOST].begin : from->call_end + unzigzag(gap);
        return true;
    }
    if (!number_get(from, COLUMN_GAPS, &gap) || !number_get(from, COLUMN_DURATIONS, &duration) || duration > UINT32_MAX)
        return false;
    event->begin = from->call_end + unzigzag(gap);
    event->duration = (uint32_t)duration;
    from->call_end = event->begin + duration;
    return true;
}

/* Numbers by their length in bits. Two of them, without their highest bits, and 7 bits of another one before them
 * take 64 bits at most. */
enum { SHORT_LENGTH = 29, SHORT_BYTES = 8 };

struct short_number {
    uint32_t high, mask, low_bits;
};

/* The length is one more than the bits below the highest. */
#define LOW(bits)                                                                                                      \
    {                                                                                                                  \
        1u << (bits), (1u << (bits)) - 1, bits                                                                         \
    }
#define LOW_4(bits) LOW(bits), LOW((bits) + 1), LOW((bits) + 2), LOW((bits) + 3)
static const struct short_number short_numbers[SHORT_LENGTH + 1] = {
    {0, 0, 0}, LOW_4(0), LOW_4(4), LOW_4(8), LOW_4(12), LOW_4(16), LOW_4(20), LOW_4(24), LOW(28)};

/* The times of most events: records with a post less than 128 events before them, calls with a short gap and
 * duration, and not at the end of a column. Returns the number of the first other event. */
static uint64_t times_take_short(struct columns_cursor *cursor, struct event *last, uint64_t number, uint64_t end,
                                 uint64_t before)
{
    const unsigned char *posted = cursor->at[COLUMN_POSTED], *const posted_end = cursor->end[COLUMN_POSTED];
    const unsigned char *gaps = cursor->at[COLUMN_GAPS], *durations = cursor->at[COLUMN_DURATIONS];
    const unsigned char *bits = cursor->at[COLUMN_BITS], *const bits_end = cursor->end[COLUMN_BITS];
    unsigned used = cursor->bits_used;
    uint64_t call_end = cursor->call_end, word;
    size_t lengths = (size_t)(cursor->end[COLUMN_GAPS] - gaps);
    if ((size_t)(cursor->end[COLUMN_DURATIONS] - durations) < lengths)
        lengths = (size_t)(cursor->end[COLUMN_DURATIONS] - durations);
    const unsigned char *const gaps_end = gaps + lengths;
    for (; number < end; number++) {
        struct event *event = &last[number & PACK_BACK_MOST];
        if (is_record(event)) {
            if (posted >= posted_end || (unsigned)(*posted - 1) >= 0x7f || *posted > number - before)
                break;
            event->begin = last[(number - *posted++) & PACK_BACK_MOST].begin;
            continue;
        }
        if (gaps >= gaps_end || bits_end - bits < SHORT_BYTES || *gaps > SHORT_LENGTH || *durations > SHORT_LENGTH)
            break;
        const struct short_number *gap = &short_numbers[*gaps++], *duration = &short_numbers[*durations++];
        memcpy(&word, bits, sizeof word);
        word >>= used;
        used += gap->low_bits + duration->low_bits;
        uint32_t lasts = duration->high | ((uint32_t)(word >> gap->low_bits) & duration->mask);
        event->begin = call_end + unzigzag(gap->high | ((uint32_t)word & gap->mask));
        event->duration = lasts;
        call_end = event->begin + lasts;
        bits += used / 8;
        used %= 8;
    }
    cursor->at[COLUMN_POSTED] = posted;
    cursor->at[COLUMN_GAPS] = gaps;
    cursor->at[COLUMN_DURATIONS] = durations;
    cursor->at[COLUMN_BITS] = bits;
    cursor->bits_used = used;
    cursor->call_end = call_end;
    return number;
}

static uint64_t times_take(struct columns_cursor *cursor, struct unpacked *unpacked, uint64_t end)
{
    uint64_t number = unpacked->count;
    while (number < end) {
        number = times_take_short(cursor, unpacked->last, number, end, unpacked->before);
        if (number < end && !times_get(cursor, unpacked->last, number, number - unpacked->before))
            break;
        number += number < end;
    }
    return number;
}

size_t columns_take(struct columns_cursor *cursor, struct unpacked *unpacked, size_t most)
{
    uint64_t first = unpacked->count;
    unpacked->count = times_take(cursor, unpacked, shapes_take(cursor, unpacked, first + most));
    size_t got = (size_t)(unpacked->count - first);
    if (got < most) /* makes it empty */
        memcpy(cursor->at, cursor->end, sizeof cursor->at);
    return got;
}
