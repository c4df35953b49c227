/* Shared by both unpackers: the words of a packed event, and storing unpacked events. */
#ifndef MPIT_EVENTS_UNPACK_H
#define MPIT_EVENTS_UNPACK_H

#include "format/pack.h"

#include <string.h>

enum { PACK_LITERAL = 1, PACK_DURATION_SHIFT = 1 + PACK_BACK_BITS, PACK_DURATION_MOST = (1 << 22) - 1 };

_Static_assert(PACK_DURATION_SHIFT + 22 == 32, "a repeated event fills its 8 bytes");
_Static_assert(sizeof(struct event) + 8 == PACK_MOST, "a literal is a head and the event");

typedef uint64_t event_half __attribute__((vector_size(16)));

_Static_assert(offsetof(struct event, duration) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the duration is the lower half of the second word");

/* Stores each half at once. So a copy made soon after comes from the processor's store buffer, which cannot combine
 * several stores. */
static inline void unpacked_store(struct event *event, event_half head, event_half tail)
{
    memcpy(event, &head, sizeof head);
    memcpy(&event->peer, &tail, sizeof tail);
}

/* A copy with other times. */
static inline void event_repeat(struct event *event, const struct event *like, uint64_t begin, uint64_t duration)
{
    event_half head, tail;
    memcpy(&head, like, sizeof head);
    memcpy(&tail, &like->peer, sizeof tail);
    unpacked_store(event, (event_half){begin, (head[1] & ~(uint64_t)UINT32_MAX) | duration}, tail);
}

#endif
