#include "recorder/left.h"

#include "registry/unfreed.h"
#include "requests/request.h"

struct leaving {
    struct run_left *left;
    uint64_t begin, end; /* ticks of the run time */
};

/* How many of the objects of one entry were made before this time. They are taken as made at equal distances. */
static uint64_t made_before(const struct unfreed *objects, uint64_t ticks)
{
    if (ticks <= objects->first)
        return 0;
    uint64_t step = objects->count > 1 ? (objects->last - objects->first) / (objects->count - 1) : 0;
    uint64_t made = step ? (ticks - objects->first - 1) / step + 1 : objects->count;
    return made < objects->count ? made : objects->count;
}

static void left_add(const struct leaving *leaving, const struct unfreed *objects)
{
    struct run_left *left = leaving->left;
    uint64_t i = 0, before = 0;
    left->count[objects->kind] += objects->count;
    while (i < left->places && left->place[i].path != objects->path)
        i++;
    if (!objects->path || i == LEFT_PLACES_MOST)
        return;
    if (i == left->places)
        left->place[left->places++].path = objects->path;
    for (unsigned q = 0; q < 4; q++) {
        uint64_t border = leaving->begin + (leaving->end - leaving->begin) / 4 * (q + 1);
        uint64_t made = q < 3 ? made_before(objects, border) : objects->count;
        left->place[i].quarter[q] += made - before;
        before = made;
    }
}

static void object_found(const struct unfreed *object, void *data)
{
    left_add(data, object);
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
    __atomic_store_n(&book.run.header->left, offset, __ATOMIC_RELEASE);
}
