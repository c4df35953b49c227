/*
 * Events by column: a block of one thread's events, in an order that leaves little for a general compressor to find.
 *
 *   shape      how many events before this one is an event that differs only in its times (0: none), as a varint
 *   fields     for events with shape 0: all fields except the times, 24 bytes
 *   posted     for records: how many events before is one with the same begin (the call that posted it), 0: none
 *   gaps       how many bits the gap has: from the end of the call before to the begin of this one
 *   durations  how many bits the duration has
 *   bits       those bits, except the highest of each, which is 1
 *
 * A compressor cannot foresee the last bits of times. They are in `bits` alone, nearly as they are. The other columns
 * have the parts that repeat with the program's loops. A block can be read alone. Reading trusts no byte.
 */
#ifndef MPIT_EVENTS_COLUMNS_H
#define MPIT_EVENTS_COLUMNS_H

#include "format/pack.h"

enum column { COLUMN_SHAPE, COLUMN_FIELDS, COLUMN_POSTED, COLUMN_GAPS, COLUMN_DURATIONS, COLUMN_BITS, COLUMN_COUNT };

enum { COLUMNS_EVENTS = 8192, COLUMN_FIELD_BYTES = 24 };

/* Upper limit for the bytes of a column of a block. */
#define COLUMN_MOST(column)                                                                                            \
    ((column) == COLUMN_FIELDS ? COLUMN_FIELD_BYTES * COLUMNS_EVENTS                                                   \
     : (column) == COLUMN_BITS ? 12 * COLUMNS_EVENTS + 8                                                               \
                               : 2 * COLUMNS_EVENTS)

struct columns {
    size_t bytes[COLUMN_COUNT];
    unsigned char shape[COLUMN_MOST(COLUMN_SHAPE)], fields[COLUMN_MOST(COLUMN_FIELDS)],
        posted[COLUMN_MOST(COLUMN_POSTED)], gaps[COLUMN_MOST(COLUMN_GAPS)], durations[COLUMN_MOST(COLUMN_DURATIONS)],
        bits[COLUMN_MOST(COLUMN_BITS)];
    /* while a block is written */
    uint64_t waiting; /* bits that do not fill 32 yet */
    unsigned waiting_bits;
    uint32_t seen[1 << PACK_BACK_BITS],
        begun[1 << PACK_BACK_BITS]; /* 1 + number, by hash of the fields, of the begin */
};

/* Writes the columns of `count` events, at most COLUMNS_EVENTS. */
void columns_write(struct columns *columns, const struct event *events, uint32_t count);
const unsigned char *column_bytes(const struct columns *columns, enum column column);

/* Where reading is. */
struct columns_cursor {
    const unsigned char *at[COLUMN_COUNT], *end[COLUMN_COUNT];
    unsigned bits_used; /* of the byte at at[COLUMN_BITS]: below 8 */
    uint64_t call_end;  /* of the last call */
};

/* Takes the next events, at most `most`, into `unpacked`, where the block was begun. Returns how many. Fewer if the
 * block ends or is damaged, and then there are no more. */
size_t columns_take(struct columns_cursor *cursor, struct unpacked *unpacked, size_t most);

/* Takes one event. NULL: there is none. */
static inline const struct event *columns_next(struct columns_cursor *cursor, struct unpacked *unpacked)
{
    struct event *event = &unpacked->last[unpacked->count & PACK_BACK_MOST];
    return columns_take(cursor, unpacked, 1) ? event : NULL;
}

#endif
