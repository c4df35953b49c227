#include "otf2_requests.h"

#include "calls.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 256 };

/* Doubles both arrays; only called when no request is free. */
static bool requests_grow(struct trace_requests *requests)
{
    size_t capacity = requests->capacity ? requests->capacity * 2 : FIRST_CAPACITY;
    if (capacity > UINT32_MAX / 2)
        return false;
    struct trace_request *all = realloc(requests->requests, capacity * sizeof *all);
    if (!all)
        return false;
    requests->requests = all;
    uint32_t *buckets = malloc(capacity * sizeof *buckets);
    if (!buckets)
        return false;
    free(requests->buckets);
    requests->buckets = buckets;
    size_t used = requests->capacity;
    requests->capacity = capacity;
    for (size_t i = 0; i < capacity; i++)
        buckets[i] = NO_REQUEST;
    for (size_t i = 0; i < used; i++) {
        uint32_t *bucket = trace_requests_bucket(requests, all[i].begin);
        all[i].next = *bucket;
        *bucket = (uint32_t)i;
    }
    requests->free = NO_REQUEST;
    for (size_t i = capacity; i-- > used;) {
        all[i].next = requests->free;
        all[i].id = 0;
        requests->free = (uint32_t)i;
    }
    return true;
}

uint64_t trace_requests_add(struct trace_requests *requests, enum request_class class, const struct event *post)
{
    if (requests->count == requests->capacity && !requests_grow(requests))
        return 0;
    uint32_t place = requests->free;
    struct trace_request *request = &requests->requests[place];
    requests->free = request->next;
    uint32_t *bucket = trace_requests_bucket(requests, post->begin);
    *request =
        (struct trace_request){.begin = post->begin,
                               .id = ++requests->last_id,
                               .peer = post->peer,
                               .tag = post->tag,
                               .next = *bucket,
                               .comm = post->comm,
                               .call = (uint16_t)(event_kind(post) < CALL_COUNT ? event_kind(post) : post->duration),
                               .class = (uint8_t) class};
    *bucket = place;
    requests->count++;
    return request->id;
}

/* How well a post fits: a record of a cancelled request carries no tag, and a receive may have asked for anything. */
static unsigned fitness(const struct trace_request *request, const struct event *done)
{
    bool peer = request->peer == done->peer, tag = request->tag == done->tag;
    bool any = (peer || request->peer == PEER_ANY) && (tag || request->tag == TAG_ANY);
    return 1u + 16u * (request->call == done->duration) + 8u * (request->comm == done->comm) + 4u * any + 2u * peer +
           tag;
}

uint64_t trace_requests_choose(struct trace_requests *requests, enum request_class class, const struct event *done)
{
    uint32_t *best = NULL;
    unsigned best_fitness = 0; /* of the best one, once there is another: 0 before */
    for (uint32_t *link = trace_requests_bucket(requests, done->begin); *link != NO_REQUEST;
         link = &requests->requests[*link].next) {
        const struct trace_request *request = &requests->requests[*link];
        if (!trace_request_fits(request, class, done))
            continue;
        if (!best) {
            best = link;
            continue;
        }
        const struct trace_request *other = &requests->requests[*best];
        if (!best_fitness)
            best_fitness = fitness(other, done);
        unsigned fits = fitness(request, done);
        if (fits > best_fitness || (fits == best_fitness && request->id < other->id)) {
            best = link;
            best_fitness = fits;
        }
    }
    return best ? trace_requests_unlink(requests, best) : 0;
}

static struct event event_of(const struct trace_request *request)
{
    return (struct event){.begin = request->begin,
                          .kind = request->class,
                          .comm = request->comm,
                          .peer = request->peer,
                          .tag = request->tag};
}

uint64_t trace_requests_find(const struct trace_requests *requests, uint64_t begin, struct event *post)
{
    if (!requests->capacity)
        return 0;
    for (uint32_t place = *trace_requests_bucket(requests, begin); place != NO_REQUEST;
         place = requests->requests[place].next) {
        const struct trace_request *request = &requests->requests[place];
        if (request->begin != begin)
            continue;
        *post = event_of(request);
        return request->id;
    }
    return 0;
}

bool trace_requests_next(const struct trace_requests *requests, size_t *place, struct event *post)
{
    for (; *place < requests->capacity; (*place)++) {
        const struct trace_request *request = &requests->requests[*place];
        if (!request->id)
            continue;
        *post = event_of(request);
        (*place)++;
        return true;
    }
    return false;
}

void trace_requests_release(struct trace_requests *requests)
{
    free(requests->requests);
    free(requests->buckets);
    *requests = (struct trace_requests){0};
}
