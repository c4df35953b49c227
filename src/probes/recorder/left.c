#include "recorder/left.h"

#include "base/number.h"
#include "registry/unfreed.h"
#include "requests/request.h"

#include <string.h>

struct leaving {
    struct run_left *left;
    uint64_t begin, end; /* ticks of the run time */
};

static unsigned quarter_of(const struct leaving *leaving, uint64_t ticks)
{
    uint64_t since = less(ticks, leaving->begin), quarter = (leaving->end - leaving->begin) / 4 + 1;
    return (unsigned)least(since / quarter, 3);
}

/* The objects of one entry are taken as made evenly between the first and the last. */
static void left_add(const struct unfreed *objects, void *data)
{
    const struct leaving *leaving = data;
    struct run_left *left = leaving->left;
    uint64_t i = 0;
    left->count[objects->kind] += objects->count;
    while (i < left->places && left->place[i].path != objects->path)
        i++;
    if (!objects->path || i == LEFT_PLACES_MOST)
        return;
    if (i == left->places)
        left->place[left->places++].path = objects->path;
    unsigned first = quarter_of(leaving, objects->first), last = quarter_of(leaving, objects->last);
    for (unsigned q = first; q <= last; q++)
        left->place[i].quarter[q] += objects->count / (last - first + 1);
    left->place[i].quarter[last] += objects->count % (last - first + 1);
}

/* Persistent ones are among the objects. */
static void request_found(struct request *request, void *data)
{
    struct unfreed object = {.first = request->posted.begin,
                             .last = request->posted.begin,
                             .kind = LEFT_REQUEST,
                             .path = request->crowded ? 0 : request->path,
                             .count = 1};
    if (request->type != REQUEST_MATCHED && !request->persistent)
        left_add(&object, data);
}

void left_end(void)
{
    static struct run_left left; /* most processes need a few of its places */
    uint64_t offset;
    struct leaving leaving = {&left, book.run.header->init_ticks, clock_now()};
    left = (struct run_left){.places = 0};
    unfreed_visit(left_add, &leaving);
    request_visit(request_found, &leaving);
    void *kept = run_alloc(&book.run, run_left_bytes(&left), &offset);
    if (!kept || !offset)
        return;
    memcpy(kept, &left, run_left_bytes(&left));
    __atomic_store_n(&book.run.header->left, offset, __ATOMIC_RELEASE);
}
