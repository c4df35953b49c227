#include "trace/requestpairs.h"

#include "base/array.h"
#include "calls.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 }; /* a job may have very many processes */

/* Behind the last one. */
static void bucket_append(struct trace_requests *requests, uint32_t place)
{
    struct trace_request *all = requests->requests;
    uint32_t *bucket = trace_requests_bucket(requests, all[place].begin);
    if (*bucket == NO_REQUEST) {
        all[place].next = place;
    } else {
        all[place].next = all[*bucket].next;
        all[*bucket].next = place;
    }
    *bucket = place;
}

/* Moves the rings of half as many buckets to the present buckets, in their order. */
static void rings_move(struct trace_requests *requests, const uint32_t *buckets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (buckets[i] == NO_REQUEST)
            continue;
        uint32_t place = requests->requests[buckets[i]].next, next;
        for (bool more = true; more; place = next) {
            next = requests->requests[place].next;
            more = place != buckets[i];
            bucket_append(requests, place);
        }
    }
}

/* Doubles both arrays. Only called if no request is free. */
static bool requests_grow(struct trace_requests *requests)
{
    size_t capacity = requests->capacity ? requests->capacity * 2 : FIRST_CAPACITY;
    if (capacity > UINT32_MAX / 2)
        return false;
    if (!ARRAY_RESIZED(requests->requests, capacity))
        return false;
    uint32_t *buckets = malloc(capacity * sizeof *buckets);
    if (!buckets)
        return false;
    uint32_t *smaller = requests->buckets;
    size_t used = requests->capacity;
    requests->buckets = buckets;
    requests->capacity = capacity;
    for (size_t i = 0; i < capacity; i++)
        buckets[i] = NO_REQUEST;
    rings_move(requests, smaller, used);
    free(smaller);
    requests->free = NO_REQUEST;
    for (size_t i = capacity; i-- > used;) {
        requests->requests[i].next = requests->free;
        requests->requests[i].id = 0;
        requests->free = (uint32_t)i;
    }
    return true;
}

static struct trace_request *request_add(struct trace_requests *requests, enum request_class class,
                                         const struct event *post)
{
    if (requests->count == requests->capacity && !requests_grow(requests))
        return NULL;
    uint32_t place = requests->free;
    struct trace_request *request = &requests->requests[place];
    requests->free = request->next;
    *request =
        (struct trace_request){.begin = post->begin,
                               .id = ++requests->last_id,
                               .peer = post->peer,
                               .tag = post->tag,
                               .comm = post->comm,
                               .call = (uint16_t)(event_kind(post) < CALL_COUNT ? event_kind(post) : post->duration),
                               .class = (uint8_t) class};
    bucket_append(requests, place);
    requests->count++;
    return request;
}

uint64_t trace_requests_add(struct trace_requests *requests, enum request_class class, const struct event *post)
{
    const struct trace_request *request = request_add(requests, class, post);
    return request ? request->id : 0;
}

bool trace_requests_add_absent(struct trace_requests *requests, enum request_class class, const struct event *post)
{
    struct trace_request *request = request_add(requests, class, post);
    if (request)
        request->absent = true;
    return request != NULL;
}

enum { FITS_WELL = 32 };

/* Returns how well a post matches. A record of a canceled request has no tag, and a receive may have wildcards. */
static unsigned fitness(const struct trace_request *request, const struct event *done)
{
    bool peer = request->peer == done->peer, tag = request->tag == done->tag;
    bool any = (peer || request->peer == PEER_ANY) && (tag || request->tag == TAG_ANY);
    return 1u + 16u * (request->call == done->duration) + 8u * (request->comm == done->comm) + 4u * any + 2u * peer +
           tag;
}

uint64_t trace_requests_choose(struct trace_requests *requests, enum request_class class, const struct event *done)
{
    uint32_t *bucket = trace_requests_bucket(requests, done->begin);
    uint32_t last = *bucket, best = NO_REQUEST;
    unsigned best_fitness = 0;
    uint64_t looks = 0, most = requests->looks < LOOKS_MOST ? UINT64_MAX : LOOKS_LEAST;
    if (last == NO_REQUEST)
        return 0;
    uint32_t before = last;
    do {
        uint32_t place = requests->requests[before].next;
        const struct trace_request *request = &requests->requests[place];
        if (trace_request_fits(request, class, done)) {
            unsigned fits = fitness(request, done);
            if (fits > best_fitness) {
                best = before;
                best_fitness = fits;
            }
        }
        before = place;
    } while (before != last && best_fitness < FITS_WELL && ++looks < most);
    requests->looks += looks;
    if (best == NO_REQUEST || (looks == most && best_fitness < FITS_WELL))
        return 0;
    return trace_requests_unlink(requests, bucket, best);
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
    uint32_t last = *trace_requests_bucket(requests, begin);
    uint64_t id = 0;
    bool absent = false;
    for (uint32_t place = last; place != NO_REQUEST;) {
        const struct trace_request *request = &requests->requests[place];
        if (request->begin == begin) {
            if (id)
                return 0;
            *post = event_of(request);
            id = request->id;
            absent = request->absent;
        }
        place = request->next == last ? NO_REQUEST : request->next;
    }
    return absent ? 0 : id;
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
