#include "umq/umqtags.h"

#include "calls.h"
#include "format/event.h"

#include <string.h>

/* Walks through the events of one buffer, the latest first, and stops at the relevant ones. */
struct walk {
    const struct umq_buffer *buffer;
    uint64_t first, next; /* whole events that were not visited yet are first .. next - 1 */
    uint64_t call, end;   /* number of the call that event next - 1 belongs to, and when it ended */
    uint64_t oldest;      /* end of the last visited call: no later one of this thread is unknown */
    uint64_t time; /* of event next - 1: a send's begin, a receive's end. At the end of the walk the limit for T */
    int32_t tag;
    bool over; /* nothing more is known */
};

enum { SETS = 64 };

/* sent - received, of the wanted tags, and of sets of the others. Also the sum of the positive ones. */
struct balance {
    const struct umq_tags *asked;
    int32_t tags[UMQ_TAGS_MOST], sets[SETS];
    uint64_t sum;
};

static uint64_t whole_from(const struct umq_buffer *buffer)
{
    uint64_t held = buffer->capacity - RING_SPARE, written = __atomic_load_n(buffer->written, __ATOMIC_ACQUIRE);
    return written > held ? written - held : 0;
}

static struct walk ring_walk_begin(const struct umq_buffer *buffer)
{
    uint64_t first = whole_from(buffer), next = __atomic_load_n(buffer->written, __ATOMIC_ACQUIRE);
    return (struct walk){.buffer = buffer, .first = first, .next = next, .call = UINT64_MAX, .oldest = UINT64_MAX};
}

/* The thread goes on writing. True if it has not overwritten any visited event. */
static bool walk_is_whole(const struct walk *walk)
{
    LOADS_IN_ORDER();
    uint64_t least = walk->call < walk->next ? walk->call : walk->next;
    return least >= whole_from(walk->buffer);
}

