#include "format/unpack.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static uint32_t *seen_at(struct pack_table *table, const struct event *event)
{
    uint64_t where;
    uint32_t what;
    memcpy(&what, &event->kind, sizeof what);
    memcpy(&where, &event->peer, sizeof where);
    uint64_t hash = ((what ^ event->bytes) + where * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return &table->seen[hash >> (64 - PACK_BACK_BITS)];
}

/* True if equal in all fields except the times. */
static inline bool is_same_event(const struct event *a, const struct event *b)
{
#if defined(__SSE2__)
    __m128i tail = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(const void *)&a->peer),
                                   _mm_loadu_si128((const __m128i *)(const void *)&b->peer));
    return _mm_movemask_epi8(tail) == 0xffff && a->kind == b->kind && a->comm == b->comm;
#else
    return memcmp(&a->kind, &b->kind, sizeof *a - offsetof(struct event, kind)) == 0;
#endif
}

enum { SEARCH_MOST = 48, CREDIT_MOST = 64 };

/* Packs events while they repeat the ones `back` before. Returns false if not even one does. */
static bool repeats_pack(struct packer *p, const struct event *end, size_t back)
{
    const struct event *event = p->event;
    if (!back || back > PACK_BACK_MOST || (size_t)(event - p->first) < back)
        return false;
    uint64_t head = back << 1, before = p->before;
    char *out = p->out;
    for (const struct event *old = event - back; event < end; event++, old++) {
        uint64_t begin = event->begin, since = begin - before, duration = event->duration;
        if (!is_same_event(old, event) || duration > PACK_DURATION_MOST || (uint64_t)(int32_t)since != since)
            break;
        uint64_t word = head | duration << PACK_DURATION_SHIFT | since << 32;
        memcpy(out, &word, sizeof word);
        out += sizeof word;
        before = begin;
    }
    bool some = event != p->event;
    p->event = event;
    p->out = out;
    p->before = before;
    return some;
}

/* How far back is an event that p->event repeats. 0: none is known. An event from long ago has come again since, as
 * long as the loop lasted. */
static size_t back_seen(const struct packer *p, uint32_t seen)
{
    size_t number = (size_t)(p->event - p->first), old = seen - 1;
    if (!seen)
        return 0;
    if (number - old > PACK_BACK_MOST && p->loop)
        old += (number - 1 - old) / p->loop * p->loop;
    for (int i = 0; i < 2; i++, old -= p->loop)
        if (old < number && number - old <= PACK_BACK_MOST && is_same_event(&p->first[old], p->event))
            return number - old;
    return 0;
}

static size_t back_search(struct packer *p)
{
    size_t most = (size_t)(p->event - p->first);
    for (size_t back = 1; p->credit && back <= SEARCH_MOST && back <= most; back++)
        if (is_same_event(p->event - back, p->event)) {
            p->credit += p->credit < CREDIT_MOST;
            return back;
        }
    p->credit -= p->credit > 0;
    return 0;
}

static bool found_pack(struct packer *p, const struct event *end)
{
    uint32_t *seen = seen_at(&p->table, p->event);
    size_t back = back_seen(p, *seen);
    *seen = (uint32_t)(p->event - p->first) + 1;
    if (!back)
        back = back_search(p);
    if (!repeats_pack(p, end, back))
        return false;
    p->loop = back;
    return true;
}

static void literal_pack(struct packer *p)
{
    const uint64_t head = PACK_LITERAL;
    memcpy(p->out, &head, sizeof head);
    memcpy(p->out + sizeof head, p->event, sizeof *p->event);
    p->out += PACK_MOST;
    p->before = p->event->begin;
    p->event++;
}

void packer_begin(struct packer *packer, const struct event *first, void *out)
{
    memset(&packer->table, 0, sizeof packer->table);
    packer->first = packer->event = first;
    packer->begin = packer->out = out;
    packer->before = packer->loop = 0;
    packer->credit = CREDIT_MOST;
}

size_t packer_go_on(struct packer *p, const struct event *end)
{
    while (p->event < end) /* after an extra event in between, the next one repeats an event further back, once */
        if (!repeats_pack(p, end, p->loop) && !repeats_pack(p, end, p->loop + 1) && !found_pack(p, end))
            literal_pack(p);
    return (size_t)(p->out - p->begin);
}

void unpacked_begin(struct unpacked *unpacked)
{
    unpacked->before = unpacked->count;
}

const struct event *event_unpack(struct unpacked *unpacked, const unsigned char **at, const unsigned char *end)
{
    struct event *event = &unpacked->last[unpacked->count & PACK_BACK_MOST];
    return events_unpack(unpacked, at, end, 1) ? event : NULL;
}

size_t events_unpack(struct unpacked *unpacked, const unsigned char **at, const unsigned char *end, size_t most)
{
    const unsigned char *from = *at;
    uint64_t first = unpacked->count, count = first, before = unpacked->last[(count - 1) & PACK_BACK_MOST].begin;
    for (; count - first < most; count++) {
        struct event *event = &unpacked->last[count & PACK_BACK_MOST];
        uint64_t head;
        if ((size_t)(end - from) < sizeof head)
            break;
        memcpy(&head, from, sizeof head);
        if (head & PACK_LITERAL) {
            if ((size_t)(end - from) < PACK_MOST)
                break;
            memcpy(event, from + sizeof head, sizeof *event);
            before = event->begin;
            from += PACK_MOST;
            continue;
        }
        uint64_t back = head >> 1 & PACK_BACK_MOST;
        if (!back || back > count - unpacked->before)
            break;
        before += (uint64_t)(int64_t)(int32_t)(head >> 32);
        event_repeat(event, &unpacked->last[(count - back) & PACK_BACK_MOST], before,
                     head >> PACK_DURATION_SHIFT & PACK_DURATION_MOST);
        from += PACK_LEAST;
    }
    *at = from;
    unpacked->count = count;
    return (size_t)(count - first);
}
