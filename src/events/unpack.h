/* event_unpack for whoever unpacks very many. */
#ifndef MPIT_EVENTS_UNPACK_H
#define MPIT_EVENTS_UNPACK_H

#include "pack.h"

#include <string.h>

enum { PACK_LITERAL = 1, PACK_DURATION_SHIFT = 1 + PACK_BACK_BITS, PACK_DURATION_MOST = (1 << 22) - 1 };

_Static_assert(PACK_DURATION_SHIFT + 22 == 32, "a repeated event fills its 8 bytes");
_Static_assert(sizeof(struct event) + 8 == PACK_MOST, "a literal is a head and the event");

typedef uint64_t event_half __attribute__((vector_size(16)));

_Static_assert(offsetof(struct event, duration) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the duration is the lower half of the second word");

/* A copy with other times. Each half is stored at once: who copies the event next then has it from the processor's
 * store buffer, which does not put together what was stored in pieces. */
static inline void event_repeat(struct event *event, const struct event *like, uint64_t begin, uint64_t duration)
{
    event_half head, tail;
    memcpy(&head, like, sizeof head);
    memcpy(&tail, &like->peer, sizeof tail);
    head = (event_half){begin, (head[1] & ~(uint64_t)UINT32_MAX) | duration};
    memcpy(event, &head, sizeof head);
    memcpy(&event->peer, &tail, sizeof tail);
}

static inline const struct event *event_unpack_here(struct unpacked *unpacked, const unsigned char **at,
                                                    const unsigned char *end)
{
    uint64_t head, count = unpacked->count;
    struct event *event = &unpacked->last[count & PACK_BACK_MOST];
    if ((size_t)(end - *at) < sizeof head)
        return NULL;
    memcpy(&head, *at, sizeof head);
    if (head & PACK_LITERAL) {
        if ((size_t)(end - *at) < PACK_MOST)
            return NULL;
        memcpy(event, *at + sizeof head, sizeof *event);
        *at += PACK_MOST;
    } else {
        uint64_t back = head >> 1 & PACK_BACK_MOST, before = unpacked->last[(count - 1) & PACK_BACK_MOST].begin;
        if (!back || back > count - unpacked->before)
            return NULL;
        event_repeat(event, &unpacked->last[(count - back) & PACK_BACK_MOST],
                     before + (uint64_t)(int64_t)(int32_t)(head >> 32),
                     head >> PACK_DURATION_SHIFT & PACK_DURATION_MOST);
        *at += PACK_LEAST;
    }
    unpacked->count++;
    return event;
}

#endif