static struct event ring_event_at(const struct walk *walk, uint64_t number)
{
    const struct event *events = (const struct event *)(const void *)(walk->buffer->ring + 1);
    const uint64_t *words = (const uint64_t *)(const void *)&events[number % walk->buffer->capacity];
    uint64_t copy[sizeof(struct event) / sizeof(uint64_t)];
    struct event event;
    for (unsigned i = 0; i < sizeof copy / sizeof copy[0]; i++)
        copy[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
    memcpy(&event, copy, sizeof event);
    return event;
}

static bool is_call(const struct event *event)
{
    unsigned kind = event->kind & EVENT_KIND_MASK;
    return kind != CALL_NONE && kind < CALL_COUNT;
}

/* True if records may follow it: a call, or a call that was not recorded while its requests were. */
static bool has_records(const struct event *event)
{
    return is_call(event) || (event->kind & EVENT_KIND_MASK) == EVENT_PASSED;
}

/* A call that was not recorded has no duration, and its end as begin. */
static uint64_t tagged_call_end(const struct walk *walk, const struct event *call, uint64_t number)
{
    if (!(call->kind & EVENT_WIDE))
        return call->begin + call->duration;
    struct event next = ring_event_at(walk, number + 1);
    struct event_extension more;
    memcpy(&more, &next, sizeof more);
    return call->begin + (more.kind == RECORD_EXTENSION ? more.duration : call->duration);
}

/* Records follow their call, and have its end. Returns false if the call is not known any more. */
static bool walk_find_call(struct walk *walk)
{
    uint64_t number = walk->next - 1;
    if (walk->call <= number)
        return true;
    for (;; number--) {
        struct event event = ring_event_at(walk, number);
        if (has_records(&event)) {
            walk->call = number;
            walk->end = tagged_call_end(walk, &event, number);
            return true;
        }
        if (number == walk->first)
            return false;
    }
}

static bool is_send(const struct event *event)
{
    if (is_call(event)) {
        enum fold_shape shape = call_table[event->kind & EVENT_KIND_MASK].fold;
        return shape == FOLD_SEND || shape == FOLD_POST_SEND || shape == FOLD_SENDRECV;
    }
    return (event->kind & EVENT_KIND_MASK) == RECORD_SEND_POSTED;
}

static bool is_tagged_receive(const struct event *event)
{
    unsigned kind = event->kind & EVENT_KIND_MASK;
    if (is_call(event))
        return call_table[kind].fold == FOLD_RECV;
    return kind == RECORD_RECEIVE || kind == RECORD_RECV_DONE;
}

/* Kind of event to look for: which end of messages it is, and of which calls. */
struct sort {
    bool (*fits)(const struct event *event);
    uint16_t comm;
    int32_t peer;
    uint64_t since;
    bool ends; /* the time of the event is the end of the call */
};

/* Moves to the next earlier event of this sort. */
static void walk_on(struct walk *walk, const struct sort *sort, uint64_t *patience)
{
    for (; walk->next > walk->first && *patience; walk->next--, --*patience) {
        struct event event = ring_event_at(walk, walk->next - 1);
        if (has_records(&event))
            walk->oldest = tagged_call_end(walk, &event, walk->next - 1);
        if (event.comm != sort->comm || event.peer != sort->peer || (event.kind & EVENT_FAILED) || !sort->fits(&event))
            continue;
        if (sort->ends && !walk_find_call(walk))
            break;
        walk->tag = event.tag;
        walk->time = sort->ends ? walk->end : event.begin;
        if (walk->time >= sort->since)
            return;
        walk->oldest = 0; /* it is of another communicator, and so are all earlier events */
        break;
    }
    walk->over = true;
    walk->time = walk->next == 0 ? 0 : walk->oldest;
}

static void balance_add(struct balance *balance, int32_t tag, int32_t count)
{
    int32_t *cell = &balance->sets[(uint32_t)tag % SETS];
    for (unsigned i = 0; i < balance->asked->count; i++)
        if (balance->asked->tags[i].tag == tag)
            cell = &balance->tags[i];
    balance->sum -= *cell > 0 ? (uint32_t)*cell : 0;
    *cell += count;
    balance->sum += *cell > 0 ? (uint32_t)*cell : 0;
}

static void balance_tell(const struct balance *balance, struct umq_tags *tags)
{
    tags->others = 0;
    for (unsigned i = 0; i < SETS; i++)
        tags->others += balance->sets[i] > 0 ? (uint32_t)balance->sets[i] : 0;
    for (unsigned i = 0; i < tags->count; i++)
        tags->tags[i].waiting = balance->tags[i] > 0 ? balance->tags[i] : 0;
}

bool umq_tags_find(const struct umq_ends *ends, uint64_t messages, uint64_t patience, struct umq_tags *tags)
{
    struct balance balance = {.asked = tags};
    struct walk walks[UMQ_BUFFERS_MOST + 1];
    struct sort sends = {.fits = is_send, .comm = ends->from_comm, .peer = ends->to_rank, .since = ends->from_since};
    struct sort receives = {.fits = is_tagged_receive,
                            .comm = ends->to_comm,
                            .peer = ends->from_rank,
                            .since = ends->to_since,
                            .ends = true};
    unsigned count = ends->from_count + 1;
    walks[0] = ring_walk_begin(&ends->to);
    walk_on(&walks[0], &receives, &patience);
    for (unsigned i = 1; i < count; i++) {
        walks[i] = ring_walk_begin(&ends->from[i - 1]);
        walk_on(&walks[i], &sends, &patience);
    }
    while (balance.sum != messages) {
        unsigned latest = 0;
        for (unsigned i = 1; i < count; i++)
            if (walks[i].time > walks[latest].time)
                latest = i;
        if (walks[latest].over)
            return false;
        balance_add(&balance, walks[latest].tag, latest ? 1 : -1);
        walks[latest].next--;
        patience -= patience > 0;
        walk_on(&walks[latest], latest ? &sends : &receives, &patience);
    }
    for (unsigned i = 0; i < count; i++)
        if (!walk_is_whole(&walks[i]))
            return false;
    balance_tell(&balance, tags);
    return true;
}
