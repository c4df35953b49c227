#include "recorder/left.h"

#include "registry/unfreed.h"
#include "requests/request.h"

struct leaving {
    struct run_left *left;
    uint64_t begin, end; /* ticks of the run time */
};

/* The objects of one entry are taken as made at equal distances. */
static void left_add(const struct leaving *leaving, const struct unfreed *objects)
{
    struct run_left *left = leaving->left;
    uint64_t i = 0, span = leaving->end - leaving->begin;
    uint64_t step = objects->count > 1 ? (objects->last - objects->first) / (objects->count - 1) : 0;
    left->count[objects->kind] += objects->count;
    while (i < left->places && left->place[i].path != objects->path)
        i++;
    if (!objects->path || i == LEFT_PLACES_MOST)
        return;
    if (i == left->places)
        left->place[left->places++].path = objects->path;
    for (uint64_t n = 0, ticks = objects->first; n < objects->count; n++, ticks += step) {
        uint64_t since = ticks > leaving->begin ? ticks - leaving->begin : 0;
        left->place[i].quarter[since < span ? 4 * since / span : 3]++;
    }
}

static void object_found(const struct unfreed *object, void *data)
{
    left_add(data, object);
}

static void request_found(struct request *request, void *data)
{
    struct unfreed object = {.first = request->posted.begin,
                             .last = request->posted.begin,
                             .kind = request->persistent ? LEFT_PERSISTENT : LEFT_REQUEST,
                             .path = request->crowded || request->extended ? 0 : request->path,
                             .count = 1};
    if (request->type != REQUEST_MATCHED)
        left_add(data, &object);
}

void left_end(void)
{
    uint64_t offset;
    struct run_left *left = run_alloc(&book.run, sizeof *left, &offset);
    if (!left || !offset)
        return;
    struct leaving leaving = {left, book.run.header->init_ticks, clock_now()};
    unfreed_visit(object_found, &leaving);
    request_visit(request_found, &leaving);
    for (unsigned kind = 0; kind < LEFT_KINDS; kind++)
        left->count[kind] += unfreed_beyond((enum left_kind)kind);
    __atomic_store_n(&book.run.header->left, offset, __ATOMIC_RELEASE);
}
