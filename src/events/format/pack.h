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

/* Where an event like this was seen: 1 + its number, by a hash of what is no time; 0: nowhere. */
struct pack_table {
    uint32_t seen[1 << PACK_BACK_BITS];
};

/* Packing that goes on from time to time. The events lie one behind the other, and stay. */
struct packer {
    struct pack_table table;
    const struct event *first, *event; /* of the block; the next one to be packed */
    char *begin, *out;                 /* where the packed ones begin and end */
    uint64_t before;                   /* begin of the event before */
    size_t loop;                       /* how far back the last repetition was found; 0: nowhere yet */
    unsigned credit;                   /* searches that may fail before no more are made */
};

/* A block that begins with `first`, into `out`, which has room for PACK_MOST bytes for each of its events. */
void packer_begin(struct packer *packer, const struct event *first, void *out);
/* Packs what lies before `end` and has not been packed. Returns the bytes used so far. */
size_t packer_go_on(struct packer *packer, const struct event *end);

/* Packs `count` events at once into `out`, which has room for PACK_MOST bytes each; returns the bytes used. */
size_t events_pack(struct packer *packer, const struct event *events, uint32_t count, void *out);

/* What has come out of blocks. */
struct unpacked {
    uint64_t count, before;                /* events; of them before the block that is read now */
    struct event last[PACK_BACK_MOST + 1]; /* event n at n modulo the length; event 0 is the first */
};

/* A block begins. What has come out of the ones before keeps its place. */
void unpacked_begin(struct unpacked *unpacked);
/* Unpacks the event at *at and moves on; `end`: behind the block. Returns where it lies in `unpacked` until as many
 * more are unpacked as that has room for; NULL: there is none, or it is damaged. */
const struct event *event_unpack(struct unpacked *unpacked, const unsigned char **at, const unsigned char *end);
/* The same of several, at most so many. Returns how many: fewer where the block ends, or is damaged. */
size_t events_unpack(struct unpacked *unpacked, const unsigned char **at, const unsigned char *end, size_t most);

#endif
