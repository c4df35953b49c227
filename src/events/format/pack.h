/*
 * Packed events. Programs run in loops, and most events differ from a recent one only in their times.
 *
 *   repeated   8 bytes    bit 0: 0 | 9 bits: how many events before | 22 bits: duration | 32 bits: begin - begin before
 *   literal   40 bytes    bit 0: 1 | 0                                                   , and the event itself
 *
 * A block can be read alone: it begins at time 0, with no event before. Packing uses only memory of the caller.
 * Unpacking trusts no byte.
 */
#ifndef MPIT_EVENTS_PACK_H
#define MPIT_EVENTS_PACK_H

#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

enum { PACK_BACK_BITS = 9, PACK_BACK_MOST = (1 << PACK_BACK_BITS) - 1, PACK_LEAST = 8, PACK_MOST = 40 };

/* The number + 1 of the last similar event, by a hash of its fields without times. 0: none. */
struct pack_table {
    uint32_t seen[1 << PACK_BACK_BITS];
};

/* A packer that continues from time to time. The events are adjacent, and stay valid. */
struct packer {
    struct pack_table table;
    const struct event *first, *event; /* of the block. The next one to be packed */
    char *begin, *out;                 /* begin and end of the packed events */
    uint64_t before;                   /* begin of the event before */
    size_t loop;                       /* how far back the last repetition was found. 0: not found yet */
    unsigned credit;                   /* how many searches may still fail before the search is given up */
};

/* Begins a block with event `first`. `out` has room for PACK_MOST bytes for each event of the block. */
void packer_begin(struct packer *packer, const struct event *first, void *out);
/* Packs the events before `end` that are not packed yet. Returns the bytes used so far. */
size_t packer_go_on(struct packer *packer, const struct event *end);

/* The last events unpacked from blocks. */
struct unpacked {
    uint64_t count, before;                /* number of events, and of the events before the current block */
    struct event last[PACK_BACK_MOST + 1]; /* event n is at n modulo the length. Event 0 is the first */
};

/* A block begins. Events of the blocks before keep their place. */
void unpacked_begin(struct unpacked *unpacked);
/* Unpacks the event at *at and moves on. `end` is the end of the block. Returns the event's place in `unpacked`,
 * valid until all other places are used. NULL: there is none, or it is damaged. */
const struct event *event_unpack(struct unpacked *unpacked, const unsigned char **at, const unsigned char *end);
/* The same for several events. Returns how many: fewer if the block ends, or is damaged. */
size_t events_unpack(struct unpacked *unpacked, const unsigned char **at, const unsigned char *end, size_t most);

#endif
